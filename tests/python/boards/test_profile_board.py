"""Instructions by operator on emulated boards: exact, and together those of the run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.board_programs import require_board, some_boards
from support.compilers import run_compiler
from support.entry_models import entry_model
from support.micro import Micro
from support.small_digits import small_digits
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.boards.profile_board import profile_of_runs, profile_on_board
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import NotProfiled

pytestmark = pytest.mark.board

AN385 = board_named("mps2-an385")
SMALL = small_digits()
IMAGE = {"image": np.ones((1, 8, 8, 1), np.int8)}


@cache
def built(board, target="c", profile=True):
    """A model of two operators, built once for each board."""
    with PassContext(config={"tir.usmp.debug": ["profile"] if profile else []}):
        return usmp.build(import_tflite(SMALL), target=target, board=board)


def metadata_of(factory):
    return factory.metadata["modules"]["default"]


@pytest.mark.slow
@some_boards
def test_operators_are_all_of_a_run(board):
    """But for the hooks, at most 100 instructions an operator, and what lies between them."""
    require_board(board)
    factory = built(board)
    module = EmulatedModule(factory.files(), metadata_of(factory), board)
    runs = module.run([IMAGE, IMAGE])
    first, second = runs.operators
    assert len(first) == 2
    assert first == second
    assert runs.instructions[0] == runs.instructions[1]
    assert sum(first) < runs.instructions[0] <= sum(first) + 100 * len(first)
    profile = profile_of_runs(metadata_of(factory), runs, None)
    assert [operator.cost for operator in profile.operators] == first
    other = profile_of_runs(metadata_of(factory), replace(runs, operators=[first, [0, 0]]), None)
    assert other == profile
    assert profile.unit == "instructions"
    expected = Micro(SMALL).run(IMAGE)["probabilities"]
    np.testing.assert_array_equal(runs.outputs[0]["probabilities"], expected)


def test_a_run_without_hooks_takes_as_much():
    """The same code with hooks that do nothing: their calls are all that is not an operator's."""
    require_board(AN385)
    factory = built(AN385)
    profile = profile_on_board(factory.files(), metadata_of(factory), AN385, IMAGE)
    files = {n: c for n, c in factory.files().items() if not n.startswith("project/operators.")}
    main = files["project/main.c"].decode().splitlines()
    kept = [line for line in main if "operators" not in line]
    files["project/main.c"] = "\n".join(kept).encode()
    (whole,) = EmulatedModule(files, metadata_of(factory), AN385).run([IMAGE]).instructions
    # Argument, call and return of two hooks; the main function and its caller.
    assert profile.cost < whole < profile.cost + 10 * len(profile.operators) + 60


@pytest.mark.slow
def test_an_object_file_has_hooks():
    require_board(AN385)
    factory = built(AN385, "llvm")
    profile = profile_on_board(factory.files(), metadata_of(factory), AN385, IMAGE)
    assert all(operator.cost > 100 for operator in profile.operators)


@pytest.mark.slow
def test_entries_are_counted_by_themselves():
    require_board(AN385)
    with PassContext(config={"tir.usmp.debug": ["profile"]}):
        factory = usmp.build(entry_model(), board=AN385)
    metadata = metadata_of(factory)
    module = EmulatedModule(factory.files(), metadata, AN385)
    x = {"x": np.ones((1, 8), np.float32)}
    runs = module.run([("learn", x), ("tell", x)])
    entries = [operator["entry"] for operator in metadata["operators"]]
    for entry, counts in zip(("learn", "tell"), runs.operators, strict=True):
        for other, count in zip(entries, counts, strict=True):
            assert (count > 0) == (entry == other)
    profile = profile_on_board(factory.files(), metadata, AN385, x, "tell")
    assert {operator.entry for operator in profile.operators} == {"tell"}


def test_an_archive_without_hooks_is_refused():
    factory = built(AN385, profile=False)
    assert "project/operators.c" not in factory.files()
    with pytest.raises(NotProfiled):
        profile_on_board(factory.files(), metadata_of(factory), AN385, IMAGE)


@pytest.mark.slow
def test_files_of_the_project_are_strict(tmp_path):
    require_board(AN385)
    factory = built(AN385)
    for name in ("operators.c", "operators.h", "measure.h", "report.h"):
        (tmp_path / name).write_bytes(factory.files()[f"project/{name}"])
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "operators.c"]
    compiler = [AN385.toolchain.compiler, *AN385.cpu_flags]
    for level in ("-O0", "-O2", "-Os"):
        run_compiler([*compiler, *options, level], cwd=tmp_path)
