"""Models with several entries: in an archive, and run on this host."""

from __future__ import annotations

import io
import json
import time
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tvm.ir.transform import PassContext
from tvm_ffi import structural_equal

import usmp
from support.archives import edited, message_of, relu_archive, write_tar
from support.entry_models import ENTRIES, check_entries_compute, entry_model
from usmp.objects import TensorInfo
from usmp.report import print_memory_summary
from usmp.runtime import HostModule

pytestmark = pytest.mark.cc

X = np.ones((1, 8), np.float32)


@pytest.fixture(scope="module")
def factory() -> usmp.AOTExecutorFactoryModule:
    return usmp.build(entry_model(), concurrent=[("tell", "plain")])


@pytest.fixture(scope="module")
def path(factory, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "model.tar"
    factory.export_model_library_format(path)
    return path


@pytest.fixture
def module(factory) -> HostModule:
    return factory.load()


# ---- on this host


def test_entries_are_described(module):
    described = {
        name: ({n: i["shape"] for n, i in e.inputs.items()}, list(e.outputs))
        for name, e in module.entries.items()
    }
    assert described == {
        "learn": ({"x": [1, 8]}, ["y"]),
        "tell": ({"x": [1, 8]}, ["y"]),
        "plain": ({"x": [3, 8]}, ["y", "largest"]),
    }


_SEVERAL = 'model "default" has 3 entries; choose one by its name: "learn", "tell", "plain"'


@pytest.mark.parametrize(
    "ask", [lambda m: m.run({"x": X}), lambda m: m.inputs, lambda m: m.outputs]
)
def test_an_entry_has_to_be_named(module, ask):
    with pytest.raises(ValueError) as error:
        ask(module)
    assert str(error.value) == _SEVERAL


def test_entry_that_there_is_not(module):
    with pytest.raises(ValueError) as error:
        module.run({"x": X}, "train\x1b")
    assert str(error.value) == (
        'model "default" has no entry "train\\x1b". Its entries: learn, tell, plain'
    )


def test_inputs_are_those_of_the_entry(module):
    with pytest.raises(ValueError, match=r'input "x" is float32\[1, 8\]; the model takes float32'):
        module.run({"x": X}, "plain")


def test_state_is_that_of_all_entries(module):
    before = module.run({"x": X}, "tell")["y"]
    module.run({"x": X}, "learn")
    after = module.run({"x": X}, "tell")["y"]
    assert not np.array_equal(before, after)
    module.reset()
    np.testing.assert_array_equal(module.run({"x": X}, "tell")["y"], before)


def test_modules_have_states_of_their_own(factory, module):
    other = factory.load()
    before = other.run({"x": X}, "tell")["y"]
    module.run({"x": X}, "learn")
    np.testing.assert_array_equal(other.run({"x": X}, "tell")["y"], before)


def test_factory_runs_an_entry(factory):
    check_entries_compute(usmp.AOTExecutorFactoryModule(factory.ir_mod, "default").run)
    with pytest.raises(ValueError) as error:
        factory.run({"x": X})
    assert str(error.value) == _SEVERAL


def test_the_only_entry_may_be_named(tmp_path):
    module = usmp.load_archive(relu_archive(tmp_path)).load()
    x = np.array([[-1, 2, -3, 4]], np.float32)
    for entry in (None, "main"):
        np.testing.assert_array_equal(module.run({"x": x}, entry)["y"], np.maximum(x, 0))
    with pytest.raises(ValueError, match=r'has no entry "relu"\. Its entries: main'):
        module.run({"x": x}, "relu")


# ---- in an archive


@pytest.mark.slow
@pytest.mark.parametrize("use_workspace_io", [False, True])
def test_entries_are_read_back(tmp_path, use_workspace_io):
    with PassContext(config={"tir.usmp.use_workspace_io": use_workspace_io}):
        factory = usmp.build(entry_model(), module_name="net")
    factory.export_model_library_format(tmp_path / "net.tar")
    archive = usmp.load_archive(tmp_path / "net.tar")
    module = archive.module()
    assert list(module.entries) == list(ENTRIES)
    for entry in factory.interface.entries:
        read = module.entries[entry.name]
        assert (read.name, read.c_prefix) == (entry.name, f"tvmgen_net_{entry.name}")
        for tensors, built in ((read.inputs, entry.inputs), (read.outputs, entry.outputs)):
            assert list(tensors) == [tensor.info.name for tensor in built]
            for tensor, other in zip(tensors.values(), built, strict=True):
                assert structural_equal(TensorInfo(*astuple(tensor.info)), other.info)
                assert tensor.c_name == other.c_name
                place = other.allocation and int(other.allocation.byte_offset)
                assert tensor.byte_offset == place
                assert (place is not None) == use_workspace_io
    check_entries_compute(archive.load().run)


def test_state_size_is_that_of_all_entries(path):
    assert usmp.load_archive(path).module().state_size_bytes == 33


@pytest.mark.slow
@pytest.mark.parametrize("what", ["inputs", "outputs"])
def test_tensors_of_the_only_entry(path, what):
    with pytest.raises(ValueError) as error:
        getattr(usmp.load_archive(path).module(), what)
    assert str(error.value) == _SEVERAL


def test_earlier_archive_has_the_entry_main(tmp_path):
    archive = usmp.load_archive(relu_archive(tmp_path))
    metadata = json.loads(archive.files["metadata.json"])
    files = {
        **archive.files,
        "metadata.json": json.dumps(edited(metadata, f"{_MAIN}/0/entry", None)).encode(),
    }
    earlier = usmp.load_archive(write_tar(tmp_path / "earlier.tar", files))
    module = earlier.module()
    assert list(module.entries) == ["main"]
    assert (module.entries["main"].c_prefix, list(module.inputs)) == ("tvmgen_default", ["x"])
    x = np.ones((1, 4), np.float32)
    np.testing.assert_array_equal(earlier.load().run({"x": x}, "main")["y"], x)
    text = io.StringIO()
    print_memory_summary(module.metadata, Console(file=text))
    assert "Flash: constants 0 bytes" in text.getvalue()


_MAIN = "modules/default/memory/functions/main"
_POOL = 'pool "global_workspace" of module "default"'
_LACKS = 'module "default" lacks its inputs, outputs or pools'


@pytest.mark.parametrize(
    ("steps", "value", "fault"),
    [
        ("0/entry", None, 'module "default" has no valid "entry"'),
        ("0/entry", 5, 'module "default" has no valid "entry"'),
        ("0/entry", "", 'module "default" has no valid "entry"'),
        ("0/entry", "x); system(", 'module "default" has no valid "entry"'),
        ("0/entry", "../x", 'module "default" has no valid "entry"'),
        ("0/entry", "x\n", 'module "default" has no valid "entry"'),
        ("0/entry", "é", 'module "default" has no valid "entry"'),
        ("0/entry", "e" * 65, 'module "default" has no valid "entry"'),
        ("1/entry", "learn", 'module "default" has the entry "learn" twice'),
        ("1", 7, _LACKS),
        ("1/outputs", None, _LACKS),
        ("1/inputs/x/shape", [-1], 'tensor "x" of module "default" has no valid "shape"'),
        ("1/io_size_bytes", "x", 'module "default" has no valid "io_size_bytes"'),
        ("2/states", None, 'entry "plain" of module "default" has no valid "states"'),
        ("0/states", [], 'entry "learn" of module "default" has no valid "states"'),
        (
            "0/states/total",
            9,
            'state "total" of entry "learn" of module "default" has no valid "size"',
        ),
        (
            "0/states/total/changed",
            1,
            'state "total" of entry "learn" of module "default" has no valid "changed"',
        ),
        ("0/concurrent_with", "tell", 'entry "learn" of module "default" has no valid "con'),
        ("0/concurrent_with", ["x"], 'entry "learn" of module "default" has no valid "con'),
        ("0/concurrent_with", [[]], 'entry "learn" of module "default" has no valid "con'),
        ("0/positions", [4, 4], 'entry "learn" of module "default" has no valid "positions"'),
        ("0/peak_bytes", None, 'entry "learn" of module "default" has no valid "peak_bytes"'),
        (
            "0/peak_bytes/global_workspace",
            "x",
            '"peak_bytes" of entry "learn" of module "default" has no valid "global_workspace"',
        ),
        ("0/positions", None, 'entry "learn" of module "default" has no valid "positions"'),
        ("", "main", _LACKS),
        ("", {"a": 1}, _LACKS),
        ("../../pools/1/entries_at_peak", None, f'{_POOL} has no valid "entries_at_peak"'),
        ("../../pools/1/entries_at_peak", ["x"], f'{_POOL} has no valid "entries_at_peak"'),
        ("../../pools/1/entries_at_peak", [{}], f'{_POOL} has no valid "entries_at_peak"'),
    ],
)
def test_metadata_of_the_wrong_shape(path, tmp_path, steps, value, fault):
    files = dict(usmp.load_archive(path).files)
    where = f"{_MAIN}/{steps}".rstrip("/").replace("functions/main/../../", "")
    metadata = edited(json.loads(files["metadata.json"]), where, value)
    files["metadata.json"] = json.dumps(metadata).encode()
    message = message_of(write_tar(tmp_path / "model.tar", files))
    assert message.startswith(f"metadata.json is damaged: {fault}")


@pytest.mark.parametrize(
    ("steps", "value", "fault"),
    [
        ("1/entry", "say", "SAY_X_SIZE is 32 there and missing in the header"),
        ("1/inputs/x/c_name", "z", "TELL_Z_SIZE is 32 there and missing in the header"),
        (
            "1/inputs",
            {},
            "struct tvmgen_default_tell_inputs has the members none there and x in the header",
        ),
    ],
)
def test_metadata_that_contradicts_the_header(path, tmp_path, steps, value, fault):
    """A run would be called with too little."""
    files = dict(usmp.load_archive(path).files)
    text = json.dumps(edited(json.loads(files["metadata.json"]), f"{_MAIN}/{steps}", value))
    others = text.replace('["tell"]', "[]").replace('["plain", "tell"]', '["plain"]')
    files["metadata.json"] = others.encode()
    message = message_of(write_tar(tmp_path / "model.tar", files))
    assert message.startswith(f"metadata.json is damaged: {fault}")


@pytest.mark.slow
def test_very_many_entries_are_read_in_time(path, tmp_path):
    """Each takes as long as the others; the first that the header lacks is refused."""
    files = dict(usmp.load_archive(path).files)
    metadata = json.loads(files["metadata.json"])
    mains = metadata["modules"]["default"]["memory"]["functions"]["main"]
    mains[:] = [{**mains[0], "entry": f"e{number}"} for number in range(5000)]
    files["metadata.json"] = json.dumps(metadata).replace('["tell"]', "[]").encode()
    files["metadata.json"] = files["metadata.json"].replace(b'["plain"]', b"[]")
    begin = time.monotonic()
    message = message_of(write_tar(tmp_path / "model.tar", files))
    assert time.monotonic() - begin < 20
    assert message.startswith("metadata.json is damaged: ")


def test_header_that_has_a_struct_twice(path, tmp_path):
    files = dict(usmp.load_archive(path).files)
    header = "codegen/host/include/tvmgen_default.h"
    files[header] += b"struct tvmgen_default_tell_inputs {\n  void* more;\n};\n"
    assert message_of(write_tar(tmp_path / "model.tar", files)) == (
        "metadata.json is damaged: struct tvmgen_default_tell_inputs has the members x there and "
        "x, more in the header"
    )
