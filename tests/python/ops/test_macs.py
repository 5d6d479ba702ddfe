"""Multiply-accumulates of operators: by hand, and as the loops of the whole catalog have them."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.script import tirx as T

from support.imported_models import imported
from support.quantized_kinds import of_each_kind
from support.quantized_models import CATALOG
from support.sample_records import sample_record as op
from usmp.ops.macs import macs_of, macs_of_loops, macs_of_record
from usmp.ops.records import KINDS, operator_of
from usmp.ops.records.elementwise import Add
from usmp.ops.records.products import (
    BatchMatmul,
    Conv2d,
    DepthwiseConv2d,
    FullyConnected,
    TransposeConv2d,
)
from usmp.ops.records.recurrent import Lstm, Svdf, SvdfState
from usmp.ops.records.reductions import L2Normalize
from usmp.ops.records.windowed import AveragePool

WITH_OTHER_LOOPS = {"softmax": "softmax_int16", "transpose_conv2d": "transpose_conv_stride_2"}
"""Kinds, and a model of each. A softmax of int16 interpolates a table; a transposed convolution
gathers what may reach an element of the output, also where nothing does."""


@pytest.mark.parametrize(
    ("operator", "shapes", "macs"),
    [
        (op(Conv2d), [(1, 8, 6, 3), (16, 5, 4, 3), (16, 3), (1, 4, 3, 16)], 192 * 5 * 4 * 3),
        # Two groups: the weight has half the channels.
        (op(Conv2d), [(1, 8, 8, 4), (6, 3, 3, 2), (1, 8, 8, 6)], 8 * 8 * 6 * 9 * 2),
        (op(DepthwiseConv2d), [(2, 8, 8, 3), (3, 2, 6), (2, 7, 7, 6)], 2 * 7 * 7 * 6 * 3 * 2),
        (op(TransposeConv2d), [(1, 4, 4, 2), (3, 2, 2, 2), (1, 8, 8, 3)], 32 * 3 * 2 * 2),
        (op(FullyConnected), [(2, 7), (5, 7), (2, 5)], 2 * 5 * 7),
        (op(BatchMatmul, transposed=(False, False)), [(3, 2, 7), (7, 5), (3, 2, 5)], 30 * 7),
        (op(BatchMatmul, transposed=(True, True)), [(7, 2), (5, 7), (2, 5)], 2 * 5 * 7),
        (op(SvdfState), [(2, 12), (2, 9), (4, 9)], 2 * 4 * 9),
        (op(Svdf), [(2, 12), (4, 3), (4,), (2, 4)], 2 * 4 * 3),
        (op(L2Normalize), [(3, 4), (3, 4)], 12),
        (op(AveragePool), [(1, 8, 8, 3), (1, 4, 4, 3)], 0),
        (op(Add), [(4,), (4,), (4,)], 0),
    ],
)  # fmt: skip
def test_macs_by_hand(operator, shapes, macs):
    assert macs_of_record(operator, shapes) == macs


def test_steps_of_an_lstm_take_all_weights():
    """Five steps of two sequences: four gates of three units see four features and three units."""
    gate = [(3, 4), (3, 3), (3,)]
    shapes = [(2, 3), (2, 3), (2, 5, 4), (256,), *gate, *gate, *gate, *gate, (2, 5, 3)]
    assert macs_of_record(op(Lstm), shapes) == 2 * 5 * 4 * (3 * 4 + 3 * 3)


@pytest.mark.slow
def test_records_say_what_the_loops_do():
    """Of operators of the catalog; all kinds that have products are there."""
    differ, with_products = set(), set()
    others = [model for model in CATALOG if model.name in WITH_OTHER_LOOPS.values()]
    for model in {*of_each_kind(CATALOG), *others}:
        for func in imported(model).functions.values():
            record = operator_of(func) if isinstance(func, tirx.PrimFunc) else None
            if record is None:
                continue
            if macs_of(func):
                with_products.add(record.kind)
            if macs_of(func) != macs_of_loops(func.body):
                differ.add(record.kind)
    assert differ == WITH_OTHER_LOOPS.keys()
    assert with_products == {
        *("batch_matmul", "conv2d", "depthwise_conv2d", "fully_connected", "l2_normalize"),
        *("lstm", "svdf", "svdf_state", "transpose_conv2d"),
    }
    assert with_products <= KINDS.keys()


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
