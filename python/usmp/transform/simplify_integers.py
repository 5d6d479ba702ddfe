"""SimplifyIntegers: TVM's StmtSimplify, which leaves the arithmetic of floats as it is.

TVM's simplifier takes floats for real numbers: to it `x - x` is 0, `(x + 1) - x` is 1, and `x == x`
is true, and `not x < y` is `y <= x`. For infinity, NaN and large numbers, these rules are false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, IRModule

from usmp.passes import ModulePass
from usmp.tir.dtypes import dtype_of, is_float
from usmp.tir.nodes import nodes_of

_NAMES: dict[type, str] = {
    tirx.Sub: "usmp.float_subtract",
    tirx.EQ: "usmp.float_equal",
    tirx.NE: "usmp.float_not_equal",
    tirx.LT: "usmp.float_less",
    tirx.LE: "usmp.float_less_equal",
}
"""Operators that the simplifier has rules for -> functions that it has no rules for."""
_OPERATORS = {name: kind for kind, name in _NAMES.items()}
_MIRRORED: dict[type, type] = {tirx.GT: tirx.LT, tirx.GE: tirx.LE}
"""Comparison -> the equal comparison with swapped operands, which the simplifier prefers."""
_HIDDEN = (*_NAMES, *_MIRRORED)


@tvm.transform.module_pass(opt_level=0, name="usmp.SimplifyIntegers")
class SimplifyIntegers(ModulePass):
    """Simplify the integers and conditions of PrimFuncs, and no floats.

    While TVM's pass runs, differences and comparisons of floats are calls of functions that the
    pass does not know.

    Parameters
    ----------
    simplify
        TVM's StmtSimplify, of `s_tir` for PrimFuncs with blocks, else of `tirx`.
    """

    def __init__(self, simplify: tvm.transform.Pass) -> None:
        self.simplify = simplify

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Simplify every PrimFunc."""
        hidden = {
            variable: _mapped(func, _HIDDEN, _as_call)
            for variable, func in mod.functions.items()
            if isinstance(func, tirx.PrimFunc) and any(map(_is_of_floats, _operators(func)))
        }
        if not hidden:
            return self.simplify(mod)
        simplified = self.simplify(IRModule({**mod.functions, **hidden}, attrs=mod.attrs))
        shown = {variable: _mapped(simplified[variable], Call, _as_operator) for variable in hidden}
        return IRModule({**simplified.functions, **shown}, attrs=mod.attrs)


def _operators(func: tirx.PrimFunc) -> list[Any]:
    return [node for kind in _HIDDEN for node in nodes_of(func.body, kind)]


def _is_of_floats(operator: Any) -> bool:
    return is_float(dtype_of(operator.a))


def _mapped(func: tirx.PrimFunc, kind: Any, callback: Callable[[Any], Any]) -> tirx.PrimFunc:
    return func.with_body(tvm_ffi.structural_map(func.body, [(kind, callback)]))


def _as_call(expr: Any) -> tirx.Expr:
    """Return a call in the place of an operator on floats."""
    if not _is_of_floats(expr):
        return expr
    mirrored = _MIRRORED.get(type(expr))
    name, operands = _NAMES[mirrored or type(expr)], (expr.a, expr.b)
    return tirx.call_pure_extern(dtype_of(expr), name, *(operands[::-1] if mirrored else operands))


def _as_operator(call: Call) -> tirx.Expr:
    """Return the operator that `_as_call` replaced by a call; other calls as they are."""
    name = getattr(call.args[0], "value", None) if call.args else None
    if not isinstance(name, str) or name not in _OPERATORS:
        return call
    return _OPERATORS[name](*call.args[1:])
