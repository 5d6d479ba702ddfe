"""An SVDF sums the features of four filters at once."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.quantized.svdf import SvdfWeights, svdf
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

BEFORE = Quantization("int8", (0.05,), (-3,))
KEPT = Quantization("int16", (0.001,), (0,))
AFTER = Quantization("int8", (0.07,), (5,))


def state_function(filters: int) -> tirx.PrimFunc:
    """What remembers the results of some filters over 6 features for 3 inputs."""
    weights = SvdfWeights(
        *(np.ones((filters, 6), np.int8), 0.004),
        *(np.ones((filters, 3), np.int16), 0.001),
        np.zeros(filters, np.int32),
    )
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 6), "int8"))
    state = relax.Var("state", relax.TensorType((1, 3 * filters), "int16"))
    with builder.function("main", [x, state]):
        outputs = svdf(builder, x, state, weights, (BEFORE, KEPT, AFTER))
        builder.emit_func_output(relax.Tuple(list(outputs)))
    return next(f for v, f in builder.get().functions.items() if v.name_hint == "svdf_state")


@pytest.mark.parametrize(
    ("filters", "intrinsics"),
    [(8, {"tvmgen_dot_1x4"}), (7, {"tvmgen_dot_1x4", "tvmgen_dot_1x1"}), (3, {"tvmgen_dot_1x1"})],
)
def test_filters_are_summed_four_at_a_time(filters, intrinsics):
    calls = [intrinsic_call(stmt) for stmt in nodes_of(state_function(filters), tirx.AttrStmt)]
    assert {call.args[0].value for call in calls if call is not None} == intrinsics


@pytest.mark.parametrize(("filters", "moved"), [(8, [11]), (7, [11, 2]), (3, [2])])
def test_what_some_filters_remember_moves_at_once(filters, moved):
    """The oldest of the first stays behind, the newest of the last is stored after."""
    loops = nodes_of(state_function(filters), tirx.For)
    assert [int(stmt.extent) for stmt in loops if stmt.loop_var.name == "m"] == moved
