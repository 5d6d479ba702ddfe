"""The records that PrimFuncs hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tvm import tirx

from usmp.objects.attributes import OPERATOR_ATTR, OPERATORS_ATTR
from usmp.ops.records.base import QuantizedOp

Steps: TypeAlias = "tuple[tuple[QuantizedOp, ...], ...]"
"""What a fused PrimFunc computes, one integer operator after the other. A step has several records
if operators share the code: they compute the same integers, at other scales or by other tables."""


def operator_of(func: tirx.PrimFunc) -> QuantizedOp | None:
    """Return the record of a PrimFunc that is one operator, before fusion; None if it has none."""
    held = func.attrs.get(OPERATOR_ATTR) if func.attrs else None
    return None if held is None else QuantizedOp.from_json(held)


def operators_of(func: tirx.PrimFunc) -> Steps:
    """Return the integer operators that a PrimFunc computes; none if it has no record."""
    single = operator_of(func)
    if single is not None:
        return ((single,),)
    steps = func.attrs.get(OPERATORS_ATTR) if func.attrs else None
    return tuple(tuple(QuantizedOp.from_json(held) for held in step) for step in steps or ())


def with_operators(func: tirx.PrimFunc, steps: Iterable[Sequence[QuantizedOp]]) -> tirx.PrimFunc:
    """Return `func` with these steps and no other record."""
    held = [[operator.as_json() for operator in step] for step in steps]
    if func.attrs and OPERATOR_ATTR in func.attrs:
        func = func.without_attr(OPERATOR_ATTR)
    return func.with_attr(OPERATORS_ATTR, held) if held else func
