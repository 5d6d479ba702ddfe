"""Operators of each channel: what their channels hold, and which go together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tvm import relax

from usmp.ops import quantized
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Window
from usmp.ops.records import operator_of
from usmp.relax.transform.channels.by_channel import by_channel
from usmp.relax.transform.channels.channel_operator import Kept, RecordedCall, Tied
from usmp.relax.transform.channels.channel_ranges import ChannelRanges

SCALE = Quantization("int8", (0.5,), (0,))
LIMITS = OutputLimits("int8", -20, 20)
THREE = (SCALE, SCALE, SCALE)


def tensor(*shape: int, dtype: str = "int8") -> relax.Var:
    return relax.Var("x", relax.TensorType(shape, dtype))


X, Y = tensor(1, 2, 2, 3), tensor(1, 2, 2, 3)
ROW, VECTOR, ONE = tensor(2, 3), tensor(3), tensor(1, 2, 2, 1)
KNOWN = {
    X: ChannelRanges(3, np.array([4, -3, 0]), np.array([4, 5, 0])),
    Y: ChannelRanges(3, np.array([6, -9, 0]), np.array([6, 2, 1])),
    VECTOR: ChannelRanges(0, np.array([1, 2, 3]), np.array([1, 2, 4])),
    ONE: ChannelRanges(3, np.array([-1]), np.array([2])),
}


def recorded(make) -> RecordedCall:
    builder = relax.BlockBuilder()
    call = make(builder)
    func = builder.get()[call.args[0]]
    return RecordedCall(relax.BlockBuilder().normalize(call), operator_of(func), func)


def added(left, right) -> RecordedCall:
    return recorded(lambda b: quantized.add(b, left, right, THREE, LIMITS))


def ends(operator) -> list[tuple[int, int]]:
    return [*zip(operator.output.least.tolist(), operator.output.greatest.tolist(), strict=True)]


def ties(operator) -> list[list[int] | None]:
    """By operand, the channels that go with those of the output."""
    found = []
    for relation in operator.relations:
        assert relation is None or isinstance(relation, Tied)
        if relation is not None:
            assert relation.output.tolist() == [*range(len(relation.operand))]
        found.append(None if relation is None else relation.operand.tolist())
    return found


ALL = [0, 1, 2]


@pytest.mark.parametrize(
    ("right", "expected", "tied", "is_fixed"),
    [
        (Y, [(10, 10), (-12, 7), (0, 1)], [ALL, ALL], False),
        (VECTOR, [(5, 5), (-1, 7), (3, 4)], [ALL, ALL], False),
        # One channel is added to each.
        (ONE, [(3, 6), (-4, 7), (-1, 2)], [ALL, None], False),
        # Of what is not known, all channels are needed.
        (tensor(1, 2, 2, 3), [(-20, 20)] * 3, [ALL, None], True),
        (tensor(1, 2, 2, 1), [(-20, 20)] * 3, [ALL, None], False),
        (np.array([1, 2, 30], np.int8), [(5, 5), (-1, 7), (20, 20)], [ALL], False),
        (np.array([[1], [3]], np.int8), [(5, 7), (-2, 8), (1, 3)], [ALL], False),
        (
            np.array([[1, 2, 30], [5, 0, -4]], np.int8),
            [(5, 9), (-3, 7), (-4, 20)],
            [ALL],
            False,
        ),
        (np.array(3, np.int8), [(7, 7), (0, 8), (3, 3)], [ALL], False),
    ],
)
def test_elements_of_a_channel_are_computed_from_those_of_the_same(right, expected, tied, is_fixed):
    given = relax.const(right) if isinstance(right, np.ndarray) else right
    call = added(X, given)
    operator = by_channel(KNOWN, call)
    assert (ends(operator), ties(operator), operator.output.axis) == (expected, tied, 3)
    assert operator.fixed.tolist() == [is_fixed] * 3


def test_operands_with_channels_on_other_axes():
    """All channels stay where another operand has one element for each, and its own elsewhere."""
    assert by_channel({}, added(X, Y)) is None
    other = {**KNOWN, Y: ChannelRanges(2, np.array([0, 0]), np.array([1, 2]))}
    operator = by_channel(other, added(X, Y))
    assert ties(operator) == [ALL, None] and operator.fixed.all()
    assert ends(operator) == [(4, 6), (-3, 7), (0, 2)]


def test_channels_that_are_left():
    operator = by_channel(KNOWN, added(X, relax.const(np.array([1, 2, 30], np.int8))))
    kept = Kept((np.array([0, 2]),), np.array([0, 2]))
    smaller = tensor(1, 2, 2, 2)
    assert operator.can_rebuild(kept)
    call = operator.rebuild(relax.BlockBuilder(), [smaller], kept)
    fields = call.args[1].fields
    assert fields[0].same_as(smaller)
    assert fields[1].value.numpy().reshape(-1).tolist() == [1, 30]
    column = relax.const(np.array([[1], [3]], np.int8))
    operator = by_channel(KNOWN, added(X, column))
    call = operator.rebuild(relax.BlockBuilder(), [smaller], kept)
    assert call.args[1].fields[1].value.numpy().reshape(-1).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda b: quantized.subtract(b, X, Y, THREE, LIMITS), [(-2, -2), (-5, 14), (-1, 0)]),
        (lambda b: quantized.maximum(b, X, Y, SCALE), [(6, 6), (-3, 5), (0, 1)]),
        (lambda b: quantized.minimum(b, X, Y, SCALE), [(4, 4), (-9, 2), (0, 0)]),
        (lambda b: quantized.relu(b, X, SCALE, SCALE, LIMITS), [(4, 4), (0, 5), (0, 0)]),
        (
            lambda b: quantized.clamp(b, X, OutputLimits("int8", -1, 3), SCALE),
            [(3, 3), (-1, 3), (0, 0)],
        ),
    ],
)
def test_ranges_of_other_operators(make, expected):
    operator = by_channel(KNOWN, recorded(make))
    found = ends(operator)
    # A range may be wider than what is there, and is never narrower.
    for (low, high), (least, greatest) in zip(found, expected, strict=True):
        assert low <= least and greatest <= high
    assert {*map(tuple, ties(operator))} == {(0, 1, 2)}
    kept = Kept(tuple(np.array([1]) for _ in operator.relations), np.array([1]))
    smaller = [tensor(1, 2, 2, 1) for _ in operator.relations]
    call = operator.rebuild(relax.BlockBuilder(), smaller, kept)
    assert [int(extent) for extent in call.ty_args[0].shape] == [1, 2, 2, 1]


def tabled(x: relax.Var) -> RecordedCall:
    """The square of an element over 100, by a table."""
    return recorded(lambda b: quantized.tanh(b, x, SCALE, Quantization("int8", (1 / 128,), (0,))))


def test_a_table_gives_the_results_of_a_range():
    call = tabled(X)
    values = call.arguments[1].value.numpy().astype(int)
    operator = by_channel(KNOWN, call)
    expected = [
        (min(span), max(span))
        for span in (values[4 + 128 : 5 + 128], values[-3 + 128 : 6 + 128], values[128:129])
    ]
    assert ends(operator) == expected
    assert (
        ends(operator)[0][0] == ends(operator)[0][1]
        and ends(operator)[1][0] < 0 < ends(operator)[1][1]
    )
    assert ties(operator) == [ALL]
    kept = Kept((np.array([1]),), np.array([1]))
    rebuilt = operator.rebuild(relax.BlockBuilder(), [tensor(1, 2, 2, 1)], kept)
    assert rebuilt.args[1].fields[1].value.numpy().astype(int).tolist() == values.tolist()


def test_a_table_of_unknown_channels():
    assert by_channel({}, tabled(X)) is None


def test_a_constant_of_256_elements_is_no_table():
    """Of a sum with as many channels."""
    x = tensor(1, 256)
    known = {x: ChannelRanges(1, np.zeros(256, int), np.full(256, 3))}
    constant = relax.const(np.arange(-128, 128).astype(np.int8))
    operator = by_channel(known, added(x, constant))
    assert ends(operator)[128:132] == [(0, 3), (1, 4), (2, 5), (3, 6)]


OF_ALL = Quantization("int8", (1 / 256,), (-128,))
OF_ROWS = Quantization("int8", (1 / 128,), (0,))


@pytest.mark.parametrize(
    "make",
    [
        lambda b: quantized.softmax(b, ROW, SCALE, OF_ALL, 1.0),
        lambda b: quantized.l2_normalize(b, ROW, SCALE, OF_ROWS),
        lambda b: quantized.mean(b, ROW, [1], SCALE, SCALE),
    ],
)
def test_what_is_computed_from_all_channels_has_channels_on_other_axes_only(make):
    """Of these, the limits are known."""
    call = recorded(make)
    assert by_channel({ROW: KNOWN[X].on(1)}, call) is None
    operator = by_channel({ROW: ChannelRanges(0, np.array([0, 0]), np.array([1, 1]))}, call)
    assert operator.output.axis == 0 and ties(operator) == [[0, 1]]
    kept = Kept((np.array([1]),), np.array([1]))
    assert operator.can_rebuild(kept)


A, B, C = (
    Quantization("int8", (scale,), (zero,)) for scale, zero in ((0.5, 1), (0.25, 2), (1.0, 3))
)
W = tensor(1, 2, 2, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda b: quantized.abs_(b, X, A, C),
        lambda b: quantized.add(b, X, Y, (A, B, C), LIMITS),
        lambda b: quantized.add_all(b, [X, Y, W], A, C),
        lambda b: quantized.clamp(b, X, LIMITS, A),
        lambda b: quantized.maximum(b, X, Y, A),
        lambda b: quantized.minimum(b, X, Y, A),
        lambda b: quantized.multiply_elements(b, X, Y, (A, B, C), LIMITS),
        lambda b: quantized.prelu(b, X, Y, A, B, C),
        lambda b: quantized.relu(b, X, A, C, LIMITS),
        lambda b: quantized.requantize(b, X, A, C),
        lambda b: quantized.subtract(b, X, Y, (A, B, C), LIMITS),
    ],
)
def test_an_operator_of_fewer_channels_is_the_same_operator(make):
    """Its operands in their places, with their quantizations."""
    call = recorded(make)
    operator = by_channel({**KNOWN, W: KNOWN[X]}, call)
    smaller = [tensor(1, 2, 2, 2) for _ in operator.relations]
    kept = Kept(tuple(np.array([0, 2]) for _ in smaller), np.array([0, 2]))
    builder = relax.BlockBuilder()
    made = operator.rebuild(builder, smaller, kept)
    fields = made.args[1].fields
    assert len(fields) == len(call.arguments)
    assert all(one.same_as(other) for one, other in zip(fields, smaller, strict=True))
    assert operator_of(builder.get()[made.args[0]]) == call.record


def test_a_window_along_the_channels_leaves_some_out():
    """It reads the first two of three."""
    window = Window((2, 2), (1, 1), (1, 1), (1, 1), (0, 0), (2, 2))
    first = replace(window, data=(2, 3), output=(2, 2))
    known = {X: ChannelRanges(2, np.zeros(3, int), np.ones(3, int))}
    rows = tensor(1, 2, 3, 1)
    call = recorded(lambda b: quantized.max_pool(b, rows, first, LIMITS, Layout("NHWC"), SCALE))
    assert by_channel({rows: known[X]}, call) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda b: quantized.space_to_batch(b, X, (1, 2), [(0, 0), (0, 0)], 0, SCALE),
        lambda b: quantized.mirror_pad(b, X, [(0, 0), (1, 1), (0, 0), (0, 0)], False, SCALE),
    ],
)
def test_records_of_extents_say_nothing_of_fewer_channels(make):
    assert recorded(make).record.describes_extents
    assert by_channel(KNOWN, recorded(make)) is None
