"""`tvmc` and state: a pool of its own, and layouts in files."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from support.archives import write_tar
from support.quantized_models.variables import VECTOR, delay
from usmp import load_archive
from usmp.objects import PlacedState, StateLayout

pytestmark = pytest.mark.usefixtures("one_session")

RANDOM = "random"


@pytest.fixture
def model(tmp_path) -> Path:
    """A model whose output is the input of the run before."""
    path = tmp_path / "delay.tflite"
    path.write_bytes(delay(VECTOR, RANDOM))
    return path


def memory_of(archive: str) -> dict:
    with tarfile.open(archive) as tar:
        (module,) = json.load(tar.extractfile("./metadata.json"))["modules"].values()
    return module["memory"]


def kinds(memory: dict) -> dict[str, set[str]]:
    return {pool["name"]: {b["kind"] for b in pool["buffers"]} for pool in memory["pools"]}


@pytest.mark.slow
def test_a_pool_that_no_list_has(tvmc, model):
    flags = ["--state-pool", "backup", "--usmp-workspace-pool-backup=size=64;section=.backup"]
    assert tvmc("compile", model, "--workspace-io", *flags, "-o", "m.tar").status == 0
    memory = memory_of("m.tar")
    assert kinds(memory)["backup"] == {"state"}
    assert "state" not in kinds(memory)["global_workspace"]
    assert {p["name"]: p["size_hint_bytes"] for p in memory["pools"]}["backup"] == 64
    with tarfile.open("m.tar") as tar:
        header = tar.extractfile("./codegen/host/include/tvmgen_default.h").read()
    assert b'__attribute__((section(".backup"), aligned(16)))' in header


def test_a_pool_of_the_list(tvmc, model):
    flags = ["--state-pool=b", "--workspace-pools=a,b", "--workspace-pools-internal=b"]
    plan = json.loads(tvmc("plan", model, "--workspace-io", *flags, "--format=json").stdout)
    assert kinds(plan)["b"] == {"state"}
    assert kinds(plan)["a"] == {"input", "output"}


def test_a_pool_that_is_too_small(refused, model):
    flags = ["--state-pool=backup", "--usmp-workspace-pool-backup=size=16"]
    message = refused("compile", model, *flags)
    assert 'The smallest size_hint_bytes with which a plan fits: 17 for pool "backup"' in message


def test_a_pool_that_is_not_needed(tvmc, small_model):
    outcome = tvmc("compile", small_model, "--state-pool=backup")
    sentence = "Pool backup stays empty: its size is 0, and its address may be NULL.\n"
    assert sentence in outcome.stdout


# ---- layouts


def hash_of(archive: str) -> str:
    with tarfile.open(archive) as tar:
        header = tar.extractfile("./codegen/host/include/tvmgen_default.h").read().decode()
    return header.split("TVMGEN_DEFAULT_STATE_LAYOUT_HASH UINT64_C(")[1].split(")")[0]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compile", "plan"])
def test_a_layout_is_written_and_read(tvmc, model, command):
    first = [command, model, "--state-pool=backup", "--export-state-layout=layout.json"]
    assert tvmc(*first).status == 0
    layout = StateLayout.read("layout.json")
    assert [str(state.pool_name) for state in layout.states] == ["backup", "backup"]
    later = ["--state-pool=backup", "--state-layout=layout.json"]
    exported = ["--export-state-layout=again.json", "-o", "m.tar"]
    assert tvmc("compile", model, *later, *exported).status == 0
    assert Path("again.json").read_text() == Path("layout.json").read_text()
    assert hash_of("m.tar") == layout.hash_text
    assert memory_of("m.tar")["state_layout"] == json.loads(layout.to_json())


def test_plan_writes_both_files(tvmc, model):
    flags = ["--export-state-layout=layout.json", "-o", "plan.json"]
    assert tvmc("plan", model, *flags).status == 0
    layout = json.loads(Path("layout.json").read_text())
    assert json.loads(Path("plan.json").read_text())["state_layout"] == layout


def test_places_are_kept(tvmc, model):
    """Beside other buffers too, which have other sizes in a new version."""
    tvmc("plan", model, "--export-state-layout=layout.json")
    states = [
        PlacedState(
            *(str(s.name), list(s.shape), str(s.dtype), str(s.pool_name)),
            *(s.byte_offset + 64, s.size_bytes, s.alignment, str(s.initial_value)),
        )
        for s in StateLayout.read("layout.json").states
    ]
    Path("moved.json").write_text(StateLayout("default", tuple(states)).to_json())
    flags = ["--workspace-io", "--state-layout=moved.json", "--format=json"]
    plan = json.loads(tvmc("plan", model, *flags).stdout)
    assert plan["state_layout"] == json.loads(Path("moved.json").read_text())


def write(path: str, text: str) -> None:
    Path(path).write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compile", "plan"])
def test_layouts_that_are_refused(tvmc, refused, model, command):
    tvmc("plan", model, "--export-state-layout=layout.json")
    text = Path("layout.json").read_text()
    given = [command, model, "--state-layout=other.json", "-o", "out.tar"]
    write("other.json", text[:100])
    assert refused(*given) == "other.json: not a state layout: it is not JSON"
    write("other.json", text.replace('"offset": 0', '"offset": 32'))
    assert refused(*given).startswith("other.json: not a state layout: its hash is 0x")
    write("other.json", text.replace('"offset": 16', '"offset": 0'))
    message = refused(*given)
    assert message.startswith("other.json: not a state layout: states ")
    assert message.endswith(' of pool "global_workspace" overlap')
    write("other.json", text)
    assert refused(*given, "--module-name=net") == (
        'the state layout is of module "default", not of "net"; give the module the same name, or '
        "leave the layout out"
    )
    assert refused(*given, "--state-pool=backup").startswith(
        'the state layout does not fit the model: pool "global_workspace" holds states in the '
        "layout, but in the model they may be in backup: compile it with the same pools and state "
        "pool as the one that the layout is of. "
    )


def test_a_layout_of_another_model(tvmc, refused, model, small_model):
    tvmc("plan", model, "--export-state-layout=layout.json")
    message = refused("compile", small_model, "--state-layout=layout.json")
    assert message.startswith(
        'the state layout does not fit the model: state "last_state" is in the layout, but not in '
        'the model; state "states_are_set" is in the layout, but not in the model. '
    )


@pytest.mark.slow
def test_files_that_are_refused(tvmc, refused, model, tmp_path):
    tvmc("plan", model, "--export-state-layout=layout.json")
    compiled = ("compile", model)
    assert refused(*compiled, "--state-layout=none.json") == (
        "none.json: No such file or directory"
    )
    assert refused(*compiled, "--state-layout=layout.json", "-o", "layout.json") == (
        "layout.json: the output would overwrite the state layout"
    )
    same = ["--state-layout=layout.json", "--export-state-layout=./layout.json"]
    assert refused(*compiled, *same) == (
        "./layout.json: the state layout would overwrite the one that is read"
    )
    assert refused(*compiled, "--export-state-layout=a.tar", "-o", "a.tar") == (
        "a.tar: the state layout would overwrite the output"
    )
    assert refused(*compiled, f"--export-state-layout={model}") == (
        f"{model}: the state layout would overwrite the model"
    )
    assert refused(*compiled, "--export-state-layout=none/layout.json") == (
        "none/layout.json: cannot be written (No such file or directory)"
    )
    assert refused(*compiled, "--export-state-layout=") == (
        "the path for the state layout is empty; name a file"
    )


@pytest.mark.parametrize("command", ["compile", "plan"])
def test_a_model_without_state_has_no_layout(refused, small_model, command):
    exported = ["--export-state-layout=layout.json", "-o", "out.tar"]
    assert refused(command, small_model, *exported) == (
        f"{small_model}: the model keeps nothing between runs, so it has no state layout; leave "
        "--export-state-layout out"
    )


@pytest.mark.slow
def test_the_layout_of_an_archive(tvmc, refused, model, small_model):
    tvmc("compile", model, "-o", "m.tar", "--export-state-layout=layout.json")
    assert tvmc("plan", "m.tar", "--export-state-layout=again.json", "--quiet").status == 0
    assert Path("again.json").read_text() == Path("layout.json").read_text()
    assert refused("plan", "m.tar", "--export-state-layout=m.tar") == (
        "m.tar: the state layout would overwrite the model"
    )
    assert refused("plan", "m.tar", "--state-layout=layout.json") == (
        "--state-layout belongs to a model, and m.tar is planned already"
    )
    tvmc("compile", small_model, "-o", "small.tar")
    assert refused("plan", "small.tar", "--export-state-layout=none.json") == (
        "small.tar: the model keeps nothing between runs, so it has no state layout; leave "
        "--export-state-layout out"
    )


def test_the_layout_of_a_damaged_archive(tvmc, refused, model):
    tvmc("compile", model, "-o", "m.tar")
    files = load_archive("m.tar").files
    metadata = json.loads(files["metadata.json"])
    metadata["modules"]["default"]["memory"]["state_layout"]["hash"] = "0x0"
    files["metadata.json"] = json.dumps(metadata).encode()
    write_tar(Path("damaged.tar"), files)
    message = refused("plan", "damaged.tar", "--export-state-layout=layout.json")
    assert message.startswith("the archive's state layout is damaged: its hash is 0x0, but ")
