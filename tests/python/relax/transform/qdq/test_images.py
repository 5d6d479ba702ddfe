"""Images of one and two dimensions: shapes, windows, orders of axes."""

from __future__ import annotations

import pytest
from tvm import relax

from usmp.ops.quantized import Layout, Window
from usmp.relax.transform.qdq.images import (
    image_layout,
    image_shape,
    is_same_order,
    padding_before,
    pair,
    pool_window,
    reshaped,
    to_channels_first,
    to_channels_last,
)

FIRST, LAST = Layout("NCHW"), Layout("NHWC")


@pytest.mark.parametrize(
    ("data", "out", "expected"),
    [
        ("NCHW", "NCHW", FIRST),
        ("NHWC", "NHWC", LAST),
        ("NHWC", "", LAST),
        ("NCW", "NCW", FIRST),
        ("NWC", None, LAST),
        ("NHWC", "NCHW", None),
        ("NCDHW", "NCDHW", None),
    ],
)
def test_layouts_of_rows_and_images(data, out, expected):
    assert image_layout(data, out) == expected


def test_a_row_is_an_image_of_one_row():
    assert image_shape((1, 2, 3, 4), FIRST) == (1, 2, 3, 4)
    assert image_shape((5, 2, 3), FIRST) == (5, 2, 1, 3)
    assert image_shape((5, 3, 2), LAST) == (5, 1, 3, 2)
    assert (pair([2, 3]), pair([3])) == ((2, 3), (1, 3))
    assert (padding_before([1, 2, 3, 4]), padding_before([5, 6])) == ((1, 2), (0, 5))


def test_axes_of_channels():
    assert to_channels_last(4) == [0, 2, 3, 1]
    assert to_channels_last(3) == [0, 2, 1]
    assert to_channels_first(4) == [0, 3, 1, 2]
    assert to_channels_first(3) == [0, 2, 1]


@pytest.mark.parametrize(
    ("shape", "order", "expected"),
    [
        ((2, 3), [0, 1], True),
        ((2, 3), [1, 0], False),
        ((1, 3), [1, 0], True),
        ((1, 2, 1, 3), [0, 2, 1, 3], True),
        ((1, 2, 3, 1), [0, 3, 1, 2], True),
        ((1, 2, 3, 1), [0, 1, 3, 2], True),
        ((1, 2, 3, 1), [2, 1, 0, 3], False),
    ],
)
def test_axes_of_one_element_may_move(shape, order, expected):
    assert is_same_order(shape, order) == expected


def test_a_value_of_another_shape_is_reshaped():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "int8"))
    with builder.function("main", [x]):
        same, other = reshaped(builder, x, (2, 3)), reshaped(builder, x, [6])
        builder.emit_func_output(relax.Tuple([same, other]))
    assert [
        str(b.value.op.name)
        for b in builder.get()["main"].body.blocks[0].bindings
        if isinstance(b.value, relax.Call)
    ] == ["relax.reshape"]


def pool(shape, size, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), layout="NHWC", **more):
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    call = relax.op.nn.max_pool2d(x, size, strides, padding, dilation, layout=layout, **more)
    return pool_window(relax.BlockBuilder().normalize(call))


def test_windows_of_pools():
    assert pool((1, 6, 8, 2), (2, 3), (2, 1), (1, 0, 1, 2)) == (
        Window((6, 8), (2, 3), (2, 1), (1, 1), (1, 0), (4, 8)),
        LAST,
        (1, 6, 8, 2),
    )
    assert pool((1, 2, 6, 8), (2, 3), layout="NCHW")[0] == Window(
        (6, 8), (2, 3), (1, 1), (1, 1), (0, 0), (5, 6)
    )
    x = relax.Var("x", relax.TensorType((1, 2, 8), "float32"))
    call = relax.op.nn.max_pool1d(x, (3,), (2,), (1, 1), layout="NCW")
    window, layout, shape = pool_window(relax.BlockBuilder().normalize(call))
    assert window == Window((1, 8), (1, 3), (1, 2), (1, 1), (0, 1), (1, 4))
    assert (layout, shape) == (FIRST, (1, 2, 1, 8))


@pytest.mark.parametrize(
    ("options", "is_known"),
    [
        ({"padding": (1, 1, 1, 1)}, True),
        # A kernel would cover padding alone: before the data, or behind it.
        ({"padding": (2, 0, 0, 0)}, False),
        ({"padding": (0, 2, 0, 0)}, False),
        ({"padding": (0, 0, 2, 0)}, False),
        ({"padding": (0, 0, 0, 2)}, False),
        ({"padding": (0, 0, 1, 1)}, True),
        ({"dilation": (2, 1)}, False),
        ({"dilation": (1, 2)}, False),
        ({"out_layout": "NCHW"}, False),
    ],
)
def test_pools_whose_kernel_always_covers_data(options, is_known):
    assert (pool((1, 6, 6, 2), (2, 2), **options) is not None) == is_known
