"""PrimFuncs that are written the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Call

from usmp.tir.model_operator import single_spans


def hash_of_text(func: tirx.PrimFunc) -> int:
    """Return a number that functions share which are written the same, and seldom others."""
    return int(tvm_ffi.structural_hash(func))


def is_same_text(a: tirx.PrimFunc, b: tirx.PrimFunc) -> bool:
    """Whether two functions are written the same: statements, types, attributes, and what
    structural equality does not see: the names of variables, the spans of the function and its
    calls, and the order of attributes. Other spans tell nothing of a model
    (`usmp.tir.model_operator`)."""
    return bool(tvm_ffi.structural_equal(a, b)) and _unseen(a) == _unseen(b)


def _unseen(func: tirx.PrimFunc) -> list[object]:
    found: list[object] = [_places(func.span), _keys(dict(func.attrs or {}))]

    def on_call(call: Call) -> None:
        if call.span is not None:
            found.append(_places(call.span))

    # Equal structures are walked in the same order.
    named = (tirx.Var, lambda var: found.append(var.name))
    types = [param.ty for param in func.params]
    tvm_ffi.structural_walk(types, named, order="pre")
    tvm_ffi.structural_walk([*func.params, func.body], [named, (Call, on_call)], order="pre")
    return found


def _keys(value: object) -> object:
    """The keys of maps within attributes, in their order."""
    if isinstance(value, Mapping):
        return [(str(key), _keys(inner)) for key, inner in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_keys(inner) for inner in value]
    return None


def _places(span: Any) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (str(one.source_name.name), one.line, one.column, one.end_line, one.end_column)
        for one in single_spans(span)
    )
