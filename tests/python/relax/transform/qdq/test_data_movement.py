"""Operators that move elements: of what, and the same of integers."""

from __future__ import annotations

import pytest
from tvm import relax

from support.qdq_graph import graph_of
from usmp.relax.transform.qdq.data_movement import move_of

X = relax.Var("x", relax.TensorType((2, 3, 4), "float32"))
INTEGERS = relax.Var("q", relax.TensorType((2, 3, 4), "int8"))
IMAGE = relax.Var("i", relax.TensorType((1, 2, 2, 3), "float32"))
op = relax.op


def normalized(call: relax.Expr) -> relax.Expr:
    return relax.BlockBuilder().normalize(call)


def move(call: relax.Expr):
    return move_of(graph_of(), call)


@pytest.mark.parametrize(
    ("call", "order", "view"),
    [
        (op.reshape(X, (6, 4)), None, (6, 4)),
        (op.flatten(X), None, (24,)),
        (op.nn.batch_flatten(X), None, (2, 12)),
        (op.expand_dims(X, 1), None, (2, 1, 3, 4)),
        (op.permute_dims(X, [0, 2, 1]), (0, 2, 1), None),
        (op.permute_dims(X, [0, -1, -2]), (0, 2, 1), None),
        (op.permute_dims(X), (2, 1, 0), None),
        (op.strided_slice(X, [1], [0], [2]), None, None),
        (op.take(X, relax.const([0, 1]), 1, mode="clip"), None, None),
        (op.flip(X, 1), None, None),
        (op.tile(X, (1, 2, 1)), None, None),
        (op.repeat(X, 2, 0), None, None),
        (op.broadcast_to(X, (5, 2, 3, 4)), None, None),
        (op.nn.pad(X, [0, 0, 1, 1, 0, 0], "reflect"), None, None),
    ],
    ids=lambda value: str(value.op.name) if isinstance(value, relax.Call) else "",
)
def test_moves_that_add_nothing(call, order, view):
    call = normalized(call)
    found = move(call)
    assert found.source.same_as(X)
    assert (found.fill, found.order, found.view) == (None, order, view)
    again = normalized(found.rebuild(INTEGERS, 7))
    assert again.op.same_as(call.op)
    assert again.args[0].same_as(INTEGERS)
    assert [int(e) for e in again.ty.shape] == [int(e) for e in call.ty.shape]
    assert str(again.ty.dtype) == "int8"


def test_padding_adds_the_integer_of_its_value():
    found = move(normalized(op.nn.pad(X, [0, 0, 1, 2, 0, 0], "constant", 1.5)))
    assert (found.source, found.fill, found.order, found.view) == (X, 1.5, None, None)
    again = normalized(found.rebuild(INTEGERS, 7))
    assert [int(width) for width in again.attrs.pad_width] == [0, 0, 1, 2, 0, 0]
    assert (str(again.attrs.pad_mode), float(again.attrs.pad_value)) == ("constant", 7)


@pytest.mark.parametrize(("method", "is_move"), [("nearest_neighbor", True), ("linear", False)])
def test_an_image_of_its_nearest_pixels_is_moved(method, is_move):
    call = normalized(op.image.resize2d(IMAGE, (4, 4), layout="NHWC", method=method))
    assert (move(call) is not None) == is_move
    other = op.image.resize2d(IMAGE, (4, 4), layout="NHWC", method=method, out_dtype="int8")
    assert move(normalized(other)) is None


@pytest.mark.parametrize(("mode", "is_move"), [("clip", True), ("wrap", True), ("nan", False)])
def test_elements_that_are_taken(mode, is_move):
    call = normalized(op.take(X, relax.const([0, 1]), 1, mode=mode))
    assert (move(call) is not None) == is_move


@pytest.mark.parametrize(
    ("sections", "axis", "ranges"),
    [
        (3, 1, [(0, 1), (1, 2), (2, 3)]),
        ([1, 3], -1, [(0, 1), (1, 3), (3, 4)]),
        ([0], 0, [(0, 0), (0, 2)]),
    ],
)
def test_parts_of_a_split_are_slices(sections, axis, ranges):
    split = normalized(op.split(X, sections, axis))
    for index, (begin, end) in enumerate(ranges):
        found = move(relax.TupleGetItem(split, index))
        assert found.source.same_as(X)
        again = found.rebuild(INTEGERS, 0)
        if end - begin == int(X.ty.shape[axis]):
            assert again.same_as(INTEGERS)
            continue
        axes, begins, ends = ([int(v) for v in field] for field in again.args[1:4])
        assert (axes, begins, ends) == ([axis % 3], [begin], [end])


def test_what_computes_moves_nothing():
    assert move(normalized(op.exp(X))) is None
    assert move(X) is None
    pair = relax.Var("p", relax.TupleType([X.ty, X.ty]))
    assert move(relax.TupleGetItem(pair, 0)) is None
