"""Conversion of TIR extents with symbolic sizes into plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import tirx
from tvm.ir import Var
from tvm.tirx import IntImm

from usmp.plain.size_expression import (
    DEEPEST,
    DIVISIONS,
    LONGEST,
    OPERATORS,
    SizeExpression,
    expression_text,
    is_divisor,
    parts_of,
)

_BY_NODE: Mapping[type, str] = {
    tirx.Add: "+",
    tirx.Sub: "-",
    tirx.Mul: "*",
    tirx.FloorDiv: "//",
    tirx.FloorMod: "%",
    tirx.Min: "min",
    tirx.Max: "max",
}


def size_expression(value: Any) -> SizeExpression:
    """Convert an extent of TIR, whose variables have the names of sizes, into plain data.

    Parameters
    ----------
    value
        a number, or an expression of TIR.

    Raises
    ------
    ValueError
        the extent has an unknown operator or a divisor that may not be positive, or is too long or
        too deep.
    """
    expression = _read(value, value, 0)
    if len(parts_of(expression)) > LONGEST:
        raise ValueError(f"the extent {value} is too long; make the model's shapes simpler")
    return expression


def _read(value: Any, extent: Any, depth: int) -> SizeExpression:
    if isinstance(value, int | IntImm):
        return int(value)
    if isinstance(value, Var):
        return str(value.name)
    if isinstance(value, tirx.Cast):
        return _read(value.value, extent, depth)
    operator = _BY_NODE.get(type(value))
    if operator is None:
        raise ValueError(
            f"the extent {extent} has {value}; extents are computed from sizes by "
            f"{', '.join(OPERATORS)}"
        )
    if depth == DEEPEST:
        raise ValueError(f"the extent {extent} is too deep; make the model's shapes simpler")
    both = [_read(side, extent, depth + 1) for side in (value.a, value.b)]
    if operator in DIVISIONS and not is_divisor(both[1]):
        divisor = expression_text(both[1])
        raise ValueError(f"the extent {extent} divides by {divisor}, which is no positive number")
    return [operator, *both]
