"""The attributes of PrimFuncs with records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from tvm import tirx

from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.operator_attributes import OPERATORS_ATTR
from usmp.ops.records.base import QuantizedOp
from usmp.tir.identity import identity

Steps: TypeAlias = "tuple[tuple[QuantizedOp, ...], ...]"
"""The integer operators of a fused PrimFunc, in order. A step has several records if operators
share the code: they compute the same integers, with different scales or tables."""

_MOST_DECODED = 4096
"""Size of the cache of records. A build reads each some hundred times; decoding takes 0.2 ms."""


class _Held:
    """An encoded record in an attribute; equal only to the same object of TVM."""

    def __init__(self, value: Any) -> None:
        self.value, self._identity = value, identity(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self._identity == other._identity

    def __hash__(self) -> int:
        return self._identity


@lru_cache(_MOST_DECODED)
def _decoded(held: _Held) -> QuantizedOp:
    return QuantizedOp.from_json(held.value)


OPERATOR_ATTR: Attribute[QuantizedOp] = Attribute(
    "quantized_operator",
    "PrimFunc of an operator",
    "what an integer operator computes, before equal ones are merged",
    lambda held: _decoded(_Held(held)),
    lambda record: record.as_json(),
)


def operator_of(func: tirx.PrimFunc) -> QuantizedOp | None:
    """Return the record of a PrimFunc that is one operator, before fusion; None if it has none."""
    return OPERATOR_ATTR.of(func)


def operators_of(func: tirx.PrimFunc) -> Steps:
    """Return the integer operators that a PrimFunc computes; none if it has no record."""
    single = operator_of(func)
    if single is not None:
        return ((single,),)
    steps = OPERATORS_ATTR.of(func) or ()
    return tuple(tuple(_decoded(_Held(held)) for held in step) for step in steps)


def with_operators(func: tirx.PrimFunc, steps: Iterable[Sequence[QuantizedOp]]) -> tirx.PrimFunc:
    """Return `func` with the records of these steps, and no others."""
    held = [[operator.as_json() for operator in step] for step in steps]
    func = OPERATOR_ATTR.removed(func)
    return OPERATORS_ATTR.put(func, held) if held else func
