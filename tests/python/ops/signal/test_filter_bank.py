"""Sums under overlapping filters, and square roots of integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from support.relax_vm import computed
from usmp.ops.signal.filter_bank import FilterBank, filter_bank, square_root


def filters(frequency_starts, weight_starts, widths, weights=8, unweights=8):
    arrays = [np.array(each, np.int16) for each in (frequency_starts, weight_starts, widths)]
    return FilterBank(
        np.arange(1, 1 + weights, dtype=np.int16) * 100,
        np.arange(1, 1 + unweights, dtype=np.int16) * 4000,
        *arrays,
    )


def test_a_channel_takes_its_weights_and_the_unweights_of_the_one_before():
    bank = filters([1, 3, 0], [0, 4, 6], [2, 1, 2])
    assert (bank.channels, bank.bins) == (2, 4)
    data = np.array([5, 7, 11, 2**32 - 1, 13], np.uint32)
    first_rest = 7 * 4000 + 11 * 8000
    sums = [data[3:4].astype(np.uint64) @ [500], 5 * 700 + 7 * 800]
    rests = [first_rest, (2**32 - 1) * 20000]
    (output,) = computed(lambda builder, data: filter_bank(builder, data, bank), data)
    assert output.dtype == np.uint64
    assert output.tolist() == [int(total) + rest for total, rest in zip(sums, rests, strict=True)]


@pytest.mark.parametrize(
    ("starts", "weight_starts", "widths", "sizes"),
    [
        ([0, 0], [0, 4], [2, 5], (8, 8)),
        ([0, 0], [0, 4], [2, 4], (8, 7)),
        ([0, 0], [0, 4], [2, 4], (7, 8)),
        ([0, -1], [0, 4], [2, 4], (8, 8)),
        ([0, 0], [0, -1], [2, 4], (8, 8)),
        ([0, 0], [0, 4], [2, -1], (8, 8)),
    ],
)
def test_reads_outside_of_the_weights_are_refused(starts, weight_starts, widths, sizes):
    with pytest.raises(ValueError, match=r"^a channel of the filter bank reaches beyond its"):
        filters(starts, weight_starts, widths, *sizes)


def test_channels_without_numbers_may_begin_anywhere():
    bank = filters([0, -5, 100], [0, 99, -1], [8, 0, 0])
    assert (bank.channels, bank.bins) == (2, 8)
    assert filters([0, 100], [0, 0], [0, 8]).bins == 108


def test_square_roots_are_rounded_to_nearest_and_shifted():
    """A root that would not fit in half the bits is the greatest number that does."""
    values = [0, 1, 2, 3, 6, 7, 12, 13, 10**6, 2**32 - 1, 2**32, 2**40 + 2**20, 2**40 + 2**20 + 1]
    values += [65535 * 65535 + 65535, 2**50 - 1, 2**63, 2**64 - 1]
    data = np.array(values, np.uint64)

    def root(value):
        exact = math.isqrt(value)
        nearest = exact + (value > exact * exact + exact)
        return min(nearest, 2**16 - 1 if value < 2**32 else 2**32 - 1)

    for shift in (0, 3, 32):
        (output,) = computed(square_root, data, np.array(shift, np.int32))
        assert output.tolist() == [root(value) >> (shift % 32) for value in values]
