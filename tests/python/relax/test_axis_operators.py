"""Calls that can be computed in parts along an axis, and what their records say then."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import GenericConst

from usmp.ops import quantized
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)
from usmp.ops.records import operator_of
from usmp.relax.axis_operators import AxisOperator, axis_operator

SCALE = Quantization("int8", (0.5,), (3,))
LIMITS = OutputLimits("int8", -128, 127)
NHWC = Layout("NHWC")
COLUMNS = [(0, 0), (0, 0), (1, 1), (0, 0)]
X = relax.Var("x", relax.TensorType((1, 6, 5, 2), "int8"))


def along_rows(make) -> AxisOperator | None:
    builder = relax.BlockBuilder()
    call = builder.normalize(make(builder))
    return axis_operator(builder.get(), call, {X: 1}, lambda e: isinstance(e, GenericConst))


def convolution(builder):
    window = Window((6, 5), (3, 3), (1, 1), (1, 1), (1, 1), (6, 5))
    rescale = Rescale((QuantizedMultiplier(1 << 30, -4),), SCALE, LIMITS)
    weight = np.ones((4, 3, 3, 2), np.int8)
    return quantized.conv2d(builder, X, weight, None, window, SCALE, rescale, NHWC, SCALE)


@pytest.mark.parametrize(
    ("rows", "given", "top"), [((0, 2), (0, 3), 1), ((2, 4), (1, 5), 0), ((3, 4), (1, 5), -1)]
)
def test_padding_of_a_part_is_where_it_was(rows, given, top):
    operator = along_rows(convolution)
    assert operator is not None
    builder = relax.BlockBuilder()
    tensor = relax.Var("p", relax.TensorType((1, given[1] - given[0], 5, 2), "int8"))
    call = operator.emit(builder, rows, {0: given}, {0: tensor})
    record = operator_of(builder.get()[call.args[0]])
    assert record.padding == (top, 1)


@pytest.mark.parametrize(
    ("make", "is_part"),
    [
        (lambda b: quantized.relu(b, X, SCALE, SCALE, LIMITS), True),
        (
            lambda b: quantized.mirror_pad(b, X, [(0, 0)] * 2 + [(1, 1), (0, 0)], False, SCALE),
            False,
        ),
        (lambda b: quantized.space_to_batch(b, X, (1, 5), [(0, 0)] * 2, 0, SCALE), False),
    ],
)
def test_records_of_extents_say_nothing_of_parts(make, is_part):
    """Also along rows that stay as they are."""
    assert (along_rows(make) is not None) == is_part
