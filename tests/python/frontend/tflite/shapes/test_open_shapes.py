"""Extents that a TFLite file leaves open follow from the inputs, whatever number it has there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import usmp
from support.litert import Reference
from support.tflite_builder import Graph, options, per_tensor, write_model
from support.tflite_refusals import message_of
from usmp.frontend.tflite.importer import import_tflite

Q = per_tensor(0.1, -3)


class OpenGraph(Graph):
    """Tensors with -1 in their shape have a 1 there in the file."""

    def opened(self, shape: Sequence[int], dtype: str = "int8") -> int:
        stored = [1 if extent < 0 else extent for extent in shape]
        quantization = Q if dtype == "int8" else None
        return self.tensor(stored, dtype, quantization, signature=shape)

    def numbers(self, *values: int) -> int:
        return self.constant(np.array(values, np.int32))


def rows_of_four() -> bytes:
    """Of a batch of (8, 6): 12 rows, a product, and what is as long as they are."""
    graph = OpenGraph()
    x = graph.opened((-1, 8, 6))
    graph.inputs.append(x)
    rows, dense, total, mean = (graph.opened(shape) for shape in ((-1, 4), (-1, 5), (-1, 5), (-1,)))
    image, back = graph.opened((-1, 1, 5, 1)), graph.opened((-1, 3, 5))
    pooled = graph.opened((-1, 1, 4, 1))
    table = options("ReshapeOptions", new_shape=[-1, 4])
    graph.operator("RESHAPE", [x], [rows], table)
    weight = graph.constant(np.arange(-10, 10, dtype=np.int8).reshape(5, 4), per_tensor(0.1))
    graph.operator("FULLY_CONNECTED", [rows, weight], [dense], options("FullyConnectedOptions"))
    graph.operator("ADD", [dense, dense], [total], options("AddOptions"))
    graph.operator("MEAN", [total, graph.numbers(1)], [mean], options("ReducerOptions"))
    graph.operator("RESHAPE", [total, graph.numbers(-1, 1, 5, 1)], [image])
    table = options("Pool2DOptions", padding=1, stride_h=1, stride_w=1, filter_height=1,
                    filter_width=2)  # fmt: skip
    graph.operator("MAX_POOL_2D", [image], [pooled], table)
    graph.operator("RESHAPE", [total, graph.numbers(-1, 3, 5)], [back])
    size, shape = graph.tensor((), "int32"), graph.tensor((2,), "int32")
    graph.operator("SHAPE", [total], [shape], options("ShapeOptions", out_type=2))
    table = options("StridedSliceOptions", shrink_axis_mask=1)
    ends = [graph.numbers(value) for value in (0, 1, 1)]
    graph.operator("STRIDED_SLICE", [shape, *ends], [size], table)
    first, step = (graph.constant(np.array(value, np.int32)) for value in (3, 2))
    numbers = graph.opened((-1,), "int32")
    graph.operator("RANGE", [first, size, step], [numbers], options("RangeOptions"))
    column, line = graph.opened((-1, 1)), graph.opened((-1, 4))
    graph.operator("EXPAND_DIMS", [mean, graph.numbers(-1)], [column])
    graph.operator("SQUEEZE", [pooled], [line], options("SqueezeOptions", squeeze_dims=[1, -1]))
    graph.output(back, column, line, numbers)
    return write_model(graph)


@pytest.mark.models
def test_rows_that_the_batch_makes():
    content = rows_of_four()
    reference = Reference(content)
    inputs = reference.random_inputs(0)
    actual = usmp.build(import_tflite(content)).run(inputs)
    for name, expected in reference.run(inputs).items():
        assert actual[name].shape == expected.shape
        assert actual[name].tobytes() == expected.tobytes()


def reshape(stored: Sequence[int], new: Sequence[int]) -> bytes:
    graph = OpenGraph()
    x = graph.input((1, 8, 6), "int8", Q)
    y = graph.opened(stored)
    table = options("ReshapeOptions", new_shape=list(new))
    graph.operator("RESHAPE", [x, graph.numbers(*new)], [y], table)
    graph.output(y)
    return write_model(graph)


@pytest.mark.parametrize(
    ("stored", "new"),
    [
        ((-1, 4), (4, 12)),
        ((-1, 4), (-1, -1)),
        ((-1, 4), (-2, 4)),
        ((-1, 4), (-1, 0)),
        ((1, -1), (-1, 4)),
        ((-1, -1, -1), (-1, 4)),
        ((1, 4), (12, 4)),
    ],
    ids=str,
)
def test_shapes_that_contradict_the_file(stored, new):
    shown = [1 if extent < 0 else extent for extent in stored]
    assert message_of(reshape(stored, new)) == (
        f'operator 0 (RESHAPE, output "t1"): shapes [1, 8, 6] -> {shown}'
    )


def test_open_extents_may_ask_for_no_more_than_others():
    graph = OpenGraph()
    x = graph.input((1,), "float32")
    y = graph.opened((-1, -1), "float32")
    graph.operator("FILL", [graph.numbers(2**15, 2**15), x], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == (
        'operator 0 (FILL, output "t1"): a tensor of shape [32768, 32768] takes 4294967296 bytes; '
        "a tensor may take 268435456, which --max-model-bytes (in Python max_model_bytes) can raise"
    )
