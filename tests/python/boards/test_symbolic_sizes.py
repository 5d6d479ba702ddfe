"""Models with symbolic sizes in the emulators of boards: each run has the sizes of its inputs."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.board_programs import require_board, run_program
from support.symbolic_models import attending, build_symbolic, build_two_sizes
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule, EmulatorError, build_project, run_emulator
from usmp.runtime.write_files import write_files

pytestmark = pytest.mark.board

ARM, RISCV = board_named("mps2-an385"), board_named("riscv32-virt")


def emulated(factory: usmp.AOTExecutorFactoryModule) -> EmulatedModule:
    require_board(factory.board)
    return EmulatedModule(factory.files(), factory.metadata["modules"]["default"], factory.board)


@pytest.mark.parametrize("board", [ARM, RISCV], ids=lambda board: board.name)
@pytest.mark.parametrize("io", [False, True], ids=["own", "workspace_io"])
def test_runs_of_many_sizes(board, io):
    module = emulated(build_symbolic(board=board, use_workspace_io=io))
    generator = np.random.default_rng(0)
    inputs = [generator.random((1, seq, 4), np.float32) for seq in (16, 1, 5, 2)]
    runs = module.run([{"x": x} for x in inputs])
    for x, outputs in zip(inputs, runs.outputs, strict=True):
        np.testing.assert_allclose(outputs["y"], attending(x), rtol=1e-5)
    longest, shortest, middle, _ = runs.instructions
    assert shortest < middle / 5 < longest / 25


def test_sizes_are_those_of_inputs_or_given():
    module = emulated(build_symbolic(board=ARM))
    x = np.ones((1, 3, 4), np.float32)
    (outputs,) = module.run([("main", {"x": x}, {"seq": 3})]).outputs
    np.testing.assert_array_equal(outputs["y"], np.full((1, 2, 4), 12, np.float32))
    with pytest.raises(ValueError, match='size "seq" is 17, by axis 1 of input "x"'):
        module.run([{"x": np.ones((1, 17, 4), np.float32)}])


@pytest.mark.parametrize("io", [False, True], ids=["own", "workspace_io"])
def test_entries(io):
    module = emulated(build_two_sizes(board=ARM, use_workspace_io=io))
    a, b = np.arange(5, dtype=np.int32), np.arange(7, dtype=np.int32)
    runs = module.run(
        [
            ("outer", {"a": a, "b": b}),
            ("total", {"a": np.ones(9, np.int32)}),
            ("outer", {"a": a[:2], "b": b[:3]}),
        ]
    )
    first, total, second = (outputs["y"] for outputs in runs.outputs)
    np.testing.assert_array_equal(first, np.outer(a, b))
    np.testing.assert_array_equal(total, [9])
    np.testing.assert_array_equal(second, np.outer(a[:2], b[:3]))


@pytest.mark.slow
@pytest.mark.parametrize("io", [False, True], ids=["own", "workspace_io"])
def test_files_with_sizes_out_of_range(tmp_path, io):
    """Nothing is read behind them; without a file the model runs at the largest size."""
    factory = build_symbolic(board=ARM, use_workspace_io=io)
    require_board(ARM)
    write_files(factory.files(), tmp_path)
    project = tmp_path / "project"
    build_project(project, ARM, {})
    for seq in (0, 17, -1):
        with pytest.raises(EmulatorError, match=r"inputs\.bin holds no whole set of inputs"):
            run_program(ARM, project, np.full(1000, seq, "<i4").tobytes())
    (project / "inputs.bin").unlink()
    run_emulator(ARM, project, "model.elf", 60)
    assert (project / "outputs.bin").read_bytes() == bytes(8 * 4 * 4)
