"""The loops of transposed convolutions compute what those are, whatever the tile."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from ops.kernels.images.test_conv2d import ZERO_POINT, WrappingInterpreter
from support.levels import in_turn
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators
from usmp.ops.kernels.images.convolution import Convolution
from usmp.ops.kernels.images.transposed_conv2d import (
    PhaseConvolution,
    SidePhase,
    phase_weight,
    phases_of,
    stored_by_phase,
    transposed_convolution,
)
from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.kernels.loops.index_ranges import IndexRange
from usmp.ops.quantized.transposed_convolution import TransposedSide
from usmp.ops.window import Window

SIDES = {
    "stride 1": (TransposedSide(4, 3, 1, 1, 4), TransposedSide(5, 3, 1, 1, 5)),
    "stride 2": (TransposedSide(3, 3, 2, 0, 6), TransposedSide(5, 3, 2, 0, 10)),
    "stride 2, padding": (TransposedSide(3, 4, 2, 1, 6), TransposedSide(4, 5, 2, 1, 8)),
    "strides 2 and 3": (TransposedSide(3, 2, 2, 0, 6), TransposedSide(3, 4, 3, 1, 9)),
    "no tap": (TransposedSide(3, 2, 3, 0, 9), TransposedSide(3, 1, 2, 0, 6)),
    "much padding": (TransposedSide(5, 3, 2, 3, 5), TransposedSide(6, 3, 2, 2, 9)),
    "output beyond the data": (TransposedSide(2, 3, 2, 0, 9), TransposedSide(3, 2, 1, 0, 7)),
    "odd output": (TransposedSide(4, 3, 2, 1, 7), TransposedSide(5, 3, 2, 1, 9)),
}


def expected(sides, data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The accumulators, (batch, height, width, outputs) of int64: what each element adds."""
    rows, columns = sides
    result = np.zeros((len(data), rows.output, columns.output, len(weight)), np.int64) + bias
    real = data.astype(np.int64) - ZERO_POINT
    for y, x, ky, kx in np.ndindex(rows.data, columns.data, rows.kernel, columns.kernel):
        row, column = y * rows.stride + ky - rows.padding, x * columns.stride + kx - columns.padding
        if 0 <= row < rows.output and 0 <= column < columns.output:
            result[:, row, column] += real[:, y, x] @ weight[:, ky, kx].astype(np.int64).T
    return result


def computed(sides, data, weight, bias, tile, is_folded) -> np.ndarray:
    """What the loops of the TIR compute."""
    batch, height, width, _ = data.shape
    shape = (batch, *(side.output for side in sides), len(weight))
    x = tirx.decl_buffer(data.shape, "int8", "x")
    y = tirx.decl_buffer(shape, "int32", "y")
    buffers, given, by_phase = [x], [data], []
    for phases in phases_of(sides):
        values = phase_weight(weight, phases)
        folded = values.astype(np.int64).sum(axis=(1, 2, 3)) * ZERO_POINT if is_folded else 0
        w = tirx.decl_buffer((values.size,), "int8", "w")
        b = tirx.decl_buffer(bias.shape, "int32", "b")
        buffers, given = [*buffers, w, b], [*given, values, (bias - folded).astype(np.int32)]
        taps, padding = [p.taps for p in phases], [p.padding for p in phases]
        output = tuple(p.existing.end for p in phases)
        window = Window((height, width), tuple(taps), (1, 1), (1, 1), tuple(padding), output)
        accumulators = Accumulators(
            ZERO_POINT,
            is_folded,
            lambda c, b=b: b[c],
            lambda value, indices: tirx.BufferStore(y, value, indices),
        )
        conv = Convolution(x, w, window, len(weight), stored_by_phase(accumulators, phases))
        by_phase.append(PhaseConvolution(phases, conv))
    body = transposed_convolution(by_phase, *tile)
    func = tirx.PrimFunc([*buffers, y], body).with_attr("global_symbol", "f")
    result = [0] * (4 * int(np.prod(shape)))
    interpreter = WrappingInterpreter(LowerOperators()(IRModule({"f": func})), steps=1_000_000)
    interpreter.call("f", [*(Pointer(tuple(a.tobytes())) for a in given), Pointer(result)])
    return np.frombuffer(bytes(result), np.int32).reshape(shape)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tile", "is_folded"),
    in_turn(SIDES, [(1, (2, 1)), (2, (2, 1))], (False, True)),
    ids=str,
)
def test_every_output_is_its_sum(name, tile, is_folded):
    """Reading or writing outside of a tensor is an error of the interpreter."""
    sides = SIDES[name]
    generator = np.random.default_rng(len(name))
    kernel = [side.kernel for side in sides]
    data = generator.integers(-128, 128, (1, *(s.data for s in sides), 2)).astype(np.int8)
    weight = generator.integers(-127, 128, (3, *kernel, 2)).astype(np.int8)
    bias = generator.integers(-1000, 1000, 3).astype(np.int32)
    got = computed(sides, data, weight, bias, tile, is_folded)
    assert np.array_equal(got, expected(sides, data, weight, bias))


def test_each_tap_is_in_one_phase_against_the_order_of_the_kernel():
    weight = np.arange(15, dtype=np.int8).reshape(1, 3, 5, 1)
    phases = phases_of((TransposedSide(4, 3, 2, 0, 8), TransposedSide(4, 5, 2, 0, 8)))
    parts = [phase_weight(weight, phase)[0, :, :, 0].tolist() for phase in phases]
    assert parts == [[[14, 12, 10], [4, 2, 0]], [[13, 11], [3, 1]], [[9, 7, 5]], [[8, 6]]]


@pytest.mark.parametrize(
    ("side", "tap", "existing", "inner"),
    [
        (TransposedSide(4, 3, 2, 0, 8), 0, IndexRange(0, 4), IndexRange(1, 4)),
        (TransposedSide(4, 3, 2, 0, 8), 1, IndexRange(0, 4), IndexRange(0, 4)),
        (TransposedSide(4, 3, 2, 1, 8), 0, IndexRange(1, 5), IndexRange(1, 4)),
        (TransposedSide(4, 3, 2, 1, 7), 0, IndexRange(1, 4), IndexRange(1, 4)),
        (TransposedSide(2, 3, 2, 0, 9), 0, IndexRange(0, 5), IndexRange(1, 2)),
        (TransposedSide(3, 2, 3, 0, 9), 2, IndexRange(0, 3), IndexRange(0, 3)),
        (TransposedSide(1, 7, 2, 3, 2), 1, IndexRange(0, 1), IndexRange(1, 1)),
    ],
)
def test_pixels_of_a_phase(side, tap, existing, inner):
    phase = SidePhase(side, tap)
    assert (phase.existing, phase.inner) == (existing, inner)
