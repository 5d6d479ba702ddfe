"""SpecializeRescaling: rescale small values by constant factors in few steps.

TFLite's rescaling is defined for all values and factors: it shifts to the left or to the right, and
rounds twice. If factor and shift are constants and twice the value still fits in 32 bits, then a
rounding, a zero point and a shift to the right are one sum and one shift
(`RESCALE_RECORD`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, IRModule, StringImm, Var
from tvm.tirx import Cast, IntImm

from usmp.analysis.integers.argument_ranges import argument_ranges
from usmp.analysis.integers.integer_ranges import IntegerRanges, Range, is_within, type_range
from usmp.analysis.integers.local_ranges import find_ranges
from usmp.passes import ModulePass
from usmp.tir.dtypes import dtype_of
from usmp.tir.intrinsics import (
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_HIGH,
    RESCALE_RECORD,
)
from usmp.tir.op_names import op_name

_Ranges: TypeAlias = Callable[[], IntegerRanges]

_SMALL: Range = (1 - 2**30, 2**30 - 1)
"""Values that fit in 32 bits when they are doubled."""
_GREATEST_SHIFT = 22
_ONE_HALF = 2**30
"""The multiplier of factors that are powers of two."""


@tvm.transform.module_pass(opt_level=0, name="usmp.SpecializeRescaling")
class SpecializeRescaling(ModulePass):
    """Rescale by constant factors in as few steps as the bounds of the values allow.

    A call of `MULTIPLY_BY_QUANTIZED_MULTIPLIER` becomes one of `RESCALE_RECORD`, which includes the
    zero point that is added after the call, or after the clamping of its result. Without a shift to
    the right, it becomes one of `MULTIPLY_HIGH`. If the factor is a power of two and leaves no
    remainder, it becomes a product or a shift. Results stay bit-exact.

    The pass needs |value| < 2**30 <= multiplier, and a shift to the right by at most 22; other
    calls stay. The constants that the Relax `main` passes to a PrimFunc are known there.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        constants = argument_ranges(mod)
        specialized = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                specialized.update_func(variable, _specialized(func, constants[variable]))
        return specialized


def _specialized(func: tirx.PrimFunc, constants: dict[Var, Range]) -> tirx.PrimFunc:
    # Compute the bounds lazily, because few functions have calls that need them.
    ranges = cache(lambda: find_ranges(func.body, constants))
    callbacks: list[tuple[Any, Any]] = [
        (Call, lambda call: _rescaled(call, ranges)),
        ((tirx.Add, tirx.Sub), lambda expr: _with_zero_point(expr, ranges)),
    ]
    return func.with_body(tvm_ffi.structural_map(func.body, callbacks))


def _rescaled(call: Call, ranges: _Ranges) -> tirx.Expr:
    if not _calls(call, MULTIPLY_BY_QUANTIZED_MULTIPLIER):
        return call
    _, value, multiplier, shift = call.args
    if not isinstance(shift, IntImm) or not _is_normalized(multiplier):
        return call
    left, right = max(int(shift), 0), max(-int(shift), 0)
    low, high = ranges().of(value)
    if not is_within((low << left, high << left), _SMALL):
        return call
    if int(multiplier) == _ONE_HALF and _zero_bits(value) + left > right:
        return _times_power(value, int(shift) - 1)
    if right > _GREATEST_SHIFT:
        return call
    shifted = _times_power(value, left)
    if not right:
        return tirx.call_pure_extern("int32", MULTIPLY_HIGH, shifted, multiplier)
    return _record(shifted, multiplier, right, 1)


def _is_normalized(multiplier: tirx.Expr) -> bool:
    return isinstance(multiplier, IntImm) and int(multiplier) >= _ONE_HALF


def _calls(expr: tirx.Expr, function: str) -> bool:
    return (
        isinstance(expr, Call)
        and op_name(expr) == "tirx.call_pure_extern"
        and isinstance(expr.args[0], StringImm)
        and expr.args[0].value == function
    )


def _record(value: tirx.Expr, multiplier: IntImm, right: int, rounding: int) -> tirx.Expr:
    numbers = (IntImm("int32", number) for number in (right, rounding))
    return tirx.call_pure_extern("int32", RESCALE_RECORD, value, multiplier, *numbers)


def _zero_bits(expr: tirx.Expr) -> int:
    """Return the number of lowest bits that are known to be zero."""
    if isinstance(expr, IntImm):
        number = int(expr)
        return (number & -number).bit_length() - 1 if number else 31
    if isinstance(expr, tirx.Mul):
        return min(_zero_bits(expr.a) + _zero_bits(expr.b), 31)
    if isinstance(expr, (tirx.Add, tirx.Sub)):
        return min(_zero_bits(expr.a), _zero_bits(expr.b))
    return _zero_bits(expr.value) if isinstance(expr, Cast) else 0


def _times_power(value: tirx.Expr, exponent: int) -> tirx.Expr:
    """Return `value` times a power of two that leaves no remainder."""
    right = -exponent
    if exponent == 0:
        return value
    if exponent > 0:
        return value * IntImm("int32", 1 << exponent)
    if isinstance(value, IntImm):
        return IntImm("int32", int(value) >> right)
    if isinstance(value, tirx.Mul) and isinstance(value.b, IntImm):
        if _zero_bits(value.b) >= right:
            return value.a * _times_power(value.b, exponent)
    elif isinstance(value, (tirx.Add, tirx.Sub)):
        terms = (value.a, value.b)
        if min(map(_zero_bits, terms)) >= right:
            return type(value)(*(_times_power(term, exponent) for term in terms))
    return value >> IntImm("int32", right)


def _with_zero_point(expr: Any, ranges: _Ranges) -> tirx.Expr:
    """Return a sum or difference, with a constant merged into the rescaling if possible."""
    if not isinstance(expr.b, IntImm) or dtype_of(expr) != "int32":
        return expr
    zero_point = int(expr.b) if isinstance(expr, tirx.Add) else -int(expr.b)
    added = _added(expr.a, zero_point, ranges)
    return expr if added is None else added


def _added(expr: Any, zero_point: int, ranges: _Ranges) -> tirx.Expr | None:
    """Return a sum with a zero point that is merged into the rescaling; None if impossible."""
    if isinstance(expr, (tirx.Min, tirx.Max)) and isinstance(expr.b, IntImm):
        limit = int(expr.b) + zero_point
        inner = _added(expr.a, zero_point, ranges)
        if inner is None or not is_within((limit, limit), type_range("int32")):
            return None
        return type(expr)(inner, IntImm("int32", limit))
    if _calls(expr, MULTIPLY_HIGH):
        total = expr + IntImm("int32", zero_point)
        return total if ranges().fits(total) else None
    if not _calls(expr, RESCALE_RECORD) or not isinstance(expr.args[3], IntImm):
        return None
    _, value, multiplier, right, rounding = expr.args
    added = int(rounding) + 2 * zero_point
    # Half of the shifted constant plus the high product (at most 2**30) must not overflow.
    fits = abs(added << int(right)) <= 2**31 - 4
    return _record(value, multiplier, int(right), added) if fits else None
