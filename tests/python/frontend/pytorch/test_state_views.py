"""Tensors that show a state in another order."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.sym import Analyzer

from support.lazy import lazy

state_view = lazy("usmp.frontend.pytorch.converters.state_views:state_view")

SHAPE = (2, 3, 4)
VALUES = np.arange(24).reshape(SHAPE)
op = relax.op


def viewed(steps, has_states=True):
    """What the last of a chain of tensors shows, and its shape."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(SHAPE, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            tensor = x
            for step in steps:
                tensor = builder.emit(step(tensor))
            operator = SimpleNamespace(
                states=[x] if has_states else [],
                builder=builder,
                is_state=lambda each: each.same_as(x),
            )
            found = state_view(operator, tensor)
            shape = [int(extent) for extent in tensor.ty.shape]
            result = builder.emit_output(tensor)
        builder.emit_func_output(result)
    if found is not None:
        assert found.source.same_as(x)
    return found, shape


def taken(data, index, axis):
    return op.take(data, relax.const(index, "int64"), axis)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([lambda x: op.permute_dims(x, [0, 2, 1])], VALUES.transpose(0, 2, 1)),
        ([lambda x: op.permute_dims(x, [1, 2, 0])], VALUES.transpose(1, 2, 0)),
        ([lambda x: op.permute_dims(x, [-1, 0, 1])], VALUES.transpose(2, 0, 1)),
        ([lambda x: op.permute_dims(x)], VALUES.transpose()),
        ([lambda x: op.reshape(x, (6, 4))], VALUES.reshape(6, 4)),
        ([lambda x: op.reshape(x, (4, 3, 2))], VALUES.reshape(4, 3, 2)),
        ([lambda x: op.expand_dims(x, [1])], VALUES[:, None]),
        ([lambda x: taken(x, 1, 0)], VALUES[1]),
        ([lambda x: taken(x, 2, 1)], VALUES[:, 2]),
        ([lambda x: taken(x, 3, -1)], VALUES[..., 3]),
        (
            [lambda x: op.expand_dims(x, [1]), lambda x: op.broadcast_to(x, (2, 5, 3, 4))],
            np.broadcast_to(VALUES[:, None], (2, 5, 3, 4)),
        ),
        ([lambda x: op.broadcast_to(x, (5, *SHAPE))], np.broadcast_to(VALUES, (5, *SHAPE))),
        (
            [lambda x: op.permute_dims(x, [2, 0, 1]), lambda x: op.reshape(x, (8, 3))],
            VALUES.transpose(2, 0, 1).reshape(8, 3),
        ),
        (
            [lambda x: op.reshape(x, (8, 3)), lambda x: op.permute_dims(x, [1, 0])],
            VALUES.reshape(8, 3).T,
        ),
    ],
)
def test_elements_in_another_order(steps, expected):
    found, shape = viewed(steps)
    assert found.factor is None
    assert shape == list(expected.shape)
    analyzer = Analyzer()
    for place in np.ndindex(*shape):
        indices = found.position([tirx.IntImm("int64", index) for index in place])
        at = [int(analyzer.simplify(tirx.IntImm("int64", 0) + index)) for index in indices]
        assert VALUES[tuple(at)] == expected[place]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [lambda x: op.add(x, x)],
        [lambda x: op.add(x, x), lambda x: op.reshape(x, (6, 4))],
        [lambda x: op.take(x, relax.const(np.array([1, 0]), "int64"), 0)],
        [lambda x: op.multiply(x, x)],
        [lambda x: op.multiply(x, relax.const(np.ones(4, np.float32)))],
        [lambda x: op.multiply(x, relax.const(2.0)), lambda x: op.multiply(x, relax.const(3.0))],
    ],
)
def test_other_tensors_are_no_views(steps):
    assert viewed(steps)[0] is None


def test_one_factor():
    found, _ = viewed([lambda x: op.multiply(x, relax.const(2.0)), lambda x: op.reshape(x, (24,))])
    assert found.factor.value.numpy() == 2


def test_a_program_without_states_has_no_views():
    assert viewed([lambda x: op.permute_dims(x)], has_states=False)[0] is None
