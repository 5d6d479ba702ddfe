"""Convolutions that read images with channels first and write them with channels last."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS, run_as_program
from usmp.objects.cores import CORES, PORTABLE
from usmp.ops import quantized
from usmp.ops.kernels import select
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)

pytestmark = pytest.mark.cc

DATA, OUTPUT = Quantization("int8", (0.1,), (-5,)), Quantization("int8", (0.1,), (3,))
LIMITS = OutputLimits("int8", -100, 127)
CONFIG = {"tir.usmp.use_workspace_io": True, "tir.usmp.poison_dead_bytes": True}

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


def convolutions(layout="NCHW"):
    """A model of all of them, from data of a layout to NHWC."""
    builder, params = relax.BlockBuilder(), []
    for name, ((batch, channels, _), window) in WINDOWS.items():
        shape = Layout(layout).order(batch, *window.data, channels)
        params.append(relax.Var(f"x{name}".replace(" ", "_"), relax.TensorType(shape, "int8")))
    with builder.function("main", params):
        with builder.dataflow():
            results = [
                builder.emit(convolution(builder, x, name, layout))
                for name, x in zip(WINDOWS, params, strict=True)
            ]
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    return builder.get()


def convolution(builder, x, name, layout):
    (_, channels, outputs), window = WINDOWS[name]
    generator = np.random.default_rng(1)
    weight = generator.integers(-127, 128, (outputs, *window.kernel, channels)).astype(np.int8)
    bias = generator.integers(-999, 999, outputs).astype(np.int32)
    multipliers = tuple(QuantizedMultiplier((3 << 29) - c, -7) for c in range(outputs))
    weights = Quantization("int8", (0.1,) * outputs, (0,) * outputs)
    ends = (DATA, Rescale(multipliers, OUTPUT, LIMITS), Layout(layout), weights, Layout("NHWC"))
    return quantized.conv2d(builder, x, weight, bias, window, *ends)


def built(layout, target):
    with PassContext(config=CONFIG):
        return usmp.build(convolutions(layout), target=target)


def run(layout, inputs):
    factory = built(layout, "llvm")
    names = [param.name for param in convolutions(layout)["main"].params]
    outputs = factory.run(dict(zip(names, inputs, strict=True)))
    return b"".join(output.tobytes() for output in outputs.values())


@pytest.fixture(scope="module")
def images():
    """Data of each convolution, and the bytes of all without kernels."""
    generator = np.random.default_rng(2)
    shapes = [(batch, channels, *w.data) for (batch, channels, _), w in WINDOWS.values()]
    data = [generator.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(select, "_KERNELS", ())
        return data, run("NHWC", [np.ascontiguousarray(x.transpose(0, 2, 3, 1)) for x in data])


@pytest.mark.parametrize("core", ["generic", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_kernels(core, images, tmp_path, monkeypatch):
    data, expected = images
    factory = built("NCHW", f"c -mcpu={core}")
    read = b"".join(x.tobytes() for x in data)
    assert run_as_program(factory, tmp_path, SANITIZERS, read) == expected
    source = next(v for path, v in factory.files().items() if path.endswith("lib0.c"))
    tile = rb"[12] pixels? x \d channels?(?:, vectors)?"
    tiles = re.findall(tile, source)
    assert len(tiles) == len(WINDOWS)
    assert all(tile.endswith(b"vectors") == (core == "cortex-m55") for tile in tiles)
    monkeypatch.setattr("usmp.aot_pipeline.core_of", lambda _: CORES.get(core, PORTABLE))
    assert run("NCHW", data) == expected, "the loops that analyses see"
