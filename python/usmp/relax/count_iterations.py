"""How often the statements of an operator run, which a small file can drive to any number."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.relax.limits import LimitError

MOST_ITERATIONS = 1 << 44
"""Of one operator: hours on any machine. The largest convolutions of public models have 2^36."""


def iterations_of(func: tirx.PrimFunc) -> int:
    """How often the innermost statements run, at least."""

    def count(stmt: Any) -> int:
        if isinstance(stmt, tirx.For):
            extent = int(stmt.extent) if isinstance(stmt.extent, tirx.IntImm) else 1
            return extent * count(stmt.body)
        if isinstance(stmt, tirx.SeqStmt):
            return sum(map(count, stmt.seq))
        for inner in ("block", "body"):
            if hasattr(stmt, inner):
                return count(getattr(stmt, inner))
        return 1

    return count(func.body)


def check_iterations(mod: IRModule) -> None:
    """Check that every operator of `mod` ends within hours.

    Raises
    ------
    LimitError
        one does not, as a pooling window of 2^30 by 2^30; the message names it.
    """
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            count = iterations_of(func)
            if count > MOST_ITERATIONS:
                raise LimitError(
                    f"operator {variable.name_hint} computes {count} steps, which takes hours on "
                    f"any machine; an operator may have {MOST_ITERATIONS}: choose smaller windows "
                    "or tensors"
                )
