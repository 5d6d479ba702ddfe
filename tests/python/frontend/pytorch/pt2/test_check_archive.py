"""`.pt2` files run no code unless they are trusted."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

import usmp
from support.lazy import lazy
from support.pt2_exploits import CANARY, EXPLOITS, MODULE, changed, harmless

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")
checked_archive = lazy("usmp.frontend.pytorch.pt2:checked_archive")

PROGRAM = "models/model.json"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which an exploit would leave its file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    source = f"import enum\nopen({CANARY!r}, 'w')\nfactory = list\nKeys = enum.Enum('Keys', 'y')\n"
    (tmp_path / f"{MODULE}.py").write_text(source)
    yield tmp_path
    sys.modules.pop(MODULE, None)


def message_of(content: bytes) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_pytorch(content)
    assert str(error.value).isprintable()
    return str(error.value)


@pytest.mark.parametrize("exploit", EXPLOITS)
def test_code_runs_only_with_trust(exploit, folder):
    content = changed(EXPLOITS[exploit])
    with contextlib.suppress(usmp.UnsupportedModelError):
        import_pytorch(content)
    assert not (folder / CANARY).exists()
    with contextlib.suppress(usmp.UnsupportedModelError):
        import_pytorch(content, trust=True)
    assert (folder / CANARY).exists()


@pytest.mark.parametrize("exploit", [e for e in EXPLOITS if e != "sample inputs"])
def test_exploits_are_refused(exploit):
    assert message_of(changed(EXPLOITS[exploit])).startswith(
        ("not read without trust: ", "an input or output is nested in 'collections.defaultdict'")
    )


def test_message():
    assert message_of(changed(node_with("torch.os.system"))) == (
        "not read without trust: models/model.json.graph_module.graph.nodes[3].target is "
        "'torch.os.system', not an operator that is known to run no code of the file; a .pt2 file "
        "can run any code when PyTorch reads it, and only what is known to run none is read: if "
        "you trust who made it, --trust-model (in Python trust=True) reads it all"
    )


def test_sample_inputs_are_not_passed_on():
    with zipfile.ZipFile(io.BytesIO(checked_archive(changed(EXPLOITS["sample inputs"])))) as passed:
        (sample,) = (name for name in passed.namelist() if "sample_inputs" in name)
        assert passed.read(sample) == b""


def node_with(target: str, **argument):
    def change(members):
        graph = members[PROGRAM]["graph_module"]["graph"]
        inputs = [{"name": "x", "arg": argument, "kind": 1}] if argument else []
        graph["nodes"].append({"target": target, "inputs": inputs, "outputs": [], "metadata": {}})

    return change


@pytest.mark.parametrize(
    "target",
    [
        "torch.load",
        "torch.hub.load",
        "torch.ops.load_library",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.add.__class__",
        "torch.ops.aten.add",
        "torch.ops.aten.__class__.__init__",
        "torch.ops.aten.save.default",
        "torch.ops.aten.ljust.default",
        "torch.ops.aten.mul.left_t",
        "torch.ops.prim.Print.default",
        "torch.ops.higher_order.triton_kernel_wrapper_functional",
        "_operator.attrgetter",
        "_operator.pow",
        "math.factorial",
        "#extension:op",
    ],
)
def test_functions_that_a_program_may_not_call(target):
    assert f"target is {target!r}" in message_of(changed(node_with(target)))


@pytest.mark.parametrize(
    "argument",
    [
        {"as_operator": "torch.os.system"},
        {"as_custom_obj": {"name": "x", "class_fqn": "y"}},
        {"as_string": "\n"},
        {"as_int": 2**63},
        {"as_int": True},
        {"as_layout": 1},
        {"as_graph": {"name": "a b", "graph": {}}},
        {"as_none": True, "as_int": 1},
    ],
)
def test_arguments_that_a_program_may_not_have(argument):
    content = changed(node_with("torch.ops.aten.relu.default", **argument))
    assert message_of(content).startswith("not read without trust: ")


def value_at(path: str, value: object):
    """A change of one value of a JSON file."""

    def change(members):
        name, *keys = path.split("|")
        target = members[name]
        for key in keys[:-1]:
            target = target[int(key) if key.isdigit() and isinstance(target, list) else key]
        target[keys[-1]] = value

    return change


WEIGHTS = "data/weights/model_weights_config.json"
META = f"{WEIGHTS}|config|0.weight|tensor_meta"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (f"{WEIGHTS}|config|0.weight|path_name", "../weight_0", "not read without trust: "),
        (f"{WEIGHTS}|config|a\"+'", {}, "not read without trust: a key of "),
        (f"{META}|sizes", [{"as_int": 2**40}] * 2, "not a program "),
        (f"{META}|storage_offset", {"as_int": -1}, "not a program "),
        (f"{META}|storage_offset", {"as_int": 1}, "not a program "),
        (f"{META}|strides", [{"as_int": 4}, {"as_int": 1}], "not a program "),
        (f"{META}|dtype", 99, "not a program "),
        (f"{META}|device", {"type": "cuda", "index": 0}, "the program has tensors on the device "),
        (f"{PROGRAM}|code", "import os", "not read without trust: a key of models/model.json is "),
        (f"{PROGRAM}|range_constraints|u99999999999", {}, "not read without trust: a key of "),
        (f"{PROGRAM}|verifiers", ["mine"], "not read without trust: "),
        (f"{PROGRAM}|graph_module|graph|custom_obj_values", {"x": {}}, "not read without trust: "),
    ],
)
def test_values_that_are_not_passed_on(path, value, reason):
    assert message_of(changed(value_at(path, value))).startswith(reason)


def test_metadata_and_guards_are_not_passed_on():
    def change(members):
        members[PROGRAM]["guards_code"] = ["open('canary', 'w')"]
        for node in members[PROGRAM]["graph_module"]["graph"]["nodes"]:
            node["metadata"] = {"source_fn_stack": "x,torch.os.system"}

    with zipfile.ZipFile(io.BytesIO(checked_archive(changed(change)))) as passed:
        (name,) = (name for name in passed.namelist() if name.endswith(PROGRAM))
        program = json.loads(passed.read(name))
    assert program["guards_code"] == []
    assert all(node["metadata"] == {} for node in program["graph_module"]["graph"]["nodes"])


@pytest.mark.parametrize(
    "member",
    ["data/aotinductor/model/x.so", "models/other.json", "data/constants/custom_obj_0", "x.py"],
)
def test_members_that_are_not_known(member):
    def change(members):
        members[member] = b"x"

    assert f"it has a member {member!r}, which is not known" in message_of(changed(change))


@pytest.mark.slow
def test_own_files_in_an_archive_are_ignored():
    def change(members):
        members["data/extra/notes.txt"] = b"trained on Monday"

    assert import_pytorch(changed(change))["main"] is not None


def rewritten(write) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(harmless())) as archive, zipfile.ZipFile(file, "w") as other:
        write(archive, other)
    return file.getvalue()


def deflated(archive, other) -> None:
    for name in archive.namelist():
        other.writestr(name, archive.read(name), zipfile.ZIP_DEFLATED)


def doubled(archive, other) -> None:
    for name in [*archive.namelist(), "archive/byteorder"]:
        other.writestr(name, archive.read(name))


def in_two_folders(archive, other) -> None:
    for name in archive.namelist():
        other.writestr(name, archive.read(name))
    other.writestr("other/archive_format", b"pt2")


@pytest.mark.parametrize("write", [deflated, doubled, in_two_folders])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_pytorch_does_not_write(write):
    assert message_of(rewritten(write)).startswith("not a program that torch.export.save wrote")


def test_members_that_claim_more_than_the_file_has():
    """Two entries of the directory for the same bytes, of which there may be any number."""
    content = bytearray(harmless())
    position = content.rindex(b"PK\x01\x02")
    content[position + 20 : position + 28] = (2**30).to_bytes(4, "little") * 2
    assert "its members claim" in message_of(bytes(content))


def test_nesting_without_end():
    def change(members):
        members[PROGRAM] = b"[" * 10**6

    assert message_of(changed(change)).startswith("not a program that torch.export.save wrote")


def test_trust_reaches_the_importer(folder):
    path = Path("model.pt2")
    path.write_bytes(changed(EXPLOITS["size"]))
    with pytest.raises(usmp.UnsupportedModelError, match="not read without trust"):
        usmp.import_model(path)
    assert not (folder / CANARY).exists()
    with contextlib.suppress(usmp.UnsupportedModelError):
        usmp.import_model(path, trust=True)
    assert (folder / CANARY).exists()
