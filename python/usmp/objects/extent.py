"""Extents of TIR that depend on symbolic sizes."""

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
    """An extent of TIR, whose variables have the names of sizes.

    Parameters
    ----------
    value
        a number, or an expression of TIR.

    Raises
    ------
    ValueError
        it has another operator, divides by what may not be positive, or is too long.
    """
    found = _read(value, value, 0)
    if len(parts_of(found)) > LONGEST:
        raise ValueError(f"the extent {value} is too long; make the model's shapes simpler")
    return found


def _read(value: Any, whole: Any, depth: int) -> SizeExpression:
    if isinstance(value, int | IntImm):
        return int(value)
    if isinstance(value, Var):
        return str(value.name)
    if isinstance(value, tirx.Cast):
        return _read(value.value, whole, depth)
    operator = _BY_NODE.get(type(value))
    if operator is None:
        raise ValueError(
            f"the extent {whole} has {value}; extents are computed from sizes by "
            f"{', '.join(OPERATORS)}"
        )
    if depth == DEEPEST:
        raise ValueError(f"the extent {whole} is too deep; make the model's shapes simpler")
    both = [_read(side, whole, depth + 1) for side in (value.a, value.b)]
    if operator in DIVISIONS and not is_divisor(both[1]):
        divisor = expression_text(both[1])
        raise ValueError(f"the extent {whole} divides by {divisor}, which is no positive number")
    return [operator, *both]
