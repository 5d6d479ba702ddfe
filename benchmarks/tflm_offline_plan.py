"""Compare TFLite Micro's arena with its own plan and with the offsets of `tvmc plan --emit-tflm`.

    python benchmarks/tflm_offline_plan.py MODEL.tflite ...

Bytes are those of the arena's head, which holds tensors and scratch memory of kernels, as the
interpreter reports them after a run. Both files must give equal outputs. "lower bound" is that of
the tensors alone, without overlap.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.micro import CannotRunError, Micro
from usmp.frontend.tflite.arena.offline_plan import plan_offline
from usmp.support.errors import UnsupportedModelError
from usmp_solver import solve

RUNS = 3


def heads(content: bytes, planned: bytes) -> list[int]:
    """Return the bytes of the head with each file; check that their outputs are equal."""
    models = [Micro(content), Micro(planned)]
    for seed in range(RUNS):
        inputs = models[0].random_inputs(seed)
        own, ours = (model.run(inputs) for model in models)
        for name, value in own.items():
            np.testing.assert_array_equal(ours[name], value)
    return [model.head_bytes() for model in models]


def row(path: Path) -> list[str]:
    """Return the cells of a model.

    Raises
    ------
    CannotRunError
        TFLite Micro cannot run the model.
    UnsupportedModelError
        the model cannot be planned for TFLite Micro.
    """
    content = path.read_bytes()
    plan = plan_offline(content, solve)
    own, ours = heads(content, plan.content)
    (bound,) = plan.solution.lower_bounds.values()
    optimal = "yes" if plan.solution.is_optimal else "unknown"
    return [path.stem, str(own), str(ours), f"{ours / own:.2f}", str(bound), optimal]


def main(paths: list[str]) -> None:
    """Print the table."""
    table = Table(title="Head of TFLite Micro's arena, bytes", title_justify="left")
    for heading in ("model", "own plan", "with offsets", "ratio", "lower bound", "optimal"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    reasons = []
    for path in map(Path, paths):
        try:
            table.add_row(*row(path))
        except (CannotRunError, UnsupportedModelError) as error:
            reasons.append(f"{path.stem}: {error}")
    Console(width=110).print(table)
    print("\n".join(reasons))


if __name__ == "__main__":
    main(sys.argv[1:])
