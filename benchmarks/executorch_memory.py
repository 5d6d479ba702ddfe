"""Memory of ExecuTorch's programs: its own algorithm, and `usmp_solver.integrations.executorch`.

    python benchmarks/executorch_memory.py [MODEL ...]
    python benchmarks/executorch_memory.py --kernels

Models are those of ExecuTorch's examples that need no downloads, and networks like the others;
weights are random. For each: bytes of all memories by `greedy`, by `MemoryPlanning` without and
with outputs in the place of inputs, their ratio, how many outputs that are, whether it is proved
that no plan with these takes less, and the seconds of CPU time of planning. Both programs run in
the portable runtime, and have to give the same bytes. Needs ExecuTorch.

With `--kernels`: how many calls of each operator that may run in place did so, with all types,
shapes and orders of dimensions; each is compared with the same call elsewhere.
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
        for each in (apart, together):
            if each.run(inputs) != greedy.run(inputs):
                raise SystemExit(f"{name}: the outputs differ")
        ratios.append(together.bytes / greedy.bytes)
        last = recorded.plans[-1]
        table.add_row(
            name,
            *(str(each.bytes) for each in (greedy, apart, together)),
            f"{ratios[-1]:.2f}",
            str(len(last.in_place)),
            "yes" if last.is_optimal else "unknown",
            f"{recorded.seconds:.2f}",
        )
    console.print(table)
    console.print(f"geometric mean of {len(ratios)} models: {geometric_mean(ratios):.2f}")


def kernels(console: Console) -> None:
    """Print how many calls of each operator ran in place."""
    table = Table("operator", "calls", "different")
    total = failed = 0
    for operator in registered():
        found = [differences(operator, shape) for shape in (*SHAPES, LARGE)]
        calls = sum(each[0] for each in found)
        different = [text for each in found for text in each[1]]
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
