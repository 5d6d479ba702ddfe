"""What operators require of their tensors and options."""

from __future__ import annotations

import numpy as np
import pytest
import tflite

from support.tflite_builder import Graph, options, per_tensor, write_model
from usmp.frontend.tflite import options as checks
from usmp.frontend.tflite.file.graph import operators_of
from usmp.support.errors import UnsupportedModelError

SAME, VALID = tflite.Padding.SAME, tflite.Padding.VALID


def operator(inputs, outputs, made=None, code="ADD"):
    """An operator of tensors: a shape, or its fields; arrays are constants, None is left out."""
    graph = Graph()

    def tensor(given):
        if given is None:
            return -1
        if isinstance(given, np.ndarray):
            return graph.constant(given)
        if isinstance(given, dict):
            return graph.tensor(**given)
        return graph.tensor(given, "float32")

    graph.operator(code, list(map(tensor, inputs)), list(map(tensor, outputs)), made)
    model = tflite.Model.GetRootAsModel(write_model(graph), 0)
    [found] = operators_of(model, model.Subgraphs(0))
    return found


def is_taken(check, *arguments):
    try:
        check(*arguments)
    except UnsupportedModelError as error:
        assert str(error).startswith("operator 0 (")
        return False
    return True


def ints(*numbers):
    return np.array(numbers, np.int32)


PLAIN = operator([(2, 3)], [(2, 3)])


def test_axes():
    assert [checks.positive_axis(PLAIN, axis, 3) for axis in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert not is_taken(checks.positive_axis, PLAIN, 3, 3)
    assert not is_taken(checks.positive_axis, PLAIN, -4, 3)


def test_activations():
    kinds = tflite.ActivationFunctionType
    assert checks.fused_activation(kinds.NONE) == "NONE"
    assert checks.fused_activation(kinds.RELU6) == "RELU6"
    assert checks.fused_activation(99) == "99"


def test_numbers_of_tensors():
    assert is_taken(checks.require_tensors, PLAIN, 1, 1)
    assert not is_taken(checks.require_tensors, PLAIN, 2, 1)
    assert not is_taken(checks.require_tensors, PLAIN, 1, 0)
    assert is_taken(checks.require_tensors, operator([(2,), None], [(2,)]), 2, 1)
    assert not is_taken(checks.require_tensors, operator([(2, 0)], [(2,)]), 1, 1)
    assert not is_taken(checks.require_tensors, operator([(2,)], [(0,)]), 1, 1)


def test_types_ranks_and_shapes():
    x = PLAIN.input(0)
    assert is_taken(checks.require_types, PLAIN, x, "input", ("int8", "float32"))
    assert not is_taken(checks.require_types, PLAIN, x, "input", ("int8",))
    assert is_taken(checks.require_rank, PLAIN, x, "input", (1, 2))
    assert not is_taken(checks.require_rank, PLAIN, x, "input", (1, 3))
    assert is_taken(checks.require_shape, PLAIN, x, "input", (2, 3))
    assert not is_taken(checks.require_shape, PLAIN, x, "input", (3, 2))
    assert is_taken(checks.require_same_shape, PLAIN, x, PLAIN.output)
    other = operator([(2, 3), (3, 1), (1, 3), (4, 1)], [(3, 2)])
    assert not is_taken(checks.require_same_shape, other, other.input(0), other.output)
    assert is_taken(checks.require_broadcast, other, other.input(1), other.input(2))
    assert not is_taken(checks.require_broadcast, other, other.input(0), other.input(3))


@pytest.mark.parametrize(
    ("indices", "axes", "expected"),
    [
        (ints(0, 3), [0], True),
        (ints(0, 4), [0], False),
        (ints(-1, 0), [0], False),
        (ints(0, 4), [1], True),
        (np.array([[3, 4]], np.int32), [0, 1], True),
        (np.array([[4, 3]], np.int32), [0, 1], False),
        ((2,), [0], True),
    ],
)
def test_indices_are_inside(indices, axes, expected):
    made = operator([(4, 5), indices], [(2,)])
    assert is_taken(checks.require_inside, made, made.input(1), (4, 5), axes) == expected


def test_shapes_that_are_inputs():
    assert is_taken(checks.require_shape_operand, operator([(6,), ints(2, 3)], [(2, 3)]), 1)
    assert not is_taken(checks.require_shape_operand, operator([(6,), ints(3, 2)], [(2, 3)]), 1)
    assert is_taken(checks.require_shape_operand, operator([(6,), (2,)], [(2, 3)]), 1)


@pytest.mark.parametrize(
    ("data", "weight", "output", "expected"),
    [
        ((2, 3), (4, 3), (2, 4), (2, 3, 4)),
        ((2, 2, 3), (4, 6), (2, 4), (2, 6, 4)),
        ((2, 5, 3), (4, 3), (2, 5, 4), (10, 3, 4)),
        ((2, 3), (4, 3), (4,), None),
        ((2, 3), (4, 4), (2, 4), None),
        ((2, 3), (4, 3), (4, 2), None),
        ((2, 3), (4, 3), (3, 4), None),
        ((2, 3), (4, 0), (2, 4), None),
        ((2, 3), (4, 3, 1), (2, 4), None),
    ],
)
def test_rows_of_fully_connected(data, weight, output, expected):
    plain = options("FullyConnectedOptions", weights_format=0)
    made = operator([data, weight], [output], plain, "FULLY_CONNECTED")
    if expected is None:
        assert not is_taken(checks.dense_shape, made)
    else:
        assert checks.dense_shape(made) == expected
    shuffled = options("FullyConnectedOptions", weights_format=1)
    made = operator([data, weight], [output], shuffled, "FULLY_CONNECTED")
    assert not is_taken(checks.dense_shape, made)


def quantized(scale=None, zero_point=0, dtype="int8"):
    made = None if scale is None else per_tensor(scale, zero_point)
    return {"shape": (2,), "dtype": dtype, "quantization": made}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (quantized(), quantized(), True),
        (quantized(0.5, 1), quantized(0.5, 1), True),
        (quantized(0.5, 1), quantized(0.5, 2), False),
        (quantized(0.5, 1), quantized(0.25, 1), False),
        (quantized(0.5, 1), quantized(), False),
        (quantized(), quantized(0.5, 1), False),
    ],
)
def test_quantization_is_the_same(one, other, expected):
    made = operator([one], [other])
    arguments = made, made.input(0), made.output
    assert is_taken(checks.require_same_quantization, *arguments) == expected


def test_int16_has_no_zero_point():
    for first, second, expected in (
        (quantized(0.5, 0, "int16"), quantized(0.5, 0, "int16"), True),
        (quantized(0.5, 0, "int16"), quantized(0.5, 3, "int16"), False),
        (quantized(0.5, 3), quantized(0.5, 3), True),
    ):
        made = operator([first], [second])
        tensors = made.input(0), made.output
        assert is_taken(checks.require_symmetric_int16, made, tensors) == expected


def test_divisors():
    for divisor, expected in (
        (ints(1, 2), True),
        (ints(1, 0), False),
        (np.array([0], np.uint8), False),
        (np.array([0.0], np.float32), True),
        ((2,), True),
    ):
        assert is_taken(checks.require_divisor, operator([(2,), divisor], [(2,)])) == expected


@pytest.mark.parametrize(
    ("data", "kernel", "stride", "dilation", "padding", "expected"),
    [
        (8, 3, 1, 1, SAME, (8, 1, 1)),
        (8, 3, 2, 1, SAME, (4, 0, 1)),
        (9, 3, 2, 1, SAME, (5, 1, 1)),
        (8, 3, 3, 1, SAME, (3, 0, 1)),
        (8, 3, 1, 2, SAME, (8, 2, 2)),
        (8, 1, 2, 1, SAME, (4, 0, 0)),
        (8, 3, 1, 1, VALID, (6, 0, 0)),
        (8, 3, 2, 1, VALID, (3, 0, 0)),
        (8, 3, 1, 3, VALID, (2, 0, 0)),
        (3, 3, 1, 1, VALID, (1, 0, 0)),
        (2, 3, 1, 1, VALID, None),
        (8, 3, 1, 1, 7, None),
    ],
)
def test_sides_of_windows(data, kernel, stride, dilation, padding, expected):
    arguments = PLAIN, data, kernel, stride, dilation, padding
    if expected is None:
        assert not is_taken(checks.window_side, *arguments)
    else:
        assert checks.window_side(*arguments) == expected


def test_windows():
    made = operator([(1, 8, 9, 2)], [(1, 4, 5, 2)])
    window = checks.make_window(made, (3, 5), (2, 2), (1, 1), SAME)
    assert (window.data, window.output, window.padding) == ((8, 9), (4, 5), (0, 2))
    assert (window.kernel, window.strides, window.dilations) == ((3, 5), (2, 2), (1, 1))
    assert not is_taken(checks.make_window, made, (3, 5), (2, 1), (1, 1), SAME)
    assert not is_taken(checks.make_window, made, (3, 5), (2, 2), (1, 1), VALID)
    for zeros in (((0, 5), (2, 2), (1, 1)), ((3, 5), (0, 2), (1, 1)), ((3, 5), (2, 2), (0, 1))):
        assert not is_taken(checks.make_window, made, *zeros, SAME)


def test_windows_reach_over_15_bits():
    longest = 2**15 - 1
    made = operator([(1, 8, 9, 2)], [(1, 8, 1, 2)])
    assert is_taken(checks.make_window, made, (longest, 1), (1, longest), (1, 1), SAME)
    assert is_taken(checks.make_window, made, (2, 1), (1, 9), (longest - 1, 1), SAME)
    for kernel, strides, dilations in (
        ((longest + 1, 1), (1, 9), (1, 1)),
        ((2, 1), (1, 9), (longest, 1)),
        ((1, 1), (1, longest + 1), (1, 1)),
    ):
        assert not is_taken(checks.make_window, made, kernel, strides, dilations, SAME)
