"""The window of an operator is known if each index of its data is where its record says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tvm import tirx

from usmp.ops.kernels.data_window import data_window
from usmp.ops.kernels.operator_parts import OperatorParts
from usmp.ops.records.windowed import WindowedOp
from usmp.ops.window import Layouts, Window

WINDOW = Window((7, 9), (3, 2), (2, 3), (1, 2), (1, 2), (4, 3))
"""Rows and columns differ in everything."""
CHANNELS = 6


@dataclass(frozen=True)
class Operator:
    """An operator that moves a window."""

    parts: OperatorParts
    record: WindowedOp
    data: tirx.Var


def operator(change=lambda indices, axes: indices, layout="NHWC", reads=1, rank=4):
    """The sum of what a window of two images is over.

    Parameters
    ----------
    change
        makes other indices of batch, row, column and channel, of them and the axes.
    reads
        how many elements the sum reads.
    """
    layouts = Layouts.named(layout)
    stored = layouts.data
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
    record = WindowedOp((), (), layout=layouts, strides=(2, 3), dilations=(1, 2), padding=(1, 2))
    return Operator(parts, record, data)


def window_of(found, layout="NHWC"):
    channel = found.parts.axes[3]
    return data_window(found.parts, found.record, found.data, WINDOW.kernel, channel, layout)


@pytest.mark.parametrize(
    ("stored", "layout"), [("NHWC", "NHWC"), ("NCHW to NHWC", "NCHW"), ("NHWC to NHWC", "NHWC")]
)
def test_the_window_is_that_of_the_record(stored, layout):
    assert window_of(operator(layout=stored), layout) == WINDOW


@pytest.mark.parametrize(
    ("stored", "layout"), [("NCHW to NHWC", "NHWC"), ("NHWC", "NCHW"), ("NCHW", "NCHW")]
)
def test_other_layouts_than_the_kernels_have_none(stored, layout):
    assert window_of(operator(layout=stored), layout) is None


@pytest.mark.parametrize("name", ["strides", "dilations", "padding"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_record_that_says_another_move_is_not_believed(name, side):
    found = operator()
    values = list(getattr(found.record, name))
    values[side] += 1
    record = replace(found.record, **{name: tuple(values)})
    assert window_of(replace(found, record=record)) is None


@pytest.mark.parametrize("place", range(4))
def test_each_index_counts(place):
    def change(indices, _):
        return [index + 1 if n == place else index for n, index in enumerate(indices)]

    assert window_of(operator(change)) is None


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
