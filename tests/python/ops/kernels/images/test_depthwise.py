"""The loops of depthwise convolutions compute what those are, whatever the window."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from ops.kernels.images.test_conv2d import WINDOWS, ZERO_POINT, WrappingInterpreter
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators
from usmp.ops.kernels.images.depthwise import Depthwise, packed
from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.window import Window

LARGE_WINDOWS = {
    "many taps": Window((5, 6), (5, 5), (1, 1), (1, 1), (2, 2), (5, 6)),
    "many columns": Window((1, 20), (1, 17), (1, 1), (1, 1), (0, 8), (1, 20)),
}


def expected(window: Window, data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The accumulators, (batch, height, width, channels) of int64."""
    result = np.zeros((len(data), *window.output, len(bias)), np.int64) + bias
    real = data.astype(np.int64) - ZERO_POINT
    for y, x, ky, kx in np.ndindex(*window.output, *window.kernel):
        row = y * window.strides[0] + ky * window.dilations[0] - window.padding[0]
        column = x * window.strides[1] + kx * window.dilations[1] - window.padding[1]
        if 0 <= row < window.data[0] and 0 <= column < window.data[1]:
            result[:, y, x] += real[:, row, column] * weight[ky, kx].astype(np.int64)
    return result


def computed(
    window: Window, data: np.ndarray, weight: np.ndarray, bias: np.ndarray, is_folded: bool
) -> np.ndarray:
    """What the loops of the TIR compute."""
    shape = (len(data), *window.output, len(bias))
    by_channel = weight.reshape(-1, len(bias)).T
    x = tirx.decl_buffer(data.shape, "int8", "x")
    w = tirx.decl_buffer((weight.size,), "int8", "w")
    b = tirx.decl_buffer(bias.shape, "int32", "b")
    y = tirx.decl_buffer(shape, "int32", "y")
    depthwise = Depthwise(
        x,
        w,
        window,
        Accumulators(
            ZERO_POINT,
            is_folded,
            lambda c: b[c],
            lambda accumulator, indices: tirx.BufferStore(y, accumulator, list(indices)),
        ),
    )
    func = tirx.PrimFunc([x, w, b, y], depthwise.loops()).with_attr("global_symbol", "f")
    folded = by_channel.astype(np.int64).sum(axis=1) * ZERO_POINT if is_folded else 0
    first = (bias - folded).astype(np.int32)
    result = [0] * (4 * int(np.prod(shape)))
    given = [tuple(array.tobytes()) for array in (data, packed(by_channel), first)]
    interpreter = WrappingInterpreter(LowerOperators()(IRModule({"f": func})), steps=1_000_000)
    interpreter.call("f", [*(Pointer(memory) for memory in given), Pointer(result)])
    return np.frombuffer(bytes(result), np.int32).reshape(shape)


@pytest.mark.slow
@pytest.mark.parametrize("is_folded", [False, True], ids=["", "folded"])
@pytest.mark.parametrize("name", WINDOWS | LARGE_WINDOWS)
def test_every_output_is_its_sum(name, is_folded):
    """Reading outside of the data is an error of the interpreter."""
    window = (WINDOWS | LARGE_WINDOWS)[name]
    generator = np.random.default_rng(len(name))
    channels = 6
    data = generator.integers(-128, 128, (1, *window.data, channels)).astype(np.int8)
    weight = generator.integers(-127, 128, (*window.kernel, channels)).astype(np.int8)
    bias = generator.integers(-1000, 1000, channels).astype(np.int32)
    got = computed(window, data, weight, bias, is_folded)
    assert np.array_equal(got, expected(window, data, weight, bias))


def test_batches():
    window = WINDOWS["stride"]
    data = np.arange(2 * 5 * 6 * 4, dtype=np.uint8).astype(np.int8).reshape(2, 5, 6, 4)
    weight = np.arange(36, dtype=np.int8).reshape(3, 3, 4)
    bias = np.zeros(4, np.int32)
    got = computed(window, data, weight, bias, False)
    assert np.array_equal(got, expected(window, data, weight, bias))


def test_weights_of_four_channels_lie_together():
    weight = np.array([[c * 10 + tap for tap in range(3)] for c in range(6)])
    tiles = [0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32]
    assert packed(weight).tolist() == [*tiles, 40, 41, 42, 50, 51, 52]
