"""Convolutions that read images with channels first and write them with channels last."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tvm import relax

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.kernel_models import differences, kernel_bodies
from support.levels import sample
from support.planner_contexts import planner_context
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.ops import quantized
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)

pytestmark = [pytest.mark.cc, pytest.mark.slow]

DATA, OUTPUT = Quantization("int8", (0.1,), (-5,)), Quantization("int8", (0.1,), (3,))
LIMITS = OutputLimits("int8", -100, 127)
CONFIG = {
    "tir.usmp.use_workspace_io": True,
    "tir.usmp.debug": ["poison_dead_bytes"],
    # No two of the convolutions depend on each other.
    "disabled_pass": ["StreamOperators", "OrderOperators"],
    # Nor is a proof of the plan wanted.
    "tir.usmp.algorithm": "hill_climb",
}

WINDOWS = {
    # Batch, channels and outputs; data, kernel, strides, dilations, padding, output.
    "3x3 stride 2": ((1, 3, 8), Window((9, 8), (3, 3), (2, 2), (1, 1), (0, 1), (4, 4))),
    "5x2 padded": ((2, 2, 5), Window((6, 7), (5, 2), (1, 1), (1, 1), (2, 1), (6, 8))),
    "dilated": ((1, 4, 3), Window((9, 9), (3, 3), (1, 2), (2, 3), (1, 3), (7, 5))),
    "1x1": ((1, 5, 9), Window((4, 3), (1, 1), (1, 1), (1, 1), (0, 0), (4, 3))),
    "outside": ((1, 2, 2), Window((2, 2), (3, 3), (1, 1), (1, 1), (4, 4), (6, 6))),
    "9x9": ((1, 3, 4), Window((12, 10), (9, 9), (1, 1), (1, 1), (0, 0), (4, 2))),
    "wide": ((1, 1, 6), Window((1, 40), (1, 10), (1, 2), (1, 1), (0, 4), (1, 20))),
}


def convolutions():
    """A model of all of them, from data with channels first to NHWC."""
    builder, params = relax.BlockBuilder(), []
    for name, ((batch, channels, _), window) in WINDOWS.items():
        shape = (batch, channels, *window.data)
        params.append(relax.Var(f"x{name}".replace(" ", "_"), relax.TensorType(shape, "int8")))
    with builder.function("main", params):
        with builder.dataflow():
            results = [
                builder.emit(convolution(builder, x, name))
                for name, x in zip(WINDOWS, params, strict=True)
            ]
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    return builder.get()


def constants(name):
    """The weights, biases and scales of a convolution."""
    (_, channels, outputs), window = WINDOWS[name]
    generator = np.random.default_rng(1)
    weight = generator.integers(-127, 128, (outputs, *window.kernel, channels)).astype(np.int8)
    bias = generator.integers(-999, 999, outputs).astype(np.int32)
    multipliers = tuple(QuantizedMultiplier((3 << 29) - c, -7) for c in range(outputs))
    return weight, bias, Rescale(multipliers, OUTPUT, LIMITS)


def convolution(builder, x, name):
    (_, _, outputs), window = WINDOWS[name]
    weight, bias, rescale = constants(name)
    weights = Quantization("int8", (0.1,) * outputs, (0,) * outputs)
    ends = (DATA, rescale, Layout("NCHW"), weights, Layout("NHWC"))
    return quantized.conv2d(builder, x, weight, bias, window, *ends)


def expected(name, data):
    """What a convolution computes from data with channels first."""
    (_, _, outputs), window = WINDOWS[name]
    weight, bias, rescale = constants(name)
    x = data.astype(np.int64) - DATA.zero_points[0]
    x = np.pad(x, [(0, 0), (0, 0), *((before, 40) for before in window.padding)])
    total = np.zeros((data.shape[0], *window.output, outputs), np.int64) + bias
    for taps in np.ndindex(window.kernel):
        first = [tap * step for tap, step in zip(taps, window.dilations, strict=True)]
        rows, columns = (
            slice(start, start + (extent - 1) * step + 1, step)
            for start, extent, step in zip(first, window.output, window.strides, strict=True)
        )
        total += np.einsum(
            "bcyx,oc->byxo", x[:, :, rows, columns], weight[(slice(None), *taps)].astype(int)
        )
    scaled = [rescale.factors[index[-1]].apply(int(t)) for index, t in np.ndenumerate(total)]
    result = np.reshape(scaled, total.shape) + OUTPUT.zero_points[0]
    return np.clip(result, LIMITS.minimum, LIMITS.maximum).astype(np.int8)


@pytest.mark.parametrize("core", ["generic", *sample(["cortex-m3", "cortex-m4"], 1), "cortex-m55"])
def test_kernels(core):
    bodies = kernel_bodies(convolutions(), core)
    tiles = [SCHEDULE_ATTR.of(body.func).tile for body in bodies]
    tile = re.compile(r"[12] pixels? x \d channels?(, vectors)?")
    assert all(tile.match(text) for text in tiles)
    assert {"vectors" in text for text in tiles} == {core == "cortex-m55"}
    assert len({body.operator.digest for body in bodies}) == len(WINDOWS)
    assert differences(bodies) == []


def test_outputs(tmp_path):
    generator = np.random.default_rng(2)
    shapes = [(batch, channels, *w.data) for (batch, channels, _), w in WINDOWS.values()]
    data = [generator.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    with planner_context(CONFIG):
        factory = usmp.build(convolutions(), target="c -mcpu=cortex-m55")
    assert len(re.findall(r"pixels? x \d channels?, vectors", factory.source)) == len(WINDOWS)
    read = b"".join(x.tobytes() for x in data)
    outputs = run_as_program(factory, tmp_path, SANITIZERS, read)
    assert outputs == b"".join(
        expected(*each).tobytes() for each in zip(WINDOWS, data, strict=True)
    )
