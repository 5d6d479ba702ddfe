"""Bounds of the constants that PrimFuncs are called with."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, Var
from tvm.tirx import PrimFunc

from usmp.analysis.integers.integer_ranges import Range, hull
from usmp.tir.nodes import fields_of, nodes_of
from usmp.tir.op_names import op_name

_CALLS = ("relax.call_tir", "relax.call_tir_inplace")


def argument_ranges(mod: IRModule) -> dict[GlobalVar, dict[Var, Range]]:
    """Return, for each PrimFunc, the element bounds of the parameters that are integer constants in
    every call from a Relax function."""
    ranges: dict[GlobalVar, list[Range | None]] = {}
    for func in mod.functions.values():
        if not isinstance(func, relax.Function):
            continue
        for call in nodes_of(func.body, Call):
            if op_name(call) in _CALLS:
                _join(ranges, call.args[0], list(map(_range, fields_of(call.args[1]))))
    return {
        variable: _known(func, ranges.get(variable, []))
        for variable, func in mod.functions.items()
        if isinstance(func, PrimFunc)
    }


def _known(func: PrimFunc, ranges: list[Range | None]) -> dict[Var, Range]:
    by_param = zip(func.params, ranges, strict=False)
    return {param: values for param, values in by_param if values is not None}


def _range(expr: relax.Expr) -> Range | None:
    if not isinstance(expr, GenericConst):
        return None
    values: np.ndarray = expr.value.numpy()
    if values.dtype.kind not in "iu" or values.size == 0:
        return None
    return int(values.min()), int(values.max())


def _join(
    joined: dict[GlobalVar, list[Range | None]], callee: GlobalVar, ranges: list[Range | None]
) -> None:
    if callee not in joined:
        joined[callee] = ranges
        return
    if len(joined[callee]) != len(ranges):
        # Argument counts differ, as for a tuple passed whole or by its elements: assume nothing.
        joined[callee] = []
        return
    joined[callee] = [
        None if a is None or b is None else hull(a, b)
        for a, b in zip(joined[callee], ranges, strict=True)
    ]
