"""What operators make of the ranges of channels, and which channels go together."""

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
from usmp.relax.transform.channels.by_channel import by_channel
from usmp.relax.transform.channels.channel_operator import RecordedCall, Tied
from usmp.relax.transform.channels.channel_operators import channel_operators_of
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.movement import concat, pad, strided_slice, view

X = relax.Var("x", relax.TensorType((1, 2, 2, 3), "int8"))
Y = relax.Var("y", relax.TensorType((1, 2, 2, 3), "int8"))
KNOWN = {
    X: ChannelRanges(3, np.array([4, -3, 0]), np.array([4, 5, 0])),
    Y: ChannelRanges(3, np.array([6, -9, 0]), np.array([6, 2, 1])),
}


def normalized(call: relax.Expr) -> relax.Expr:
    return relax.BlockBuilder().normalize(call)


def ends(operator) -> list[tuple[int, int]]:
    return [*zip(operator.output.least.tolist(), operator.output.greatest.tolist(), strict=True)]


def pairs(relation) -> list[tuple[int, int]]:
    assert isinstance(relation, Tied)
    return [*zip(relation.operand.tolist(), relation.output.tolist(), strict=True)]


def test_padding_may_hold_its_value():
    widths = [0, 0, 1, 1, 0, 0, 0, 0]
    constant = pad(KNOWN, normalized(relax.op.nn.pad(X, widths, "constant", 1)))
    assert ends(constant) == [(1, 4), (-3, 5), (0, 1)]
    reflected = pad(KNOWN, normalized(relax.op.nn.pad(X, widths, "reflect", 1)))
    assert ends(reflected) == [(4, 4), (-3, 5), (0, 0)]
    of_channels = [0, 0, 0, 0, 0, 0, 0, 1]
    assert pad(KNOWN, normalized(relax.op.nn.pad(X, of_channels, "constant", 1))) is None


@pytest.mark.parametrize("counts_padding", [False, True])
def test_a_mean_that_counts_padding_is_nearer_to_zero_at_the_border(counts_padding):
    window = Window((2, 2), (2, 2), (1, 1), (1, 1), (1, 1), (3, 3))
    same = Quantization("int8", (1.0,), (0,))
    builder = relax.BlockBuilder()
    limits, layout = OutputLimits("int8", -128, 127), Layout("NHWC")
    ending = (window, same, same, limits, layout, counts_padding)
    call = quantized.rescaled_average_pool(builder, X, *ending)
    func = builder.get()[call.args[0]]
    operator = by_channel(KNOWN, RecordedCall(normalized(call), operator_of(func), func))
    assert ends(operator)[0] == ((0, 4) if counts_padding else (4, 4))
    assert pairs(operator.relations[0]) == [(0, 0), (1, 1), (2, 2)]


def test_a_view_has_the_channels_once_for_each_element():
    operator = view(KNOWN, normalized(relax.op.reshape(X, (1, 12))))
    assert ends(operator) == [(4, 4), (-3, 5), (0, 0)] * 4
    assert pairs(operator.relations[0]) == [(i % 3, i) for i in range(12)]
    assert view(KNOWN, normalized(relax.op.reshape(X, (1, 6, 2)))) is None


def test_joins_along_the_channels_and_along_another_axis():
    operator = concat(KNOWN, normalized(relax.op.concat([X, Y], 3)))
    assert ends(operator) == [(4, 4), (-3, 5), (0, 0), (6, 6), (-9, 2), (0, 1)]
    assert pairs(operator.relations[1]) == [(0, 3), (1, 4), (2, 5)]
    operator = concat(KNOWN, normalized(relax.op.concat([X, Y], 1)))
    assert ends(operator) == [(4, 6), (-9, 5), (0, 1)]
    assert pairs(operator.relations[1]) == [(0, 0), (1, 1), (2, 2)]


def test_a_slice_of_channels():
    operator = strided_slice(KNOWN, normalized(relax.op.strided_slice(X, [3], [1], [3])))
    assert ends(operator) == [(-3, 5), (0, 0)]
    assert pairs(operator.relations[0]) == [(1, 0), (2, 1)]


def test_what_is_known_of_the_operators_of_a_function():
    builder = relax.BlockBuilder()
    same, limits = Quantization("int8", (1.0,), (0,)), OutputLimits("int8", -9, 8)
    rescale = Rescale((QuantizedMultiplier(1 << 30, 1),), same, limits)
    window = Window((2, 2), (1, 1), (1, 1), (1, 1), (0, 0), (2, 2))
    weight, bias = np.zeros((3, 1, 1, 3), np.int8), np.array([4, -3, 0], np.int32)
    ending = (window, same, rescale, Layout("NHWC"), same)
    z = relax.Var("z", relax.TensorType((4,), "float32"))
    with builder.function("main", [X, z]):
        with builder.dataflow():
            convolved = builder.emit(quantized.conv2d(builder, X, weight, bias, *ending))
            padded = builder.emit(relax.op.nn.pad(convolved, [0] * 8, "constant", 1))
            left = builder.emit(relax.op.exp(z))
            output = builder.emit_output(relax.Tuple([padded, left]))
        builder.emit_func_output(output)
    mod = builder.get()
    found = channel_operators_of(mod, mod["main"])
    assert [*found.operators] == [*found.calls.values()] == [convolved, padded]
    assert ends(found.operators[padded]) == [(1, 4), (-3, 1), (0, 1)]
    assert {z, padded, left} <= found.whole and not {X, convolved} & found.whole
    without = channel_operators_of(mod, mod["main"], [convolved])
    assert not without.operators and {X, convolved} <= without.whole


def test_the_greatest_elements_are_in_the_ranges_of_their_channels():
    window = Window((2, 2), (2, 2), (1, 1), (1, 1), (0, 0), (1, 1))
    same, limits = Quantization("int8", (1.0,), (0,)), OutputLimits("int8", -2, 8)
    builder = relax.BlockBuilder()
    call = quantized.max_pool(builder, X, window, limits, Layout("NHWC"), same)
    func = builder.get()[call.args[0]]
    recorded = RecordedCall(normalized(call), operator_of(func), func)
    operator = by_channel(KNOWN, recorded)
    assert ends(operator) == [(4, 4), (-2, 5), (0, 0)]
    assert pairs(operator.relations[0]) == [(0, 0), (1, 1), (2, 2)]
    assert by_channel({}, recorded) is None
