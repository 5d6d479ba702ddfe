"""Limit of the iterations of an operator, because a small file can ask for any number."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule

from usmp.relax.limits import LimitError
from usmp.support.model_operators import titles
from usmp.tir.model_operator import joined_span, operators_in
from usmp.tir.nodes import nodes_of

MOST_ITERATIONS = 1 << 44
"""Most iterations of one operator: hours on any machine. Large public convolutions have 2^36."""


def iterations_of(func: tirx.PrimFunc) -> int:
    """Return a lower bound on how often the innermost statements run."""

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
        an operator runs longer, as a pooling of windows of 2^30 by 2^30; the message names it.
    """
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            count = iterations_of(func)
            if count > MOST_ITERATIONS:
                raise LimitError(
                    f"{_title(mod, variable)} computes {count} steps, which takes hours on any "
                    f"machine; an operator may have {MOST_ITERATIONS}: choose smaller windows or "
                    "tensors"
                )


def _title(mod: IRModule, variable: GlobalVar) -> str:
    """Return the operator's title for messages, from the model file if a call has its span."""
    functions = [func for func in mod.functions.values() if isinstance(func, relax.Function)]
    calls = [call for func in functions for call in nodes_of(func.body, Call)]
    spans = [call.span for call in calls if any(arg.same_as(variable) for arg in call.args)]
    of_file = titles([operator.as_json() for operator in operators_in(joined_span(spans))])
    return of_file or f"operator {variable.name_hint}"
