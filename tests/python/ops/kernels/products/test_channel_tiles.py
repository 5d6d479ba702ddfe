"""Sums of products in tiles have the very bits of those one at a time."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import s_tir, te, tirx, topi
from tvm.ir import IRModule

from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.products import channel_tiles
from usmp.ops.kernels.products.channel_tiles import channel_tiles_kernel
from usmp.tir.nodes import nodes_of
from usmp.tir.unrolled_loops import UNROLL_EXPLICIT

M4 = CORES["cortex-m4"]


@pytest.fixture(autouse=True)
def _small_operators_too(monkeypatch):
    monkeypatch.setattr(channel_tiles, "_LEAST_PRODUCTS", 0)


def nhwc(channels: int, stride: int, padding: int):
    data = te.placeholder((2, 5, 6, 3), "float32", "data")
    weight = te.placeholder((3, 3, 3, channels), "float32", "weight")
    sums = topi.nn.conv2d_nhwc(data, weight, stride, padding, 1, out_dtype="float32")
    return [data, weight], sums


def nchw(width: int, padding: int):
    data = te.placeholder((1, 3, 4, width), "float32", "data")
    weight = te.placeholder((2, 3, 3, 3), "float32", "weight")
    return [data, weight], topi.nn.conv2d_nchw(data, weight, 1, padding, 1)


def int16_image(
    channels: int, width: int, padding: int, layout: str = "NHWC", dtype: str = "int16"
):
    """As frontends write it: products of 32 bits, sums of 64."""
    shape = (1, 4, width, channels) if layout == "NHWC" else (1, channels, 4, width)
    data = te.placeholder(shape, dtype, "data")
    weight = te.placeholder((6, 3, 3, channels), "int8", "weight")
    ky, kx, k = (te.reduce_axis((0, extent)) for extent in (3, 3, channels))

    def pixel(y, x):
        place = (0, y, x, k) if layout == "NHWC" else (0, k, y, x)
        exists = tirx.all(y >= 0, y < 4, x >= 0, x < width)
        return tirx.if_then_else(exists, data[place].astype("int32"), tirx.IntImm("int32", 0))

    def term(y, x, channel):
        product = pixel(y + ky - padding, x + kx - padding)
        product *= weight[channel, ky, kx, k].astype("int32")
        return te.sum(product.astype("int64"), [ky, kx, k])

    rows, columns = (extent + 2 * padding - 2 for extent in (4, width))
    if layout == "NHWC":
        return [data, weight], te.compute((1, rows, columns, 6), lambda _, y, x, c: term(y, x, c))
    return [data, weight], te.compute((1, 6, rows, columns), lambda _, c, y, x: term(y, x, c))


def integers(data_type: str, sum_type: str):
    data = te.placeholder((3, 7), data_type, "data")
    weight = te.placeholder((5, 7), "int8", "weight")
    k = te.reduce_axis((0, 7), "k")

    def term(i, j):
        return (data[i, k].astype(sum_type) + 3) * weight[j, k].astype(sum_type)

    return [data, weight], te.compute((3, 5), lambda i, j: te.sum(term(i, j), k))


def offset_of_row():
    """Data whose zero point was computed."""
    data = te.placeholder((3, 7), "int8", "data")
    offsets = te.placeholder((3,), "int16", "offsets")
    weight = te.placeholder((5, 7), "int8", "weight")
    k = te.reduce_axis((0, 7), "k")

    def term(i, j):
        left = data[i, k].astype("int32") - offsets[i].astype("int32")
        return te.sum(left * weight[j, k].astype("int32"), k)

    return [data, offsets, weight], te.compute((3, 5), term)


def transposed(is_last: bool):
    """A kernel of three taps that moves by two, whose second tap of odd outputs does not exist."""
    data = te.placeholder((4, 7), "int8", "data")
    weight = te.placeholder((6, 3, 7), "int8", "weight")
    step, k = te.reduce_axis((0, 2), "step"), te.reduce_axis((0, 7), "k")

    def term(channel, place):
        position = tirx.floordiv(place, 2) - step
        tap = tirx.floormod(place, 2) + step * 2
        product = data[position, k].astype("int32") * weight[channel, tap, k].astype("int32")
        exists = tirx.all(tap < 3, position >= 0)
        return te.sum(tirx.if_then_else(exists, product, tirx.IntImm("int32", 0)), [step, k])

    if is_last:
        return [data, weight], te.compute((6, 8), term)
    return [data, weight], te.compute((8, 6), lambda place, channel: term(channel, place))


def depthwise():
    data = te.placeholder((1, 5, 5, 10), "float32", "data")
    weight = te.placeholder((3, 3, 10, 1), "float32", "weight")
    return [data, weight], topi.nn.depthwise_conv2d_nhwc(data, weight, 1, "SAME", 1)


def matrices():
    left, right = (te.placeholder(s, "float32", "m") for s in ((2, 4, 6), (2, 9, 6)))
    return [left, right], topi.nn.batch_matmul(left, right)


CASES = {
    "padded": nhwc(19, 1, 1),
    "nothing padded": nhwc(8, 1, 0),
    "stride": nhwc(2, 2, 1),
    "all padded": nhwc(4, 1, 4),
    "nchw": nchw(21, 1),
    "nchw, nothing padded": nchw(13, 0),
    "depthwise": depthwise(),
    "matrices": matrices(),
    "transposed": transposed(False),
    "transposed, by columns": transposed(True),
    "uint8": integers("uint8", "int32"),
    "int16": integers("int16", "int64"),
    "offset": offset_of_row(),
    "int16 image": int16_image(5, 7, 1),
    "int16 image, nothing padded": int16_image(5, 7, 0),
    "int16 image of many channels": int16_image(57, 3, 1),
    "int16 image, nchw": int16_image(5, 11, 1, "NCHW"),
}


def in_blocks(inputs, sums) -> tirx.PrimFunc:
    """As operators are after fusion: the sums, and something element-wise after them."""
    result = te.compute(sums.shape, lambda *i: tirx.max(sums(*i) * sums(*i), sums(*i)), "result")
    return te.create_prim_func([*inputs, result])


def computed(func: tirx.PrimFunc) -> np.ndarray:
    """On random numbers."""
    generator = np.random.default_rng(3)
    arrays = []
    for buffer in func.params:
        shape, dtype = [int(extent) for extent in buffer.shape], str(buffer.dtype)
        if dtype == "float32":
            values = generator.standard_normal(shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            values = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        arrays.append(tvm.runtime.tensor(values))
    named = func.with_attr("global_symbol", "main")
    tvm.compile(IRModule({"main": named}), target="llvm")["main"](*arrays)
    return arrays[-1].numpy()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_bit(case):
    func = in_blocks(*case)
    kernel = channel_tiles_kernel(OperatorCall(func, (None,) * len(case[0])), M4)
    assert kernel.arguments == tuple(range(len(case[0])))
    assert not nodes_of(kernel.func.body, s_tir.SBlock)
    assert UNROLL_EXPLICIT in [str(n.attr_key) for n in nodes_of(kernel.func.body, tirx.AttrStmt)]
    np.testing.assert_array_equal(computed(func), computed(kernel.func))


@pytest.mark.slow
def test_sums_that_nothing_follows():
    inputs, sums = matrices()
    func = te.create_prim_func([*inputs, sums])
    kernel = channel_tiles_kernel(OperatorCall(func, (None, None)), PORTABLE)
    np.testing.assert_array_equal(computed(func), computed(kernel.func))


@pytest.mark.parametrize(("channels", "expected"), [(56, "int32"), (57, "int64")])
def test_sums_of_64_bits_take_32_where_that_is_enough(channels, expected):
    func = in_blocks(*int16_image(channels, 3, 1))
    kernel = channel_tiles_kernel(OperatorCall(func, (None, None)), M4)
    types = {str(alloc.buffer.dtype) for alloc in nodes_of(kernel.func.body, tirx.AllocBuffer)}
    assert types == {expected}


@pytest.mark.parametrize(
    ("channels", "dtype", "is_tiled"),
    [(7, "int8", True), (8, "int8", False), (8, "uint8", False), (8, "int16", True)],
)
def test_rows_of_products_of_bytes_are_left_to_the_vectors_of_hosts(channels, dtype, is_tiled):
    call = OperatorCall(in_blocks(*int16_image(channels, 3, 1, dtype=dtype)), (None, None))
    assert (channel_tiles_kernel(call, PORTABLE) is not None) == is_tiled
    assert channel_tiles_kernel(call, M4) is not None


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_padding_is_asked_for_outside_of_the_loop_over_channels(layout):
    func = in_blocks(*int16_image(5, 8, 1, layout))
    kernel = channel_tiles_kernel(OperatorCall(func, (None, None)), PORTABLE)
    loops = [loop for loop in nodes_of(kernel.func.body, tirx.For) if int(loop.extent) == 5]
    assert loops
    assert not any(nodes_of(loop, tirx.IfThenElse) for loop in loops)
    assert not [c for c in nodes_of(kernel.func.body, tvm.ir.Call) if "if_then_else" in c.op.name]


@pytest.mark.slow
@pytest.mark.parametrize("axes", [4, 1])
def test_no_quotient_is_computed_several_times(axes):
    """One for each output is computed with it; one for each channel would be for each pixel."""
    inputs, sums = nhwc(8, 1, 1)
    other = te.placeholder(sums.shape[4 - axes :], "float32", "other")
    added = te.compute(sums.shape, lambda *i: sums(*i) + other(*i[4 - axes :]) / 3.0, "result")
    func = te.create_prim_func([*inputs, other, added])
    kernel = channel_tiles_kernel(OperatorCall(func, (None,) * 3), PORTABLE)
    assert (kernel is None) == (axes == 1)
    if kernel is not None:
        np.testing.assert_array_equal(computed(func), computed(kernel.func))


def test_no_guard_is_asked_where_nothing_is_padded():
    kernel = channel_tiles_kernel(OperatorCall(in_blocks(*nhwc(8, 1, 1)), (None, None)), PORTABLE)
    (branch,) = nodes_of(kernel.func.body, tirx.IfThenElse)
    guards = [
        [c for c in nodes_of(part, tvm.ir.Call) if c.op.name == "prim.if_then_else"]
        for part in (branch.then_case, branch.else_case)
    ]
    assert [len(found) for found in guards] == [0, 1]


@pytest.mark.parametrize("is_last", [False, True])
def test_no_tap_is_read_that_does_not_exist(is_last):
    inputs, sums = transposed(is_last)
    kernel = channel_tiles_kernel(OperatorCall(in_blocks(inputs, sums), (None, None)), PORTABLE)
    weight = kernel.func.params[1]

    def reads(root) -> int:
        loads = nodes_of(root, tvm.ir.TensorLoad)
        return sum(load.source.same_as(weight) for load in loads)

    guarded = [branch.then_case for branch in nodes_of(kernel.func.body, tirx.IfThenElse)]
    assert reads(kernel.func.body) == sum(map(reads, guarded)) > 0


def test_others_stay_as_they_are():
    data = te.placeholder((4, 9), "float32", "data")
    k = te.reduce_axis((0, 9), "k")
    mean = te.compute((4,), lambda i: te.sum(data[i, k], k))
    assert channel_tiles_kernel(OperatorCall(in_blocks([data], mean), (None,)), PORTABLE) is None
    narrow = in_blocks(*nhwc(1, 1, 0))
    assert channel_tiles_kernel(OperatorCall(narrow, (None, None)), PORTABLE) is None
