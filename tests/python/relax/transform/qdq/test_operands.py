"""What operators read: quantized tensors, constants of integers and of real numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tvm import relax

from support.qdq_graph import bound_to, graph_of
from usmp.ops.quantized import Quantization
from usmp.relax.transform.qdq.operands import (
    IntegerConstant,
    integer_constant,
    integers,
    quantized,
    quantized_operands,
    real_constant,
)

Q = relax.Var("q", relax.TensorType((2, 3), "int8"))
op = relax.op
SCALE = Quantization("int8", (0.5,), (3,), 0)


def dequantized(value, scale=0.5, zero_point=3, axis=-1, out_dtype="float32") -> relax.Expr:
    if isinstance(value, np.ndarray):
        value = relax.const(value)
    dtype = str(value.ty.dtype)
    zero = relax.const(np.array(zero_point, "int32" if dtype in ("int16", "int32") else dtype))
    scales = relax.const(np.array(scale, "float32"))
    return bound_to(op.dequantize(value, scales, zero, axis, out_dtype))


def test_integers_that_a_float_tensor_comes_from():
    found = integers(graph_of(), dequantized(Q))
    assert (found.source, found.quantization, found.moves) == (Q, SCALE, ())
    assert found.order is None
    assert found.emit(graph_of()).same_as(Q)


@pytest.mark.parametrize(
    "expr",
    [
        Q,
        dequantized(Q, [0.5, 1.0], [3, 3], 0),
        dequantized(Q, out_dtype="float16"),
        dequantized(relax.Var("q", relax.TensorType((2, 3), "int32"))),
        dequantized(relax.Var("q", relax.TensorType((0, 3), "int8"))),
        dequantized(np.zeros((2, 3), np.int8)),
        bound_to(op.exp(dequantized(Q))),
    ],
)
def test_other_tensors_are_no_integers_of_one_scale(expr):
    assert integers(graph_of(), expr) is None


def test_moves_are_made_of_the_integers_in_their_order():
    padded = bound_to(op.nn.pad(dequantized(Q), [0, 1, 0, 0], "constant", -1.5))
    turned = bound_to(op.permute_dims(padded, [1, 0]))
    found = integers(graph_of(), turned)
    assert [fill for _, fill in found.moves] == [0, 0]
    assert found.order == (1, 0)
    inner = found.without_last_move()
    assert (len(inner.moves), inner.order) == (1, None)
    builder = relax.BlockBuilder()
    with builder.function("main", [Q]):
        result = found.emit(replace(graph_of(), builder=builder))
        builder.emit_func_output(result)
    names = [
        str(b.value.op.name)
        for b in builder.get()["main"].body.blocks[0].bindings
        if isinstance(b.value, relax.Call)
    ]
    assert names == ["relax.nn.pad", "relax.permute_dims"]
    assert [int(extent) for extent in result.ty.shape] == [3, 3]


@pytest.mark.parametrize(
    ("value", "fill"),
    [
        (0.0, 3),
        (-1.5, 0),
        (62.0, 127),
        (-65.5, -128),
        # No integer stands for just these.
        (0.25, None),
        (62.5, None),
        (-66.0, None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_padding_is_an_integer_that_stands_for_its_value(value, fill):
    padded = bound_to(op.nn.pad(dequantized(Q), [0, 1, 0, 0], "constant", value))
    found = integers(graph_of(), padded)
    assert (None if found is None else found.moves[0][1]) == fill


VALUES = np.arange(6, dtype=np.int8).reshape(2, 3)


def test_constants_are_in_the_shape_and_order_in_which_they_are_read():
    rows = dequantized(VALUES, [0.5, 1.0], [3, 0], 0)
    found = integer_constant(graph_of(), rows)
    assert found.quantization == Quantization("int8", (0.5, 1.0), (3, 0), 0)
    assert found.real().tolist() == [[-1.5, -1.0, -0.5], [3.0, 4.0, 5.0]]
    turned = integer_constant(graph_of(), bound_to(op.permute_dims(rows)))
    assert turned.quantization.axis == 1
    assert turned.real().tolist() == found.real().T.tolist()
    assert turned.values.tolist() == VALUES.T.tolist()


def test_constants_of_one_scale_may_be_views():
    found = integer_constant(graph_of(), bound_to(op.reshape(dequantized(VALUES), (3, 2))))
    assert found.values.tolist() == VALUES.reshape(3, 2).tolist()
    assert found.real().tolist() == ((VALUES - 3.0) * 0.5).reshape(3, 2).tolist()
    rows = dequantized(VALUES, [0.5, 1.0], [3, 0], 0)
    assert integer_constant(graph_of(), bound_to(op.reshape(rows, (3, 2)))) is None


@pytest.mark.parametrize(
    "expr",
    [
        dequantized(Q),
        dequantized(VALUES, out_dtype="float16"),
        dequantized(VALUES, 0.0),
        relax.const(np.zeros((2, 3), np.float32)),
        bound_to(op.reshape(dequantized(Q), (6,))),
        bound_to(op.permute_dims(dequantized(Q))),
    ],
)
def test_other_values_are_no_constant_integers(expr):
    assert integer_constant(graph_of(), expr) is None


def test_both_operands_are_integers():
    left, right = quantized_operands(graph_of(), op.add(dequantized(Q), dequantized(VALUES)))
    assert (left[0], left[1], right[1]) == (Q, SCALE, SCALE)
    assert right[0].value.numpy().tolist() == VALUES.tolist()
    rows = dequantized(VALUES, [0.5, 1.0], [3, 0], 0)
    for other in (rows, relax.const(np.zeros((2, 3), np.float32))):
        assert quantized_operands(graph_of(), op.add(dequantized(Q), other)) is None
        assert quantized_operands(graph_of(), op.add(other, dequantized(Q))) is None


def test_real_numbers_of_constants():
    floats = np.arange(6, dtype=np.float32).reshape(2, 3)
    for expr, expected in (
        (relax.const(floats), floats),
        (op.reshape(relax.const(floats), (6,)), floats.reshape(6)),
        (op.permute_dims(relax.const(floats)), floats.T),
        (op.permute_dims(bound_to(op.reshape(dequantized(VALUES), (1, 2, 3))), [2, 0, 1]), None),
        (dequantized(VALUES), (VALUES - 3.0) * 0.5),
    ):
        found = real_constant(graph_of(), bound_to(expr))
        assert found.dtype == np.float64
        if expected is not None:
            assert found.tolist() == expected.tolist()
        else:
            assert found.shape == (3, 1, 2)
    for other in (Q, op.reshape(Q, (6,)), op.permute_dims(Q), dequantized(Q)):
        assert real_constant(graph_of(), bound_to(other)) is None


@pytest.mark.parametrize(
    ("real", "after", "expected"),
    [
        # Halves are rounded to even.
        ([0.25, 0.75, 1.25, -0.25], SCALE, [3, 5, 5, 3]),
        ([1e9, -1e9, 1e38], SCALE, [127, -128, 127]),
        ([62.0, 62.5], SCALE, [127, 127]),
        ([1.0, 300.0, -1.0], Quantization("uint8", (1.0,), (0,)), [1, 255, 0]),
        (2.0, SCALE, 7),
        ([[1.0, 2.0], [3.0, 4.0]], Quantization("int8", (1.0, 0.5), (0, 1), 0), [[1, 2], [7, 9]]),
        ([[1.0, 2.0], [3.0, 4.0]], Quantization("int8", (1.0, 0.5), (0, 1), 1), [[1, 5], [3, 9]]),
    ],
)
def test_constants_are_quantized_as_tensors_are(real, after, expected):
    found = quantized(np.array(real), after)
    assert (found.tolist(), str(found.dtype)) == (expected, after.dtype)


def test_an_integer_constant_of_one_scale_has_no_axis():
    constant = IntegerConstant(VALUES, SCALE).transposed([1, 0])
    assert constant.values.shape == (3, 2)
    assert constant.real().tolist() == ((VALUES.T - 3.0) * 0.5).tolist()
