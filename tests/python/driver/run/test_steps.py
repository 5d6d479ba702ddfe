"""`tvmc run --steps`: several runs of a model that keeps state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.board_programs import require_board
from support.tflite_builder import Graph, options, write_model
from support.tflite_signatures import assign, handle, read
from usmp.boards.board import board_named

STEPS, BOARD = 3, "mps2-an385"
X = np.arange(STEPS * 4, dtype="float32").reshape(STEPS, 1, 4) ** 2


def summing() -> bytes:
    """The output is the sum of x in all runs so far, times z."""
    graph = Graph()
    x, z = (graph.input((1, 4), "float32", name=name) for name in "xz")
    variable = handle(graph)
    total, y = graph.tensor((1, 4), "float32"), graph.tensor((1, 4), "float32", name="y")
    graph.operator("ADD", [read(graph, variable), x], [total], options("AddOptions"))
    assign(graph, variable, total)
    graph.operator("MUL", [total, z], [y], options("MulOptions"))
    graph.output(y)
    return write_model(graph)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    from usmp.driver.tvmc import main

    folder = tmp_path_factory.mktemp("steps")
    (folder / "model.tflite").write_bytes(summing())
    path = str(folder / "model.tar")
    assert main(["compile", str(folder / "model.tflite"), "-o", path, "--quiet"]) == 0
    return path


@pytest.mark.cc
@pytest.mark.parametrize("ending", [".npy", ".bin"])
def test_state_is_kept_from_step_to_step(tvmc, archive, ending):
    np.save("x.npy", X)
    X.tofile("x.bin")
    np.save("z.npy", np.full((1, 4), 2, "float32"))
    files = ["--inputs", f"x=x{ending}", "--inputs", "z=z.npy", "--outputs", "y.npy"]
    assert tvmc("run", archive, "--steps", STEPS, *files).status == 0
    np.testing.assert_array_equal(np.load("y.npy"), np.cumsum(X, 0) * 2)


@pytest.mark.cc
def test_missing_inputs_are_filled_for_each_step(tvmc, archive):
    np.save("z.npy", np.ones((1, 4), "float32"))
    command = ["run", archive, "--inputs", "z=z.npy", "--outputs", "y.npy"]
    assert tvmc(*command, "--steps", 2).status == 0
    first, second = np.load("y.npy")
    assert not np.array_equal(second - first, first)
    assert tvmc(*command).status == 0
    np.testing.assert_array_equal(np.load("y.npy"), first)


@pytest.mark.slow
@pytest.mark.board
def test_steps_on_a_board(tvmc):
    require_board(board_named(BOARD))
    Path("model.tflite").write_bytes(summing())
    assert tvmc("compile", "model.tflite", "--board", BOARD, "-o", "board.tar").status == 0
    np.savez("in.npz", x=X, z=np.stack([X[0] + 1] * STEPS))
    np.savez("out.npz", y=np.cumsum(X, 0) * (X[0] + 1))
    command = ["run", "board.tar", "--board", BOARD, "--inputs", "in.npz", "--steps", STEPS]
    for expected in ([], ["--expected", "out.npz"]):
        outcome = tvmc(*command, *expected)
        assert outcome.status == 0, outcome.stderr
        assert "The outputs equal" in outcome.stdout


@pytest.mark.cc
def test_another_number_of_steps(refused, archive):
    np.save("x.npy", X)
    assert refused("run", archive, "--inputs", "x=x.npy", "--steps", 4) == (
        'input "x" has 3 steps in front, as its shape is [3, 1, 4]; --steps says 4'
    )


@pytest.mark.parametrize("other", ["--profile", "--serial"])
def test_what_is_about_one_run(refused, archive, other):
    value = ["/dev/null"] if other == "--serial" else []
    assert refused("run", archive, "--steps", 2, other, *value) == (
        f"--steps cannot be combined with {other}; leave one of them out"
    )


@pytest.mark.parametrize("text", ["0", "-1", "many", "1000001", "1.5"])
def test_numbers_that_are_no_steps(tvmc, archive, text):
    outcome = tvmc("run", archive, f"--steps={text}")
    assert outcome.status == 1
    assert f"must be a number from 1 to 1000000, not {text}" in outcome.stderr
