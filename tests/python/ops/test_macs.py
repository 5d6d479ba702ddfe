"""Multiply-accumulates of operators: by the shapes of integer operators, and by their loops."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.script import tirx as T

from support.imported_models import imported, imported_model
from support.quantized_kinds import of_each_kind
from support.quantized_models import CATALOG
from usmp.ops.macs import macs_of, macs_of_loops
from usmp.ops.records import operator_of, with_operators


def recorded(mod):
    """The PrimFuncs of integer operators."""
    functions = [func for func in mod.functions.values() if isinstance(func, tirx.PrimFunc)]
    return [func for func in functions if operator_of(func) is not None]


def of_lstm(shapes, _):
    """Every step of every sequence takes all weights, which have two axes; biases have one."""
    weights = [shape for shape in shapes[4:-1] if len(shape) == 2]
    return prod(shapes[2][:2]) * sum(map(prod, weights))


EXPECTED = {
    "batch_matmul": lambda shapes, record: (
        prod(shapes[-1]) * shapes[0][-2 if record.transposed[0] else -1]
    ),
    # The weight is (outputs, height, width, depth); of two groups, half the depth.
    "conv2d": lambda shapes, _: prod(shapes[-1]) * prod(shapes[1][1:]),
    # The weight is (height, width, outputs).
    "depthwise_conv2d": lambda shapes, _: prod(shapes[-1]) * prod(shapes[1][:2]),
    "fully_connected": lambda shapes, _: prod(shapes[-1]) * shapes[1][1],
    "l2_normalize": lambda shapes, _: prod(shapes[0]),
    "lstm": of_lstm,
    # The weight is (units, what their filters remember).
    "svdf": lambda shapes, _: prod(shapes[-1]) * shapes[1][1],
    # Data is (batch, features), the weight (filters, features).
    "svdf_state": lambda shapes, _: shapes[1][0] * prod(shapes[2]),
    # Each element of the data goes to all taps of all outputs.
    "transpose_conv2d": lambda shapes, _: prod(shapes[0]) * prod(shapes[1][:3]),
}
"""From shapes of parameters, the output last; operators of other kinds add no products."""


@pytest.mark.slow
def test_integer_operators_take_the_products_of_their_shapes():
    """Of operators of the catalog; all kinds that have products are there."""
    compared = set()
    for model in of_each_kind(CATALOG):
        for func in recorded(imported(model)):
            record, expected = operator_of(func), 0
            if record.kind in EXPECTED:
                shapes = [tuple(map(int, p.shape)) for p in func.params if tirx.is_buffer_var(p)]
                expected = EXPECTED[record.kind](shapes, record)
                compared.add(record.kind)
            assert macs_of(func) == expected, model.name
    assert compared == EXPECTED.keys()


@pytest.mark.parametrize(
    ("name", "macs"),
    [
        # (1, 4, 5, 3) by 3 x 3 taps of 4 outputs.
        ("transpose_conv_stride_2", 60 * 9 * 4),
        # What interpolates between entries of a table is no product of the model.
        ("softmax_int16", 0),
    ],
)
def test_loops_that_multiply_more(name, macs):
    """Also of operators that share their code, whose records are kept together."""
    (func,) = recorded(imported_model(name))
    assert macs_of(func) == macs
    assert macs_of(with_operators(func, [[operator_of(func)]])) == macs


def test_products_of_float_operators_are_counted():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 3, 8, 8), "float32"))
    with builder.function("main", [x]):
        weight = relax.const(np.ones((4, 3, 3, 3), np.float32))
        called = builder.emit(relax.op.nn.conv2d(x, weight, padding=1))
        builder.emit_func_output(called)
    legal = relax.transform.LegalizeOps()(builder.get())
    (func,) = (f for f in legal.functions.values() if isinstance(f, tirx.PrimFunc))
    assert macs_of(func) == 8 * 8 * 4 * 3 * 3 * 3


@T.prim_func(s_tir=True)
def sums(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        y[0] = y[0] + x[i]
        y[1] = x[i] * x[0]
        y[2] = y[2] + x[i] * 3
        for j in range(2):
            y[3] = x[i] * y[j] + y[3]


@T.prim_func(s_tir=True)
def unknown_length(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(n):
        y[0] = y[0] + x[i] * x[i]


def test_only_products_of_two_elements_that_are_added_up_count():
    assert macs_of_loops(sums.body) == 16


def test_loops_of_unknown_length_say_nothing():
    assert macs_of_loops(unknown_length.body) is None
