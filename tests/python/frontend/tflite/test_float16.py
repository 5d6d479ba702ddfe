"""Tensors of float16 are moved and converted as TFLite's kernels do it."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.litert import Reference
from support.tflite_builder import Graph, options, write_model
from usmp.frontend.tflite.importer import import_tflite

NUMBERS = np.array(
    [[0, -0.0, 1.9, -1.9], [300, -300, 65504, -65504], [np.inf, -np.inf, np.nan, 6e-8]], np.float16
)
X = NUMBERS.shape
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")


def int32(values):
    return np.array(values, np.int32)


# Operator -> inputs after the data, shape of the output, its options.
MOVES = {
    "RESHAPE": ([int32([2, 6])], (2, 6), options("ReshapeOptions", new_shape=[2, 6])),
    "TRANSPOSE": ([int32([1, 0])], (4, 3), options("TransposeOptions")),
    "CONCATENATION": (["x"], (6, 4), options("ConcatenationOptions", axis=0)),
    "SLICE": ([int32([1, 1]), int32([2, 2])], (2, 2), options("SliceOptions")),
    "GATHER": ([int32([2, 0])], (2, 4), options("GatherOptions", axis=0)),
    "PAD": ([int32([[1, 0], [0, 2]])], (4, 6), options("PadOptions")),
    "MIRROR_PAD": ([int32([[1, 0], [0, 2]])], (4, 6), options("MirrorPadOptions", mode=0)),
    "TILE": ([int32([2, 1])], (6, 4), options("TileOptions")),
    "REVERSE_V2": ([int32([1])], X, options("ReverseV2Options")),
}


def same_bits(outputs, expected):
    """Whether tensors have the same bytes, but for which bits say that it is no number."""
    assert outputs.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(outputs[name], values, name, strict=True)
        numbers = ~np.isnan(values)
        assert outputs[name][numbers].tobytes() == values[numbers].tobytes()


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_moves(target):
    graph = Graph()
    x = graph.input(X, "float16", name="x")
    for code, (others, shape, table) in MOVES.items():
        moved = graph.tensor(shape, "float16", name=code)
        more = [x if isinstance(other, str) else graph.constant(other) for other in others]
        graph.operator(code, [x, *more], [moved], table)
        graph.output(moved)
    content, inputs = write_model(graph), {"x": NUMBERS}
    same_bits(
        usmp.build(import_tflite(content), target).run(inputs), Reference(content).run(inputs)
    )


@pytest.mark.cc
def test_parts_packed_and_an_input_that_is_an_output():
    """LiteRT's PACK does not know float16, and one that only moves needs none to compare."""
    graph = Graph()
    x = graph.input(X, "float16", name="x")
    packed = graph.tensor((2, *X), "float16", name="packed")
    graph.operator("PACK", [x, x], [packed], options("PackOptions", values_count=2))
    graph.output(packed, x)
    outputs = usmp.build(import_tflite(write_model(graph))).run({"x": NUMBERS})
    packed, passed_on = outputs.values()
    assert packed.tobytes() == NUMBERS.tobytes() * 2
    assert passed_on.tobytes() == NUMBERS.tobytes()


@pytest.mark.slow
@pytest.mark.models
def test_conversions_from_float16():
    graph = Graph()
    x = graph.input(X, "float16", name="x")
    for code, dtypes in {"CAST": ("float32", "bool", *INTEGERS), "DEQUANTIZE": ["float32"]}.items():
        for dtype in dtypes:
            converted = graph.tensor(X, dtype, name=f"{code} {dtype}")
            graph.operator(code, [x], [converted], options(f"{code.capitalize()}Options"))
            graph.output(converted)
    content, inputs = write_model(graph), {"x": NUMBERS}
    same_bits(usmp.build(import_tflite(content)).run(inputs), Reference(content).run(inputs))


@pytest.mark.slow
@pytest.mark.models
def test_conversions_to_float16():
    graph, inputs = Graph(), {}
    reals = np.array([65519.9, 65520, 1e-8, 6e-8, 1.00049, -0.0, np.inf, np.nan], np.float32)
    for dtype in ("float32", "bool", *INTEGERS):
        if dtype == "float32":
            inputs[dtype] = reals
        elif dtype == "bool":
            inputs[dtype] = np.array([True, False] * 4)
        else:
            limits = np.iinfo(dtype)
            numbers = [limits.min, limits.max, 0, 1, 5, 77, limits.max // 2, limits.max - 1]
            inputs[dtype] = np.array(numbers, dtype)
        x = graph.input((8,), dtype, name=dtype)
        half = graph.tensor((8,), "float16", name=f"{dtype} half")
        graph.operator("CAST", [x], [half], options("CastOptions"))
        graph.output(half)
    content = write_model(graph)
    same_bits(usmp.build(import_tflite(content)).run(inputs), Reference(content).run(inputs))
