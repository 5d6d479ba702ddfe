"""Arithmetic for LLVM: the values of C's functions, and nothing that is undefined on the way.

LLVM evaluates both sides of a Select, and so does what evaluates the TIR here.
"""

from __future__ import annotations

import operator
from itertools import product

import pytest
from tvm import tirx
from tvm.ir import Call
from tvm.target.codegen import llvm_lookup_intrinsic_id

from usmp.codegen.llvm.arithmetic import LLVM_ARITHMETIC
from usmp.tir.intrinsics import arithmetic_function, conversion_function

_COMPARISONS = {tirx.EQ: operator.eq, tirx.NE: operator.ne, tirx.LT: operator.lt}
_SUM_OF = {tirx.Add: operator.add, tirx.Sub: operator.sub, tirx.Mul: operator.mul}


def limits(dtype):
    bits = int(dtype[-2:])
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrapped(value, dtype):
    least, _ = limits(dtype)
    return (value - least) % 2 ** int(dtype[-2:]) + least


def value_of(expression, known):
    """The value of TIR; fails where C or LLVM would not define it."""

    def of(part):
        return value_of(part, known)

    dtype = str(expression.ty.dtype)
    if isinstance(expression, tirx.IntImm):
        return wrapped(int(expression.value), dtype) if dtype[-1].isdigit() else expression.value
    if isinstance(expression, tirx.Var):
        return known[str(expression.name)]
    if isinstance(expression, tirx.Select):
        chosen = of(expression.condition), of(expression.true_value), of(expression.false_value)
        return chosen[1] if chosen[0] else chosen[2]
    if isinstance(expression, tirx.Cast):
        value = of(expression.value)
        return int(value) if isinstance(value, bool) else wrapped(value, dtype)
    a, b = of(expression.a), of(expression.b)
    if isinstance(expression, tirx.Or | tirx.And):
        return (a or b) if isinstance(expression, tirx.Or) else (a and b)
    if type(expression) in _COMPARISONS:
        return _COMPARISONS[type(expression)](a, b)
    if type(expression) in _SUM_OF:
        return wrapped(_SUM_OF[type(expression)](a, b), dtype)
    if isinstance(expression, tirx.Div | tirx.Mod):
        assert b != 0, "a division by zero"
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert limits(dtype)[0] <= quotient <= limits(dtype)[1], "a quotient that overflows"
        return quotient if isinstance(expression, tirx.Div) else a - quotient * b
    assert 0 <= b < int(dtype[-2:]), "a shift by too much"
    if isinstance(expression, tirx.RShift):
        return a >> b
    assert dtype.startswith("u"), "a shift of a signed number to the left"
    return wrapped(a << b, dtype)


def expected(name, a, b, dtype):
    """What the function of C gives."""
    bits = int(dtype[-2:])
    if name in SUMS:
        return {"add": a + b, "subtract": a - b, "multiply": a * b}[name]
    if name.startswith("shift"):
        count = wrapped(b, f"uint{bits}")
        if name == "shift_left":
            return a << count if count < bits else 0
        return a >> min(count, bits if a >= 0 else bits - 1)
    if b == 0:
        return 0
    floor, rest = divmod(a, b)
    if name.startswith("floor"):
        return floor if name == "floor_divide" else rest
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if name == "divide" else a - quotient * b


SUMS = ("add", "subtract", "multiply")
SHARED = ("divide", "remainder", "shift_left", "shift_right")
CASES = [
    *((name, "int32") for name in SUMS),
    *(
        (name, f"int{bits}")
        for name in (*SHARED, "floor_divide", "floor_modulo")
        for bits in (32, 64)
    ),
    *((name, f"uint{bits}") for name in SHARED for bits in (32, 64)),
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values_are_those_of_c(name, dtype):
    compute, types = LLVM_ARITHMETIC[arithmetic_function(name, dtype)]
    assert types == (dtype, dtype)
    least, greatest = limits(dtype)
    bits = int(dtype[-2:])
    edges = {0, 1, 2, 3, 7, bits - 1, bits, bits + 1, greatest, greatest - 1, least, least + 1}
    edges |= set() if dtype.startswith("u") else {-1, -2, -3, -7, -bits}
    variables = [tirx.Var(each, dtype) for each in "ab"]
    expression = compute(None, *variables)
    for a, b in product(sorted(edges), repeat=2):
        wanted = wrapped(expected(name, a, b, dtype), dtype)
        assert value_of(expression, {"a": a, "b": b}) == wanted, (a, b)


@pytest.mark.parametrize("target", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_conversions_saturate(target, source):
    compute, types = LLVM_ARITHMETIC[conversion_function(target, source)]
    assert types == (source,)
    converted = compute(None, tirx.Var("x", source))
    assert isinstance(converted, Call) and str(converted.ty.dtype) == target
    intrinsic = "llvm.fptoui.sat" if target == "uint64" else "llvm.fptosi.sat"
    assert int(converted.args[0]) == llvm_lookup_intrinsic_id(intrinsic)


def test_there_are_no_other_functions():
    assert len(LLVM_ARITHMETIC) == len(CASES) + 6
