"""Equality of PrimFuncs that includes names of variables, spans and the order of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Call

from usmp.tir.model_operator import single_spans


def hash_of_text(func: tirx.PrimFunc) -> int:
    """Return a structural hash, which is equal for functions of the same text."""
    return int(tvm_ffi.structural_hash(func))


def is_same_text(a: tirx.PrimFunc, b: tirx.PrimFunc) -> bool:
    """Return whether two functions are equal, including parts that structural equality ignores:
    names of variables, spans of the function and its calls, and the order of attributes. Other
    spans are ignored, because they have no operators of a model (`usmp.tir.model_operator`)."""
    return bool(tvm_ffi.structural_equal(a, b)) and _unseen(a) == _unseen(b)


def _unseen(func: tirx.PrimFunc) -> list[object]:
    parts: list[object] = [_places(func.span), _keys(dict(func.attrs or {}))]

    def on_call(call: Call) -> None:
        if call.span is not None:
            parts.append(_places(call.span))

    # The lists are comparable, because equal structures are walked in the same order.
    named = (tirx.Var, lambda var: parts.append(var.name))
    types = [param.ty for param in func.params]
    tvm_ffi.structural_walk(types, named, order="pre")
    tvm_ffi.structural_walk([*func.params, func.body], [named, (Call, on_call)], order="pre")
    return parts


def _keys(value: object) -> object:
    """Return the keys of nested maps in attributes, in order."""
    if isinstance(value, Mapping):
        return [(str(key), _keys(inner)) for key, inner in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_keys(inner) for inner in value]
    return None


def _places(span: Any) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (str(part.source_name.name), part.line, part.column, part.end_line, part.end_column)
        for part in single_spans(span)
    )
