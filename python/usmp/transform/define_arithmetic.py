"""DefineArithmetic: integer arithmetic that is defined for all operands, in C and in LLVM.

In TIR, and in the models, integers wrap. C and LLVM do not define signed overflow, division by
zero, shifts by too much, and conversions of floating-point numbers outside of an integer type. An
operation that may be undefined becomes a call of a function that is defined for all operands. TVM's
simplifier ignores overflow and lossy conversions, but it leaves calls unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule, Var
from tvm.tirx import Cast

from usmp.analysis.integers.argument_ranges import argument_ranges
from usmp.analysis.integers.integer_ranges import (
    IntegerRanges,
    Range,
    bits_of,
    is_integer,
    is_within,
    type_range,
)
from usmp.analysis.integers.local_ranges import find_ranges
from usmp.passes import ModulePass
from usmp.tir.dtypes import dtype_of
from usmp.tir.intrinsics import arithmetic_function, conversion_function, low_bits_function

_WRAPPING: dict[type, str] = {tirx.Add: "add", tirx.Sub: "subtract", tirx.Mul: "multiply"}
_FUNCTIONS: dict[type, str] = {
    tirx.Div: "divide",
    tirx.Mod: "remainder",
    tirx.FloorDiv: "floor_divide",
    tirx.FloorMod: "floor_modulo",
    tirx.LShift: "shift_left",
    tirx.RShift: "shift_right",
}
_OF_UNSIGNED = {"floor_divide": "divide", "floor_modulo": "remainder"}


@tvm.transform.module_pass(opt_level=0, name="usmp.DefineArithmetic")
class DefineArithmetic(ModulePass):
    """Replace arithmetic that may overflow by calls of functions defined for all operands.

    The pass replaces sums, differences and products of 32 and 64 bits, quotients, remainders,
    shifts and conversions, unless bounds (`usmp.analysis.integers`) show that C and LLVM define the
    result. These bounds include the constants that the Relax `main` passes to a
    PrimFunc. Integers wrap, as in TIR.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        return define_arithmetic(mod)


def define_arithmetic(mod: IRModule) -> IRModule:
    """Rewrite the PrimFuncs of `mod`, whose Relax `main` has their constant arguments."""
    constants = argument_ranges(mod)
    defined = IRModule(mod.functions, attrs=mod.attrs)
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            defined.update_func(variable, _defined(func, constants[variable]))
    return defined


def _defined(func: tirx.PrimFunc, constants: dict[Var, Range]) -> tirx.PrimFunc:
    ranges = find_ranges(func.body, constants)
    callbacks: list[tuple[Any, Callable[[Any], tirx.Expr]]] = [
        (tuple(_WRAPPING), lambda expr: _wrapping(expr, ranges)),
        (tuple(_FUNCTIONS), lambda expr: _called(expr, ranges)),
        (Cast, lambda expr: _converted(expr, ranges)),
    ]
    return func.with_body(tvm_ffi.structural_map(func.body, callbacks))


def _wrapping(expr: Any, ranges: IntegerRanges) -> tirx.Expr:
    """Return a sum, difference or product, as a call of a function if it may overflow.

    With fewer than 32 bits it cannot: C computes in `int`, LLVM wraps.
    """
    dtype = dtype_of(expr)
    if dtype not in ("int32", "int64") or ranges.fits(expr):
        return expr
    function = arithmetic_function(_WRAPPING[type(expr)], dtype)
    return tirx.call_pure_extern(dtype, function, expr.a, expr.b)


def _called(expr: Any, ranges: IntegerRanges) -> tirx.Expr:
    """Return a division or a shift, as a call of a function unless C and LLVM define its result."""
    dtype = dtype_of(expr)
    if not is_integer(dtype) or _is_usual(expr, ranges):
        return expr
    operation = _FUNCTIONS[type(expr)]
    if dtype.startswith("u"):
        operation = _OF_UNSIGNED.get(operation, operation)
    wide = dtype if bits_of(dtype) >= 32 else dtype.rstrip("0123456789") + "32"
    function = arithmetic_function(operation, wide)
    if wide == dtype:
        return tirx.call_pure_extern(wide, function, expr.a, expr.b)
    result = tirx.call_pure_extern(wide, function, Cast(wide, expr.a), Cast(wide, expr.b))
    return _low_bits(dtype, result)


def _is_usual(expr: Any, ranges: IntegerRanges) -> bool:
    """Return whether C and LLVM define the division or shift for all its possible operands."""
    dtype = dtype_of(expr)
    a, b = ranges.of(expr.a), ranges.of(expr.b)
    if isinstance(expr, (tirx.LShift, tirx.RShift)):
        return is_within(b, (0, bits_of(dtype) - 1))
    if dtype.startswith("u") or a[0] > type_range(dtype)[0]:
        return b[0] > 0 or b[1] < 0
    return b[0] > 0 or b[1] < -1


def _converted(expr: Cast, ranges: IntegerRanges) -> tirx.Expr:
    """Return a conversion to an integer, as a call of a function if it may be out of range.

    As on machines, narrow integers are the lowest bits of an int32, and uint32 of an int64.
    """
    target, source = dtype_of(expr), dtype_of(expr.value)
    if not is_integer(target):
        return expr
    if is_integer(source):
        is_kept = is_within(ranges.of(expr.value), type_range(target))
        return expr if is_kept else _low_bits(target, expr.value)
    if not source.startswith(("float", "bfloat")):
        return expr
    low, high, may_be_nan = ranges.of_float(expr.value)
    least, greatest = type_range(target)
    if not may_be_nan and low > least - 1 and high < greatest + 1:
        return expr
    wide = {"uint32": "int64", "uint64": "uint64", "int64": "int64"}.get(target, "int32")
    value = expr.value if source in ("float32", "float64") else Cast("float32", expr.value)
    function = conversion_function(wide, dtype_of(value))
    converted = tirx.call_pure_extern(wide, function, value)
    return converted if wide == target else _low_bits(target, converted)


def _low_bits(dtype: str, value: tirx.Expr) -> tirx.Expr:
    return tirx.call_pure_extern(dtype, low_bits_function(dtype), value)
