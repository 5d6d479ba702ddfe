"""Complex numbers of float32, and fixed-point ones as kissfft rounds them."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.sym import Analyzer

from support.relax_vm import computed
from usmp.ops.signal.complex_arithmetic import Arithmetic, Complex, Steps
from usmp.ops.statements import call_statements
from usmp.tir.nodes import sequence

INT16, INT32, FLOAT = map(Arithmetic, ("int16", "int32", "float32"))


def number(real, imaginary):
    return Complex(tirx.IntImm("int32", real), tirx.IntImm("int32", imaginary))


def value(expression):
    return Analyzer().simplify(expression).value


def parts(result):
    return value(result.real), value(result.imaginary)


def test_sums_and_turns():
    a, b = number(3, 5), number(7, -2)
    assert parts(a + b) == (10, 3)
    assert parts(a - b) == (-4, 7)
    assert parts(a.conjugate) == (3, -5)
    assert parts(a.turned) == (5, -3)


def test_fixed_point_numbers_are_summed_as_int32():
    assert [each.is_fixed for each in (INT16, INT32, FLOAT)] == [True, True, False]
    assert [each.sums for each in (INT16, INT32, FLOAT)] == ["int32", "int32", "float32"]


@pytest.mark.parametrize(
    ("arithmetic", "a", "b", "product"),
    [
        (INT16, 32767, 32767, 32766),
        (INT16, 1, 1 << 14, 1),
        (INT16, 1, (1 << 14) - 1, 0),
        (INT16, -1, 1 << 14, 0),
        (INT16, -3, 1 << 14, -1),
        (INT32, 1 << 30, 1 << 30, 1 << 29),
        (INT32, 1, 1 << 30, 1),
        (INT32, 1, (1 << 30) - 1, 0),
    ],
)
def test_products_are_rounded_to_nearest_halves_up(arithmetic, a, b, product):
    result = arithmetic.product(*(tirx.IntImm("int32", factor) for factor in (a, b)))
    assert value(result) == product
    assert str(result.ty.dtype) == "int32"


def test_parts_of_complex_products_are_rounded_once():
    """Each of the two products in a part is a third of one or less."""
    unit = 1 << 15
    third = unit // 3
    result = INT16.complex_product(number(1, 1), number(third, -third))
    assert parts(result) == (1, 0)
    i = INT16.complex_product(number(100, 200), number(0, unit // 2))
    assert parts(i) == (-100, 50)
    assert parts(INT16.scaled(number(100, -60), tirx.IntImm("int32", unit // 4))) == (25, -15)


def test_fixed_point_numbers_are_divided_by_a_product():
    """The factor is the greatest number over the divisor, so that results are a bit smaller."""
    assert parts(INT16.divided(number(30000, -30000), 2)) == (14999, -14999)
    assert parts(INT16.divided(number(32767, -32768), 4)) == (8191, -8191)
    assert parts(INT32.divided(number(1 << 30, 9), 3)) == (357913941, 3)
    a_float = Complex(tirx.FloatImm("float32", 3.0), tirx.FloatImm("float32", 5.0))
    assert FLOAT.divided(a_float, 4) is a_float


def test_halves():
    assert parts(INT16.halves(number(5, -5))) == (2, -3)
    half = FLOAT.half(tirx.FloatImm("float32", 5.0))
    assert value(half) == 2.5
    assert value(FLOAT.product(*(tirx.FloatImm("float32", f) for f in (1.5, 3.0)))) == 4.5


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_pairs_are_loaded_and_stored_side_by_side(dtype):
    """The numbers change places; a kept one is a number of the type, which wraps."""
    arithmetic = Arithmetic(dtype)

    def body(data, output):
        steps = Steps(arithmetic)
        first, second = (arithmetic.complex(data, 1, index) for index in (0, 1))
        total = steps.keep("total", first + second)
        stores = arithmetic.stores(output, total, 0) + arithmetic.stores(output, first, 1)
        return sequence([*steps.statements, *stores])

    def function(builder, data):
        written = [("output", relax.TensorType((4,), dtype))]
        return call_statements(builder, "pairs", body, [("data", data)], written)

    data = np.array([[9, 9, 9, 9], [30000, 2, 20000, -7]], dtype)
    total = 50000 - 65536 * (dtype == "int16")
    (output,) = computed(function, data)
    assert output.tolist() == [total, -5, 30000, 2]
