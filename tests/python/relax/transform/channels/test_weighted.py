"""Convolutions and matrix products: what their channels hold, need, and are without others."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from usmp.ops import quantized
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)
from usmp.ops.records import operator_of
from usmp.relax.transform.channels.channel_operator import Kept, Read, RecordedCall, Tied
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.weighted import weighted

SCALE = Quantization("int8", (1.0,), (0,))
LIMITS = OutputLimits("int8", -128, 127)
ONE = Rescale((QuantizedMultiplier(1 << 30, 1),), SCALE, LIMITS)
NHWC, NCHW = Layout("NHWC"), Layout("NCHW")
WINDOW = Window((2, 2), (1, 1), (1, 1), (1, 1), (0, 0), (2, 2))
LEAST, GREATEST = np.array([4, -3, 0]), np.array([4, 5, 0])


def tensor(*shape: int) -> relax.Var:
    return relax.Var("x", relax.TensorType(shape, "int8"))


def array(values, dtype=np.int8) -> np.ndarray:
    return np.array(values, dtype)


def recorded(make) -> RecordedCall:
    builder = relax.BlockBuilder()
    call = make(builder)
    func = builder.get()[call.args[0]]
    return RecordedCall(relax.BlockBuilder().normalize(call), operator_of(func), func)


def ends(operator) -> list[tuple[int, int]]:
    return [*zip(operator.output.least.tolist(), operator.output.greatest.tolist(), strict=True)]


def constants(call) -> list[list]:
    """The weight and the bias of a call."""
    return [field.value.numpy().tolist() for field in call.args[1].fields[1:3]]


def rebuilt(operator, x, operand, output) -> list[list]:
    kept = Kept((None if operand is None else np.array(operand),), np.array(output))
    return constants(operator.rebuild(relax.BlockBuilder(), [x], kept))


MATRIX = array([[1, 0, 2], [0, 1, 0], [1, 0, 0]])
BIAS = array([10, 20, 30], np.int32)


def product(x) -> RecordedCall:
    return recorded(lambda b: quantized.fully_connected(b, x, MATRIX, BIAS, SCALE, SCALE, ONE))


def test_a_product_with_a_matrix():
    x = tensor(1, 3)
    operator = weighted({x: ChannelRanges(1, LEAST, GREATEST)}, product(x))
    assert ends(operator) == [(14, 14), (17, 25), (34, 34)]
    assert operator.output.axis == 1 and not operator.fixed.any()
    assert operator.operands[0].same_as(x)
    [relation] = operator.relations
    assert isinstance(relation, Read)
    assert relation.needs.tolist() == [[False] * 3, [False, True, False], [False] * 3]
    # Constant outputs are their bias.
    assert rebuilt(operator, tensor(1, 1), [1], [0, 1, 2]) == [[[0], [1], [0]], [14, 20, 34]]
    assert rebuilt(operator, x, None, [1]) == [[[0, 1, 0]], [20]]


def test_a_product_of_unknown_channels():
    x = tensor(1, 3)
    operator = weighted({}, product(x))
    assert operator.relations == (None,)
    assert ends(operator) == [(-128, 127), (-108, 127), (-98, 127)]


def image(weight, bias, layout=NHWC, zero_point: int = 0, groups_of: int | None = None):
    shape = (1, 2, 2, 3) if layout is NHWC else (1, 3, 2, 2)
    x = tensor(*shape)
    before = Quantization("int8", (1.0,), (zero_point,))
    make = quantized.conv2d if weight.ndim == 4 else quantized.depthwise_conv2d
    call = recorded(lambda b: make(b, x, weight, bias, WINDOW, before, ONE, layout, SCALE, layout))
    return x, call


@pytest.mark.parametrize(("layout", "axis"), [(NHWC, 3), (NCHW, 1)])
def test_a_convolution(layout, axis):
    x, call = image(MATRIX.reshape(3, 1, 1, 3), BIAS, layout)
    operator = weighted({x: ChannelRanges(axis, LEAST, GREATEST)}, call)
    assert ends(operator) == [(14, 14), (17, 25), (34, 34)]
    assert operator.output.axis == axis and not operator.fixed.any()
    assert operator.relations[0].needs.tolist() == [[False] * 3, [False, True, False], [False] * 3]
    smaller = tensor(*(1 if n == axis else e for n, e in enumerate(map(int, x.ty.shape))))
    weight, bias = rebuilt(operator, smaller, [1], [1, 2])
    assert (np.array(weight).reshape(-1).tolist(), bias) == ([1, 0], [20, 34])


def test_a_convolution_of_unknown_channels_reads_all():
    _, call = image(MATRIX.reshape(3, 1, 1, 3), BIAS)
    operator = weighted({}, call)
    assert operator.relations == (None,) and not operator.fixed.any()
    assert ends(operator)[1] == (-108, 127)


def test_zero_points_are_subtracted():
    x, call = image(MATRIX.reshape(3, 1, 1, 3), BIAS, zero_point=4)
    operator = weighted({x: ChannelRanges(3, LEAST, GREATEST)}, call)
    assert ends(operator) == [(10 - 8, 10 - 8), (13, 21), (30, 30)]
    # What reads a removed channel has its share in the bias.
    _, bias = rebuilt(operator, tensor(1, 2, 2, 1), [1], [0, 1, 2])
    assert bias == [2, 20, 30]


def test_each_output_of_a_grouped_convolution_reads_its_group():
    """Three groups of one channel, of two outputs each; their channels stay."""
    weight = array([1, 2, 1, 3, 1, 5]).reshape(6, 1, 1, 1)
    x, call = image(weight, array([0, 1, 2, 3, 4, 5], np.int32))
    operator = weighted({x: ChannelRanges(3, LEAST, GREATEST)}, call)
    assert ends(operator) == [(4, 4), (9, 9), (-1, 7), (-6, 18), (4, 4), (5, 5)]
    assert operator.relations == (None,)
    assert operator.fixed.tolist() == [True] * 6


@pytest.mark.parametrize("is_known", [True, False])
def test_channels_of_a_depthwise_convolution_go_together(is_known):
    weight = array([2, -1, 3]).reshape(1, 1, 3)
    x, call = image(weight, BIAS)
    known = {x: ChannelRanges(3, LEAST, GREATEST)} if is_known else {}
    operator = weighted(known, call)
    if not is_known:
        assert operator.relations == (None,) and operator.fixed.all()
        assert ends(operator) == [(-128, 127), (-107, 127), (-128, 127)]
        return
    assert ends(operator) == [(18, 18), (15, 23), (30, 30)]
    [relation] = operator.relations
    assert isinstance(relation, Tied) and not operator.fixed.any()
    assert (relation.operand.tolist(), relation.output.tolist()) == ([0, 1, 2], [0, 1, 2])
    weight, bias = rebuilt(operator, tensor(1, 2, 2, 2), [1, 2], [1, 2])
    assert (np.array(weight).reshape(-1).tolist(), bias) == ([-1, 0], [20, 30])


def test_several_outputs_of_a_channel():
    weight = array([2, -1, 3, 1, 1, 1]).reshape(1, 1, 6)
    x, call = image(weight, array([0] * 6, np.int32))
    operator = weighted({x: ChannelRanges(3, LEAST, GREATEST)}, call)
    assert ends(operator) == [(8, 8), (-4, -4), (-9, 15), (-3, 5), (0, 0), (0, 0)]
    [relation] = operator.relations
    assert relation.operand.tolist() == [0, 0, 1, 1, 2, 2]
    assert relation.output.tolist() == [*range(6)]
