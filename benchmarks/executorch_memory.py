"""Compare the memory of ExecuTorch's programs with its own algorithm and with `usmp_solver`.

    python benchmarks/executorch_memory.py [MODEL ...]
    python benchmarks/executorch_memory.py --kernels

Models are ExecuTorch's examples that need no downloads, and networks similar to its other examples,
with random weights. For each, print the bytes of all memories with `greedy`, and with
`MemoryPlanning` without and with outputs in place; their ratio; the number of outputs in place;
whether the plan with them is proved optimal; and the CPU seconds of planning. All programs run in
the portable runtime, and must give equal bytes. Needs ExecuTorch.

With `--kernels`, run each operator that may run in place with all types, shapes and orders of
dimensions, and compare each call with the same call out of place.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.executorch_kernels import LARGE, SHAPES, differences, registered
from support.executorch_models import MODELS, example
from support.executorch_programs import Recorded, plan
from usmp_solver.integrations.executorch import MemoryPlanning


def models(names: list[str], console: Console) -> None:
    """Print the table of models."""
    columns = ("greedy", "solver", "in place", "ratio", "outputs", "optimal", "s")
    table = Table("model", *columns)
    ratios = []
    for name in names or MODELS:
        model, inputs = example(name)
        greedy = plan(model, inputs)
        apart = plan(model, inputs, MemoryPlanning(in_place=False))
        recorded = Recorded(MemoryPlanning())
        together = plan(model, inputs, recorded)
        together.verify()
        for program in (apart, together):
            if program.run(inputs) != greedy.run(inputs):
                raise SystemExit(f"{name}: the outputs differ")
        ratios.append(together.bytes / greedy.bytes)
        last = recorded.plans[-1]
        table.add_row(
            name,
            *(str(program.bytes) for program in (greedy, apart, together)),
            f"{ratios[-1]:.2f}",
            str(len(last.in_place)),
            "yes" if last.is_optimal else "unknown",
            f"{recorded.seconds:.2f}",
        )
    console.print(table)
    console.print(f"geometric mean of {len(ratios)} models: {geometric_mean(ratios):.2f}")


def kernels(console: Console) -> None:
    """Print the number of calls of each operator in place, and the calls that differ."""
    table = Table("operator", "calls", "different")
    total = failed = 0
    for operator in registered():
        results = [differences(operator, shape) for shape in (*SHAPES, LARGE)]
        calls = sum(result[0] for result in results)
        different = [text for result in results for text in result[1]]
        table.add_row(operator.name(), str(calls), "\n".join(different))
        total, failed = total + calls, failed + len(different)
    console.print(table)
    console.print(f"{total} calls, {failed} different")


def main(arguments: list[str]) -> None:
    """Print one of the tables."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    console = Console(width=120)
    if arguments == ["--kernels"]:
        kernels(console)
    else:
        models(arguments, console)


if __name__ == "__main__":
    main(sys.argv[1:])
