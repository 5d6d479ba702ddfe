"""The window of an operator is read from the indices of its data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tvm import tirx

from usmp.ops.kernels.call.data_window import data_window
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.window import Layout, Window

WINDOW = Window((7, 9), (3, 2), (2, 3), (1, 2), (1, 2), (4, 3))
"""Rows and columns differ in everything."""
CHANNELS = 6


def operator(change=lambda indices, axes: indices, layout="NHWC", reads=1, rank=4):
    """The sum of what a window of two images is over.

    Parameters
    ----------
    change
        makes other indices of batch, row, column and channel, of them and the axes.
    reads
        how many elements the sum reads.
    """
    stored = Layout(layout)
    shape = stored.order(2, *WINDOW.data, CHANNELS)
    data = tirx.decl_buffer(shape if rank == 4 else (*shape, 1), "int8", "data")
    output = tirx.decl_buffer((2, *WINDOW.output, CHANNELS), "int8", "output")
    extents = (2, *WINDOW.output, CHANNELS, *WINDOW.kernel)
    axes = [tirx.Var(name, "int32") for name in ("b", "y", "x", "c", "ky", "kx")]
    b, y, x, c, ky, kx = axes
    row, column = y * 2 + ky - 1, x * 3 + kx * 2 - 2
    place = stored.order(*change((b, row, column, c), axes))
    load = data[place if rank == 4 else (*place, 0)].astype("int32")
    accumulator = tirx.decl_buffer(extents[:4], "int32", "sum")
    total = load if reads == 1 else load + load * data[place].astype("int32")
    kept = tuple(axes[:4])
    value = accumulator[kept].astype("int8")
    parts = OperatorParts(tuple(axes), tirx.Add, extents, total, accumulator, kept, value, output)
    return parts, data


def window_of(found, layout="NHWC"):
    parts, data = found
    return data_window(parts, data, parts.axes[3], layout)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_the_window_is_that_of_the_indices(layout):
    assert window_of(operator(layout=layout), layout) == WINDOW


def test_what_has_one_value_only_need_not_be_in_an_index():
    parts, data = operator(lambda indices, axes: (*indices[:2], axes[2], indices[3]))
    single = replace(parts, extents=(*parts.extents[:5], 1))
    expected = replace(WINDOW, kernel=(3, 1), strides=(2, 1), dilations=(1, 1), padding=(1, 0))
    assert window_of((single, data)) == expected
    assert window_of((parts, data)) is None


@pytest.mark.parametrize(("stored", "layout"), [("NCHW", "NHWC"), ("NHWC", "NCHW")])
def test_data_in_another_layout_has_none(stored, layout):
    assert window_of(operator(layout=stored), layout) is None


@pytest.mark.parametrize("place", range(4))
def test_each_index_counts(place):
    def change(indices, _):
        return [index + 1 if n == place else index for n, index in enumerate(indices)]

    top, left = WINDOW.padding
    moved = {1: (top - 1, left), 2: (top, left - 1)}
    expected = replace(WINDOW, padding=moved[place]) if place in moved else None
    assert window_of(operator(change)) == expected


@pytest.mark.parametrize(
    "index",
    [
        lambda y, ky: y * 2,
        lambda y, ky: y * 2 - ky,
        lambda y, ky: ky - y,
        lambda y, ky: tirx.floordiv(y, 2) + ky,
        lambda y, ky: tirx.max(y + ky - 1, 0),
        lambda y, ky: y * ky,
    ],
)
def test_rows_that_move_in_another_way_have_none(index):
    found = operator(lambda indices, axes: (indices[0], index(axes[1], axes[4]), *indices[2:]))
    assert window_of(found) is None


@pytest.mark.parametrize(
    ("batch", "is_known"),
    [
        (lambda b: tirx.floormod(b, 2), True),
        (lambda b: tirx.floormod(b, 1), False),
        (lambda b: tirx.max(b, 0), True),
        (lambda b: tirx.max(b, 1), False),
        (lambda b: tirx.min(b, 1), True),
        (lambda b: tirx.min(b, 0), False),
    ],
)
def test_indices_are_compared_within_the_extents_of_the_axes(batch, is_known):
    """There are two images, of indices 0 and 1."""
    found = operator(lambda indices, axes: (batch(axes[0]), *indices[1:]))
    assert window_of(found) == (WINDOW if is_known else None)


def test_data_that_is_no_image_or_read_twice_has_none():
    assert window_of(operator(rank=5)) is None
    assert window_of(operator(reads=2)) is None
