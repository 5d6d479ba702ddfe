"""Operators that stand alone: how many elements a call computes."""

from __future__ import annotations

import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.objects.schedule import ROW_SCHEDULE_ATTR
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.mve.elementwise import mve_elementwise_kernel
from usmp.ops.quantized.activation.activations import abs_, clamp, leaky_relu, relu
from usmp.ops.quantized.arithmetic import (
    add,
    maximum,
    minimum,
    multiply_elements,
    squared_difference,
    subtract,
)
from usmp.ops.quantized.conversion import requantize
from usmp.ops.quantized.rescaling.parameters import OutputLimits, Quantization
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

FIRST, SECOND, OUTPUT = (
    Quantization("int8", (s,), (z,)) for s, z in ((0.5, -3), (0.7, 4), (40, 5))
)


def kernel_of_function(make, *shapes, core="cortex-m55"):
    builder = relax.BlockBuilder()
    variables = [
        relax.Var(n, relax.TensorType(s, "int8")) for n, s in zip("ab", shapes, strict=False)
    ]
    with builder.function("main", variables):
        builder.emit_func_output(make(builder, *variables))
    mod: IRModule = builder.get()
    (func,) = (f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc))
    constants = (None,) * (len(func.params) - 1)
    return mve_elementwise_kernel(OperatorCall(func, constants), CORES[core])


def kernel_of(operator, first, second, core="cortex-m55"):
    quantizations = (FIRST, SECOND, OUTPUT)

    def make(builder, left, right):
        return operator(builder, left, right, quantizations, OUTPUT.limits())

    return kernel_of_function(make, first, second, core=core)


def calls_of(kernel):
    """The functions, and how many elements each computes."""
    return calls_in(kernel.func)


def calls_in(func):
    calls = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    at = {"tvmgen_mve_requantize": 3, "tvmgen_mve_max_pool": 6, "tvmgen_mve_fill": 2}
    return [(c.args[0].value, int(c.args[at.get(c.args[0].value, 4)])) for c in calls]


@pytest.mark.parametrize(
    ("second", "elements"), [((2, 3, 20), 120), ((20,), 20), ((1, 3, 20), 60), ((3, 20), 60)]
)
def test_elements_of_a_call(second, elements):
    assert calls_of(kernel_of(add, (2, 3, 20), second)) == [("tvmgen_mve_add", elements)]
    assert calls_of(kernel_of(subtract, (2, 3, 20), second)) == [("tvmgen_mve_add", elements)]
    product = kernel_of(multiply_elements, (2, 3, 20), second)
    assert calls_of(product) == [("tvmgen_mve_multiply", elements)]


@pytest.mark.parametrize(
    ("second", "elements"), [((2, 3, 1), [20, 20]), ((2, 1, 1), [60, 60]), ((1,), [120, 120])]
)
def test_one_element_is_repeated(second, elements):
    expected = list(zip(["tvmgen_mve_fill", "tvmgen_mve_add"], elements, strict=True))
    assert calls_of(kernel_of(add, (2, 3, 20), second)) == expected
    assert calls_of(kernel_of(add, second, (2, 3, 20))) == expected


def test_many_elements_are_computed_in_parts_if_one_is_repeated():
    expected = [("tvmgen_mve_fill", 128), ("tvmgen_mve_add", 128), ("tvmgen_mve_add", 44)]
    assert calls_of(kernel_of(add, (30, 10), (1,))) == expected


@pytest.mark.parametrize(
    ("operator", "function"),
    [(maximum, "tvmgen_mve_maximum"), (minimum, "tvmgen_mve_minimum")],
)
def test_greater_and_lesser_elements(operator, function):
    kernel = kernel_of_function(lambda b, x, y: operator(b, x, y, FIRST), (6, 20), (6, 20))
    assert calls_of(kernel) == [(function, 120)]


@pytest.mark.parametrize(
    ("make", "function"),
    [
        (lambda b, x: requantize(b, x, FIRST, SECOND), "tvmgen_mve_requantize"),
        (lambda b, x: relu(b, x, FIRST, SECOND, SECOND.limits()), "tvmgen_mve_requantize"),
        (lambda b, x: clamp(b, x, OutputLimits("int8", -5, 90), FIRST), "tvmgen_mve_max_pool"),
        (lambda b, x: leaky_relu(b, x, FIRST, SECOND, 0.1), "tvmgen_mve_look_up"),
    ],
)
def test_functions_of_one_element(make, function):
    assert calls_of(kernel_of_function(make, (6, 20))) == [(function, 120)]


def test_a_way_by_rows():
    rows = ROW_SCHEDULE_ATTR.of(kernel_of(add, (1, 6, 5, 20), (1, 6, 5, 20)).func)
    assert int(rows.body.extent) == 6
    assert calls_in(rows) == [("tvmgen_mve_add", 100)]


def test_a_row_of_one_element_that_is_repeated():
    rows = ROW_SCHEDULE_ATTR.of(kernel_of(add, (1, 6, 5, 20), (1,)).func)
    assert int(rows.body.extent) == 6
    assert calls_in(rows) == [("tvmgen_mve_fill", 100), ("tvmgen_mve_add", 100)]


@pytest.mark.parametrize(
    ("first", "second"), [((6, 5, 20), (5, 20)), ((6, 15), (6, 15)), ((1, 120), (1, 120))]
)
def test_no_other_way_by_rows(first, second):
    """There is a loop over rows; a row has too few elements; there is no row."""
    assert ROW_SCHEDULE_ATTR.of(kernel_of(add, first, second).func) is None


def test_others_stay():
    assert kernel_of(add, (2, 3, 20), (2, 3, 20), "cortex-m7") is None
    assert kernel_of(add, (2, 3, 5), (2, 1, 5)) is None
    assert kernel_of(squared_difference, (2, 3, 20), (2, 3, 20)) is None
    assert kernel_of_function(lambda b, x: abs_(b, x, FIRST, SECOND), (6, 20)) is None
