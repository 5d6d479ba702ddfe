"""The loops of convolutions compute what a convolution is, whatever the tile."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.levels import in_turn
from support.tir_arithmetic import wrap
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators
from usmp.ops.kernels.images import conv2d
from usmp.ops.kernels.images.conv2d import convolution
from usmp.ops.kernels.images.convolution import Convolution
from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.window import Window

ZERO_POINT = -3

WINDOWS = {
    "same": Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5)),
    "valid": Window((4, 6), (2, 3), (1, 1), (1, 1), (0, 0), (3, 4)),
    "stride": Window((5, 6), (3, 3), (2, 2), (1, 1), (1, 1), (3, 3)),
    "padding on the right only": Window((4, 4), (3, 3), (2, 2), (1, 1), (0, 0), (2, 2)),
    "larger than the data": Window((2, 2), (5, 5), (1, 1), (1, 1), (2, 2), (2, 2)),
    "beside the data": Window((1, 1), (2, 2), (1, 1), (1, 1), (2, 2), (4, 4)),
    "dilation": Window((6, 7), (2, 3), (1, 1), (2, 2), (1, 2), (6, 7)),
    "one column": Window((3, 1), (3, 1), (1, 1), (1, 1), (1, 0), (3, 1)),
}


class WrappingInterpreter(Interpreter):
    """Nothing is known of the bias: sums with it are made by functions."""

    def extern(self, name, values):
        assert name == "tvmgen_add_int32"
        return wrap(sum(values), "int32")


def expected(window: Window, data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The accumulators, (batch, height, width, outputs) of int64."""
    batch, outputs = len(data), len(weight)
    result = np.zeros((batch, *window.output, outputs), np.int64) + bias
    real = data.astype(np.int64) - ZERO_POINT
    for y, x, ky, kx in np.ndindex(*window.output, *window.kernel):
        row = y * window.strides[0] + ky * window.dilations[0] - window.padding[0]
        column = x * window.strides[1] + kx * window.dilations[1] - window.padding[1]
        if 0 <= row < window.data[0] and 0 <= column < window.data[1]:
            result[:, y, x] += real[:, row, column] @ weight[:, ky, kx].astype(np.int64).T
    return result


def computed(
    window: Window,
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    tile: tuple[int, tuple[int, ...]],
    is_folded: bool,
) -> np.ndarray:
    """What the loops of the TIR compute."""
    outputs = len(weight)
    shape = (len(data), *window.output, outputs)
    x = tirx.decl_buffer(data.shape, "int8", "x")
    w = tirx.decl_buffer((weight.size,), "int8", "w")
    b = tirx.decl_buffer(bias.shape, "int32", "b")
    y = tirx.decl_buffer(shape, "int32", "y")
    conv = Convolution(
        x,
        w,
        window,
        outputs,
        Accumulators(
            ZERO_POINT,
            is_folded,
            lambda c: b[c],
            lambda accumulator, indices: tirx.BufferStore(y, accumulator, list(indices)),
        ),
    )
    func = tirx.PrimFunc([x, w, b, y], convolution(conv, *tile)).with_attr("global_symbol", "f")
    result = [0] * (4 * int(np.prod(shape)))
    folded = weight.astype(np.int64).sum(axis=(1, 2, 3)) * ZERO_POINT if is_folded else 0
    first = (bias - folded).astype(np.int32)
    given = [tuple(array.tobytes()) for array in (data, weight, first)]
    interpreter = WrappingInterpreter(LowerOperators()(IRModule({"f": func})), steps=1_000_000)
    interpreter.call("f", [*(Pointer(memory) for memory in given), Pointer(result)])
    return np.frombuffer(bytes(result), np.int32).reshape(shape)


@pytest.mark.parametrize(
    ("name", "tile", "is_folded"),
    in_turn(WINDOWS, [(1, (1,)), (2, (2, 1)), (1, (4, 2, 1)), (4, (1,))], (False, True)),
    ids=str,
)
def test_every_output_is_its_sum(name, tile, is_folded):
    """Reading outside of the data is an error of the interpreter."""
    window = WINDOWS[name]
    generator = np.random.default_rng(len(name))
    channels, outputs = 2, 3
    data = generator.integers(-128, 128, (1, *window.data, channels)).astype(np.int8)
    weight = generator.integers(-127, 128, (outputs, *window.kernel, channels)).astype(np.int8)
    bias = generator.integers(-1000, 1000, outputs).astype(np.int32)
    got = computed(window, data, weight, bias, tile, is_folded)
    assert np.array_equal(got, expected(window, data, weight, bias))


@pytest.mark.parametrize("is_folded", [False, True], ids=["", "folded"])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_that_are_not_copied_at_the_border(name, is_folded, monkeypatch):
    monkeypatch.setattr(conv2d, "PATCH_BYTES", 0)
    test_every_output_is_its_sum(name, (2, (2, 1)), is_folded)


def test_batches():
    window = WINDOWS["same"]
    data = np.arange(2 * 4 * 5, dtype=np.int8).reshape(2, 4, 5, 1)
    weight = np.arange(9, dtype=np.int8).reshape(1, 3, 3, 1)
    bias = np.zeros(1, np.int32)
    got = computed(window, data, weight, bias, (2, (2, 1)), True)
    assert np.array_equal(got, expected(window, data, weight, bias))
