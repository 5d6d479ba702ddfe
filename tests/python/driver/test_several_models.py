"""`tvmc compile` and `tvmc plan` of several models: their entries, their states, and bad names."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.onnx_models import small_model
from support.quantized_models.model import Spec
from support.small_digits import small_digits
from support.tflite_builder import write_model
from support.tflite_file import one_operator_model
from support.tflite_signatures import counter_file, summing
from usmp.frontend.pytorch.torch_cache import without_torch_cache
from usmp.runtime import load_archive

pytestmark = pytest.mark.usefixtures("one_session")

REAL = (1, 4)


@pytest.fixture
def models():
    """Two models of one operator, in the folder of the commands."""

    def write(*names: str) -> list[str]:
        for name in names:
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_bytes(one_operator_model())
        return list(names)

    return write


def entries_of(archive: str, module: str = "default") -> list[str]:
    return list(load_archive(archive).modules[module].entries)


def plan_of(tvmc, *arguments: object) -> dict:
    outcome = tvmc("plan", *arguments, "--format", "json")
    assert (outcome.status, outcome.stderr) == (0, "")
    return json.loads(outcome.stdout)


# ---- names


def test_entries_are_called_as_the_files(tvmc, models):
    assert tvmc("compile", *models("keyword-spotter.tflite", "b.tflite"), "-o", "m.tar").status == 0
    assert entries_of("m.tar") == ["keyword_spotter", "b"]


@pytest.mark.slow
def test_entries_are_called_as_the_user_says(tvmc, models):
    models("a.tflite", "folder/a.tflite", "x=a.tflite")
    files = ["first=a.tflite", "second=folder/a.tflite", "x=a.tflite"]
    assert tvmc("compile", *files, "--module-name=net").status == 0
    # There is a file "x=a.tflite".
    assert entries_of("module.tar", "net") == ["first", "second", "x_a"]


@pytest.mark.slow
def test_one_model_has_a_name_only_if_it_is_given_one(tvmc, models):
    models("a.tflite")
    for file, entry in (("a.tflite", "main"), ("main=a.tflite", "main"), ("net=a.tflite", "net")):
        assert tvmc("compile", file, "-o", f"{file}.tar").status == 0
        assert entries_of(f"{file}.tar") == [entry]
    files = [load_archive(f"{name}.tar").files for name in ("a.tflite", "main=a.tflite")]
    sources = [{n: c for n, c in f.items() if n.startswith("codegen/")} for f in files]
    assert sources[0] == sources[1]


@pytest.mark.slow
def test_files_stand_before_and_behind_options(tvmc, models):
    models("a.tflite", "b.tflite", "c.tflite")
    assert tvmc("compile", "a.tflite", "-o", "m.tar", "b.tflite", "-q", "c.tflite").status == 0
    assert entries_of("m.tar") == ["a", "b", "c"]


@pytest.mark.slow
def test_entries_of_a_file_have_its_name_in_front(tvmc, models):
    Path("counter.tflite").write_bytes(counter_file())
    models("a.tflite")
    assert tvmc("compile", "counter.tflite", "n=a.tflite", "-o", "m.tar").status == 0
    signatures = ["step", "peek", "clear", "twice"]
    assert entries_of("m.tar") == [*(f"counter_{name}" for name in signatures), "n"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            ["a.tflite", "folder/a.tflite"],
            'a.tflite and folder/a.tflite: both models are called "a"; name them, as in '
            "a=a.tflite a_2=folder/a.tflite",
        ),
        (
            ["x=a.tflite", "x=b.tflite"],
            'a.tflite and b.tflite: both models are called "x"; name them, as in x=a.tflite '
            "x_2=b.tflite",
        ),
        (
            ["A=a.tflite", "a=b.tflite"],
            'entries "A" and "a" differ in capital letters only, so they have the same macros; '
            "rename one of them",
        ),
        (
            ["2nd=a.tflite", "b.tflite"],
            'an entry cannot be called "2nd": it is part of the names of C functions, so it needs '
            "letters, digits and underscores, a letter in front, and at most 64 characters",
        ),
        (
            ["a\x1b[2J=a.tflite"],
            'an entry cannot be called "a\\x1b[2J": it is part of the names of C functions, so it '
            "needs letters, digits and underscores, a letter in front, and at most 64 characters",
        ),
        (["a.tflite", "b="], "b=: No such file or directory"),
        (["a.tflite", "missing.tflite"], "missing.tflite: No such file or directory"),
        (["missing/x=a.tflite"], "missing/x=a.tflite: No such file or directory"),
        (
            ["counter.tflite", "counter_step=a.tflite"],
            'two entries are called "counter_step"; rename one of them',
        ),
        (
            ["a.tflite", "module.tar"],
            "module.tar: an archive, not a model; tvmc run, plan and info read archives",
        ),
    ],
)
def test_names_that_are_refused(refused, models, files, message):
    models("a.tflite", "b.tflite", "folder/a.tflite", "module.tar")
    Path("counter.tflite").write_bytes(counter_file())
    assert refused("compile", *files, "-o", "out.tar") == message


def test_outputs_over_any_of_the_models(refused, models):
    files = models("a.tflite", "b.tflite")
    over = "./b.tflite: the {} would overwrite the model"
    assert refused("compile", *files, "-o", "./b.tflite") == over.format("archive")
    assert refused("plan", *files, "-o", "./b.tflite") == over.format("plan")
    layout = "--export-state-layout=./b.tflite"
    assert refused("compile", *files, layout) == over.format("state layout")


def test_models_without_state_have_no_layout(refused, models):
    files = models("a.tflite", "b.tflite")
    assert refused("compile", *files, "--export-state-layout=layout.json") == (
        "a.tflite, b.tflite: the models keep nothing between runs, so they have no state layout; "
        "leave --export-state-layout out"
    )


@pytest.mark.slow
def test_archives_are_planned_by_themselves(tvmc, refused, models):
    files = models("a.tflite", "b.tflite")
    tvmc("compile", *files, "-o", "m.tar")
    assert refused("plan", *files, "m.tar") == (
        "m.tar is planned already; name no other file beside it"
    )
    for option in ("--shared-state", "--concurrent=a,b"):
        assert refused("plan", "m.tar", option) == (
            f"{option.partition('=')[0]} belongs to a model, and m.tar is planned already"
        )


def test_options_of_import_are_for_each_model(refused, models):
    assert refused("compile", *models("a.tflite", "b.tflite"), "--max-model-bytes=15") == (
        'a.tflite: tensor 0 ("x") of shape [1, 4] takes 16 bytes; a tensor may take 15, which '
        "--max-model-bytes (in Python max_model_bytes) can raise"
    )


# ---- memory


@pytest.mark.slow
def test_models_in_turn_need_the_memory_of_the_largest(tvmc, convolutions):
    alone = plan_of(tvmc, convolutions)["ram"]
    files = [f"one={convolutions}", f"two={convolutions}"]
    together = plan_of(tvmc, *files)
    assert {**alone, "size_bytes": together["ram"]["size_bytes"]} == together["ram"]
    at_once = plan_of(tvmc, *files, "--concurrent=one,two")
    for size in ("size_bytes", "workspace_size_bytes", "io_size_bytes"):
        assert together["ram"][size] == alone[size]
        assert at_once["ram"][size] == 2 * alone[size]
    mains = at_once["functions"]["main"]
    assert [main["concurrent_with"] for main in mains] == [["two"], ["one"]]


def test_concurrent_may_be_repeated(tvmc, models):
    files = models("a.tflite", "b.tflite", "c.tflite")
    plan = plan_of(tvmc, *files, "--concurrent", "a,b", "--concurrent=b, c")
    assert [main["concurrent_with"] for main in plan["functions"]["main"]] == [
        ["b"],
        ["a", "c"],
        ["b"],
    ]


@pytest.mark.slow
def test_csv_says_of_which_entries_buffers_are(tvmc, models):
    adding_files(one=REAL, two=REAL)
    files = ["one.tflite", "two.tflite", "--shared-state", "--workspace-io"]
    outcome = tvmc("plan", *files, *models("c.tflite"), "--format=csv")
    assert (outcome.status, outcome.stderr) == (0, "")
    rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
    entries = {kind: {r["entries"] for r in rows if r["kind"] == kind} for kind in KINDS}
    assert entries == {
        "input": {"one", "two", "c"},
        "output": {"one", "two", "c"},
        "state": {"one two"},
    }


KINDS = ("input", "output", "state")
_AS_IN = "name two or more entries, each once, as in --concurrent encode,step"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a", f"--concurrent a: {_AS_IN}"),
        ("", f"--concurrent : {_AS_IN}"),
        ("a,,b", f"--concurrent a,,b: {_AS_IN}"),
        ("a,b,a", f"--concurrent a,b,a: {_AS_IN}"),
        ("a,c", 'concurrent entries a, c: there is no entry "c". Entries: a, b'),
    ],
)
def test_concurrent_entries_that_are_refused(refused, models, value, message):
    assert refused("compile", *models("a.tflite", "b.tflite"), "--concurrent", value) == message


# ---- states


def adding_files(**shapes: tuple[int, ...]) -> None:
    """Files that add the input to the variable `v`, and give the sum."""
    for name, shape in shapes.items():
        Path(f"{name}.tflite").write_bytes(write_model(summing(Spec(shape, 0, 0, "float32"))))


@pytest.mark.slow
@pytest.mark.cc
def test_models_share_states_of_one_name_if_the_user_says_so(tvmc):
    adding_files(one=REAL, two=REAL)
    given = {"x": np.arange(4, dtype=np.float32).reshape(REAL)}
    for options, times in (([], 1), (["--shared-state"], 2)):
        assert tvmc("compile", "one.tflite", "two.tflite", *options).status == 0
        module = load_archive("module.tar").load()
        first, second = (module.run(given, entry)["y"] for entry in ("one", "two"))
        np.testing.assert_array_equal(first, given["x"])
        np.testing.assert_array_equal(second, times * given["x"])
        del module


@pytest.mark.slow
def test_a_state_of_two_shapes(tvmc, refused):
    adding_files(step=REAL, other=(1, 8))
    files = ["step.tflite", "other.tflite"]
    assert refused("compile", *files, "--shared-state") == (
        'state "v_state" is float32[1, 4] in entry "step", but float32[1, 8] in entry "other"; '
        "give states that are not the same different names"
    )
    assert tvmc("compile", *files).status == 0


def test_one_model_shares_no_state(refused, models):
    assert refused("compile", *models("a.tflite"), "--shared-state") == (
        "--shared-state is about states of several models; name two or more FILEs, or leave it out"
    )


@pytest.mark.slow
@pytest.mark.models
def test_methods_of_a_pytorch_module(tvmc, refused):
    pytorch = pytest.importorskip("support.pytorch_models")
    torch, nn = pytorch.torch, pytorch.nn

    class Method(nn.Module):
        def __init__(self, is_writer: bool, size: int = 4) -> None:
            super().__init__()
            self.is_writer = is_writer
            self.register_buffer("cells", torch.ones(size))

        def forward(self, x):
            if self.is_writer:
                self.cells[:] = x
            return self.cells * x

    def write(name: str, method: nn.Module) -> None:
        with without_torch_cache():
            Path(name).write_bytes(pytorch.exported(method, torch.ones(1)))

    write("store.pt2", Method(True))
    write("load.pt2", Method(False))
    write("other.pt2", Method(False, 5))
    two = np.full(1, 2, np.float32)
    for options, cells in (([], 1), (["--shared-state"], 2)):
        assert tvmc("compile", "store.pt2", "load.pt2", *options).status == 0
        module = load_archive("module.tar").load()
        for entry, expected in (("store", 4), ("load", 2 * cells)):
            (given,) = module.entries[entry].inputs
            (output,) = module.run({given: two}, entry).values()
            assert output.tolist() == [expected] * 4
        del module
    assert refused("compile", "store.pt2", "other.pt2", "--shared-state") == (
        'buffer "cells" is kept between runs, but is float32[4] in method "store" and float32[5] '
        'in method "other"; export all methods from one module, before any of them runs'
    )


@pytest.mark.slow
@pytest.mark.cc
def test_models_of_different_formats(tvmc):
    Path("digits.tflite").write_bytes(small_digits())
    Path("layer.onnx").write_bytes(small_model())
    assert tvmc("compile", "digits.tflite", "layer.onnx", "-o", "both.tar").status == 0
    alone = [usmp.build(path).load() for path in ("digits.tflite", "layer.onnx")]
    module = load_archive("both.tar").load()
    generator = np.random.default_rng(1)
    for _ in range(3):
        for one, (entry, tensors) in zip(alone, module.entries.items(), strict=True):
            given = {
                name: generator.integers(-9, 9, info["shape"]).astype(info["dtype"])
                for name, info in tensors.inputs.items()
            }
            outputs = module.run(given, entry)
            for name, expected in one.run(given).items():
                np.testing.assert_array_equal(outputs[name], expected)


# ---- one program, one answer


def one_program(command: str) -> str:
    return (
        "2 models in one program: a.tflite, b.tflite; to ask about one of them alone, run tvmc "
        f"{command} with one FILE"
    )


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--max-ram=64K"],
        ["check", "--max-ram=64K", "--format=markdown"],
        ["plan"],
        ["explain", "--no-suggestions"],
        ["explain", "--no-suggestions", "--format=markdown"],
    ],
    ids=" ".join,
)
def test_the_first_line_says_that_models_are_one_program(tvmc, models, arguments):
    command, *options = arguments
    outcome = tvmc(command, *models("a.tflite", "b.tflite"), *options)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines()[0] == one_program(command)
    if "--format=markdown" in options:
        assert outcome.stdout.splitlines()[1] == ""
    alone = tvmc(command, "a.tflite", *options)
    assert "in one program" not in alone.stdout


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    "arguments", [["check", "--max-ram=64K"], ["explain", "--no-suggestions"]], ids=" ".join
)
def test_documents_stay_documents(tvmc, models, arguments):
    command, *options = arguments
    files = models("a.tflite", "b.tflite")
    outcome = tvmc(command, *files, *options, "--format=json")
    json.loads(outcome.stdout)
    assert outcome.stderr == f"{one_program(command)}\n"
    assert tvmc(command, *files, *options, "--format=json", "-q").stderr == ""
    outcome = tvmc(command, *files, *options, "-o", "out.json")
    assert (outcome.stdout, outcome.stderr) == ("", f"{one_program(command)}\n")
    json.loads(Path("out.json").read_text())


@pytest.mark.cc
def test_a_sweep_of_one_program(tvmc, models, no_workers):
    files = models("a.tflite", "b.tflite")
    sweep = ["explore", *files, "--vary=optimize=ram", "-j1", "-o", "sweep.json"]
    outcome = tvmc(*sweep)
    assert outcome.stdout.splitlines()[0] == one_program("explore")
    outcome = tvmc(*sweep, "--format=csv")
    assert one_program("explore") in outcome.stderr.splitlines()
    assert one_program("explore") not in outcome.stdout
