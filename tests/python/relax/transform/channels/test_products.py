"""Sums of products: which values they can have, and what of them is constant."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from support.sample_records import sample_record
from usmp.ops.quantized import Quantization, Rounding, Window
from usmp.ops.records.products import Conv2d
from usmp.relax.transform.channels.channel_ranges import ChannelRanges, all_of_type
from usmp.relax.transform.channels.products import Products, products_of
from usmp.relax.transform.channels.taps import taps_of

NO_PADDING = Window((2, 1), (2, 1), (1, 1), (1, 1), (0, 0), (1, 1))
PADDED = Window((2, 1), (2, 1), (1, 1), (1, 1), (1, 0), (2, 1))
ZERO_POINT = -1


def products(weight: list, window: Window = NO_PADDING, bias: list[int] | None = None) -> Products:
    """A convolution of factor 1, its weight (outputs, kernel height, 1, depth)."""
    values = np.array(weight, np.int8)
    outputs, depth = values.shape[0], values.shape[-1]
    record = sample_record(
        Conv2d,
        (Quantization("int8", (1.0,), (ZERO_POINT,)), Quantization("int8", (1.0,), (0,))),
        (Quantization("int8", (1.0,), (3,)),),
        clamp=(-128, 127),
        rounding=Rounding.TWICE,
    )
    constants = [values, np.array(bias or [0] * outputs, np.int32)]
    constants += [np.full(outputs, value, np.int32) for value in (1 << 30, 1)]
    sources = np.broadcast_to(np.arange(depth), (outputs, depth))
    return products_of(record, constants, values, sources, taps_of(window))


def ranges(*ends: tuple[int, int]) -> ChannelRanges:
    least, greatest = np.array(ends, np.int64).T
    return ChannelRanges(3, least, greatest)


def sums_of(weight: list, window: Window, spans: list[tuple[int, int]]) -> set[int]:
    """All that a kernel of two rows can add up over an image of two rows."""
    elements = [*product(*(range(low, high + 1) for low, high in spans))]
    sums = set()
    for rows in product(elements, elements):
        zeros = (ZERO_POINT,) * len(spans)
        seen = [*rows] if window is NO_PADDING else [zeros, *rows]
        for pair in pairwise(seen):
            sums.add(int(((np.array(pair) - ZERO_POINT) * np.array(weight[0])[:, 0]).sum()))
    return sums


@pytest.mark.parametrize("window", [NO_PADDING, PADDED])
def test_the_ends_of_the_range_are_sums(window):
    weight, spans = [[[[3]], [[-2]]]], [(-3, 4)]
    least, greatest = products(weight, window, [5]).accumulators(ranges(*spans))
    sums = sums_of(weight, window, spans)
    assert (least.tolist(), greatest.tolist()) == ([5 + min(sums)], [5 + max(sums)])


def test_channels_are_beside_the_data_at_once_which_the_range_does_not_know():
    weight, spans = [[[[3, -2]], [[-1, 4]]]], [(-3, 0), (2, 4)]
    least, greatest = products(weight, NO_PADDING).accumulators(ranges(*spans))
    sums = sums_of(weight, NO_PADDING, spans)
    assert (least.tolist(), greatest.tolist()) == ([min(sums)], [max(sums)])
    least, greatest = products(weight, PADDED).accumulators(ranges(*spans))
    sums = sums_of(weight, PADDED, spans)
    assert least.tolist() == [min(sums)]
    assert greatest[0] > max(sums)


def test_outputs_have_zero_point_and_limits():
    few = products([[[[1]], [[0]]], [[[0]], [[0]]]], bias=[10, 500])
    found = few.outputs(ranges((-4, 5)), axis=3)
    # Between -4 + 1 + 10 + 3 and 5 + 1 + 10 + 3; 503 is more than the type holds.
    assert (found.least.tolist(), found.greatest.tolist()) == ([10, 127], [19, 127])
    assert found.is_constant.tolist() == [False, True]


def test_what_could_wrap_is_not_known():
    few = products([[[[1]], [[0]]]], bias=[2**31 - 600])
    found = few.outputs(all_of_type("int8", 3, 1), axis=3)
    assert (found.least.tolist(), found.greatest.tolist()) == ([-128], [127])


def test_a_channel_is_needed_unless_its_share_is_constant():
    # Channels: computed, not read, constant, at the zero point.
    data = ranges((-3, 4), (-3, 4), (7, 7), (ZERO_POINT, ZERO_POINT))
    weight = [[[[1, 0, 2, 3]], [[0, 0, 4, 5]]]]
    for window, expected in [
        (NO_PADDING, [True, False, False, False]),
        # Where the kernel reaches beside the data, the share of the third one is another one.
        (PADDED, [True, False, True, False]),
    ]:
        sums = products(weight, window)
        output = sums.outputs(data, axis=3)
        assert sums.needs(data, output).tolist() == [expected]


def test_a_tap_that_is_never_beside_the_data_has_one_share():
    middle = Window((3, 1), (3, 1), (1, 1), (1, 1), (1, 0), (3, 1))
    sums = products([[[[0, 1]], [[2, 1]], [[0, 1]]]], middle, bias=[1])
    data = ranges((7, 7), (0, 5))
    assert sums.needs(data, sums.outputs(data, axis=3)).tolist() == [[False, True]]
    removed = np.array([True, False])
    assert sums.bias_without(data, removed).tolist() == [1 + 2 * (7 - ZERO_POINT)]


def test_taps_that_only_stand_on_padding_have_no_share():
    beside = Window((1, 1), (3, 1), (1, 1), (1, 1), (1, 0), (1, 1))
    sums = products([[[[5, 1]], [[2, 1]], [[5, 1]]]], beside)
    data = ranges((7, 7), (0, 5))
    assert sums.needs(data, sums.outputs(data, axis=3)).tolist() == [[False, True]]
    assert sums.bias_without(data, np.array([True, False])).tolist() == [2 * 8]


def test_a_constant_output_needs_nothing():
    sums = products([[[[9]], [[9]]]], bias=[30000])
    data = all_of_type("int8", 3, 1)
    assert sums.needs(data, sums.outputs(data, axis=3)).tolist() == [[False]]


def test_shares_are_those_of_what_is_removed_and_constant():
    sums = products([[[[1, 2, 3]], [[0, 0, 1]]]], bias=[100])
    data = ranges((4, 4), (-5, 6), (0, 0))
    removed = np.array([True, True, False])
    assert sums.bias_without(data, removed).tolist() == [100 + (4 - ZERO_POINT)]


def test_scales_are_those_of_the_outputs_that_stay():
    record = products([[[[1]], [[1]]]] * 3).record
    assert record.with_channels([0, 2]) == record
    stored = Quantization("int8", (0.1, 0.2, 0.3), (0, 0, 0), 0)
    several = replace(record, inputs=(record.inputs[0], stored))
    kept = Quantization("int8", (0.1, 0.3), (0, 0), 0)
    assert several.with_channels([0, 2]).inputs == (record.inputs[0], kept)
