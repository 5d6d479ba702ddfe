"""What matchers of quantized operators ask of a function, where tests bind its variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm import relax

from usmp.relax.transform.qdq.graph import Graph

BOUND: dict[relax.Var, relax.Expr] = {}
"""The calls behind the variables of `bound_to`."""


def graph_of(
    bound: Mapping[relax.Var, relax.Expr] = BOUND, matcher: Callable[..., Any] = lambda *_: None
) -> Graph:
    """A graph with these variables, in which `matcher` says what is computed in integers."""
    return Graph(relax.BlockBuilder(), bound.get, matcher)


def bound_to(call: relax.Expr) -> relax.Var:
    """A variable that is bound to a call."""
    call = relax.BlockBuilder().normalize(call)
    variable = relax.Var("v", call.ty)
    BOUND[variable] = call
    return variable
