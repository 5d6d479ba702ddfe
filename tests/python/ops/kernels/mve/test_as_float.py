"""Operators that round as floats on cores with MVE compute the bytes of onnxruntime: the loops that
analyses see, the portable C on this host, and the functions on a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.board_programs import require_board, run_models
from support.built_ways import in_order
from support.c_program import SANITIZERS, run_as_program
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from support.planner_contexts import planner_context
from usmp.boards.board import board_named
from usmp.objects.target.cores import CORES

pytestmark = pytest.mark.slow

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

M55 = "c -mcpu=cortex-m55"
CONFIG = {"disabled_pass": ["StreamOperators"], "tir.usmp.algorithm": "hill_climb"}
"""Operators run one after the other: a mean by rows has another kernel. Bytes do not matter."""
FUNCTIONS = {
    *("conv2d_2x4_as_float", "conv2d_2x4_rows_as_float", "conv2d_1x4_as_float"),
    *("conv2d_4x1_as_float", "depthwise_row_9_as_float", "multiply_as_float", "sums_as_float"),
}


@cache
def model() -> bytes:
    """Convolutions of all kinds, a product of tensors, a mean, and a matrix product, between whose
    layers there are 8 bits, as in QOperator form."""
    graph, generator = Graph(), np.random.default_rng(7)
    scale = graph.constant(2.0**-4, np.float32)
    # Where it is even, onnxruntime's product, which is rounded with it, is the same as without it.
    zero = graph.constant(4, np.int8)
    quantization = (scale, zero)

    def constants(outputs: int, taps: int, *shape: int) -> list[str]:
        """Weights; scales, of which some are powers of two; zero points; what outputs are."""
        weight = generator.integers(-127, 128, (outputs, *shape)).astype(np.int8)
        scales = np.float32(generator.uniform(0.5, 1.5, outputs) / 128 / np.sqrt(taps))
        scales[::3] = 2.0 ** np.rint(np.log2(scales[::3]))
        points = np.zeros(outputs, np.int8)
        return [graph.constant(weight), graph.constant(scales), graph.constant(points)]

    def convolution(x: str, outputs: int, inputs: int, size: int, group: int = 1) -> str:
        taps = inputs * size * size
        bias = generator.integers(-(2**9), 2**9, outputs) * np.where(
            np.arange(outputs) % 5, 1, 2**16
        )
        return graph.node(
            "QLinearConv",
            *(x, *quantization, *constants(outputs, taps, inputs, size, size), *quantization),
            graph.constant(bias.astype(np.int32)),
            pads=[size // 2] * 4,
            group=group,
        )

    x, y = (graph.input(name, [1, 3, 9, 8], "int8") for name in "xy")
    x = graph.node(
        "QLinearMul", *(x, *quantization, y, *quantization, *quantization), domain="com.microsoft"
    )
    x = convolution(x, 16, 3, 3)
    x = convolution(x, 16, 16, 3)
    x = convolution(x, 16, 1, 3, group=16)
    y = convolution(x, 16, 16, 1)
    few = convolution(x, 3, 16, 1)
    mean = graph.node(
        "QLinearGlobalAveragePool", y, *quantization, *quantization, domain="com.microsoft"
    )
    rows = graph.node("Flatten", mean)
    weight, scales, points = constants(10, 16, 16)
    dense = graph.node(
        "QGemm",
        *(rows, *quantization, weight, scales, points, "", *quantization),
        domain="com.microsoft",
        transB=1,
    )
    return graph.model(few, dense, dtype="int8", domains=("com.microsoft",))


def runs() -> list[dict[str, np.ndarray]]:
    generator = np.random.default_rng(8)
    drawn = generator.integers(-128, 128, (2, 2, 1, 3, 9, 8)).astype(np.int8)
    return [{"x": x, "y": y} for x, y in drawn]


def expected() -> list[dict[str, np.ndarray]]:
    results = [Reference(model()).run(one) for one in runs()]
    assert all(len(np.unique(value)) > 8 for result in results for value in result.values())
    return results


def built(**arguments) -> usmp.AOTExecutorFactoryModule:
    with planner_context(CONFIG):
        return usmp.build(import_onnx(model(), Path(".")), **arguments)


def check(outputs: Sequence[Mapping[str, np.ndarray]]) -> None:
    for ours, theirs in zip(outputs, expected(), strict=True):
        for actual, result in zip(ours.values(), theirs.values(), strict=True):
            np.testing.assert_array_equal(actual, result)


@pytest.mark.models
def test_portable_functions(tmp_path):
    factory = built(target=M55)
    data = in_order(runs(), [str(tensor.info.name) for tensor in factory.interface.inputs])
    names = [str(tensor.info.name) for tensor in factory.interface.outputs]
    results = [dict(zip(names, one.values(), strict=True)) for one in expected()]
    assert run_as_program(factory, tmp_path, SANITIZERS, data) == in_order(results, names)
    source = next(v for k, v in factory.files().items() if k.endswith("lib0.c"))
    called = {name for name in FUNCTIONS if f"  tvmgen_mve_{name}(".encode() in source}
    assert called == FUNCTIONS


@pytest.mark.models
def test_loops(monkeypatch):
    monkeypatch.setattr("usmp.aot_pipeline.core_of", lambda _: CORES["cortex-m55"])
    factory = built(target="llvm")
    check([factory.run(one) for one in runs()])


@pytest.mark.board
def test_functions_on_a_board(tmp_path):
    board = board_named("mps3-an547")
    require_board(board)
    (outputs,) = run_models(board, [(built(board=board), runs())], tmp_path)
    check(outputs)
