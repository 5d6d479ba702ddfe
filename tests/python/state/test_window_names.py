"""States of windows have the names of the model's tensors, so that state layouts stay valid."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.tflite_builder import Graph, options, per_tensor, write_model
from usmp.aot.transform import ConvertWindowsToStates

SCALE = per_tensor(0.05, -3)


def spotter(names=("first", "second"), seed: int = 0, other: bool = False) -> bytes:
    """Two convolutions over time, and the largest of their rows.

    Parameters
    ----------
    names
        names of the results of the convolutions.
    seed
        of the weights.
    other
        whether an unrelated operator comes first.
    """
    graph, generator = Graph(), np.random.default_rng(seed)
    tensor, rows = graph.input((1, 12, 1, 2), "int8", SCALE, "sound"), 12
    if other:
        level, louder = graph.input((1, 4), "int8", SCALE), graph.tensor((1, 4), "int8", SCALE)
        graph.operator("RELU", [level], [louder])
        graph.output(louder)
    for name in names:
        weights = graph.constant(
            generator.integers(-127, 128, (2, 3, 1, 2), np.int8), per_tensor(0.01)
        )
        bias = graph.constant(generator.integers(-99, 99, 2, np.int32), per_tensor(0.0005))
        rows -= 2
        read, tensor = tensor, graph.tensor((1, rows, 1, 2), "int8", SCALE, name=name)
        table = options(
            "Conv2DOptions",
            **{"padding": 1, "stride_h": 1, "stride_w": 1},
            **{"dilation_h_factor": 1, "dilation_w_factor": 1},
        )
        graph.operator("CONV_2D", [read, weights, bias], [tensor], table)
    axes = graph.constant(np.array([1, 2], np.int32))
    largest = graph.tensor((1, 2), "int8", SCALE, name="largest")
    graph.operator("REDUCE_MAX", [tensor, axes], [largest], options("ReducerOptions"))
    graph.output(largest)
    return write_model(graph)


def states(path, content: bytes) -> set[str]:
    path.write_bytes(content)
    with PassContext(config={"tir.usmp.stream_inputs": ["sound:hop=1"]}):
        mod = ConvertWindowsToStates()(usmp.import_model(path))
    return {str(state.name) for state in mod["main"].attrs["states"]}


@pytest.mark.parametrize("changed", [{}, {"seed": 1}, {"other": True}])
def test_other_weights_and_operators_leave_the_names(tmp_path, changed):
    assert states(tmp_path / "m.tflite", spotter(**changed)) == {
        "sound_window",
        "first_window",
        "second_window",
    }


def test_a_repeated_name_gets_a_number(tmp_path):
    kept = states(tmp_path / "m.tflite", spotter(("same", "same")))
    assert kept == {"sound_window", "same_window", "same_window_1"}


def test_of_fused_operators_the_last_one_names_the_tensor(tmp_path):
    kept = states(tmp_path / "m.tflite", spotter(("a/Relu;b/shared;a/Conv2D", "c;")))
    assert kept == {"sound_window", "a/Conv2D_window", "c;_window"}
