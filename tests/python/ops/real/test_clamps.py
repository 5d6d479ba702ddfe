"""Clamps of floats let through what is not a number, and clamp the rest."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

import usmp

pytestmark = pytest.mark.cc

X = np.array([-np.inf, -2, 0.5, np.nan, 7, np.inf], np.float32)


def clamped(operator, target, data=X):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(data.shape, str(data.dtype)))
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(builder.emit(operator(x)))
        builder.emit_func_output(output)
    (result,) = usmp.build(builder.get(), target).run({"x": data}).values()
    return result


@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize(
    ("operator", "low", "high"),
    [
        (relax.op.nn.relu, 0, np.inf),
        (relax.op.nn.relu6, 0, 6),
        (lambda x: relax.op.clip(x, -1, 2), -1, 2),
        (lambda x: relax.op.clip(x, -np.inf, 2), -np.inf, 2),
    ],
    ids=["relu", "relu6", "clip", "upper"],
)
def test_floats(operator, low, high, target):
    np.testing.assert_array_equal(clamped(operator, target), np.clip(X, low, high))


def test_after_another_operator():
    result = clamped(lambda x: relax.op.nn.relu(relax.op.add(x, x)), "c")
    np.testing.assert_array_equal(result, np.clip(X + X, 0, np.inf))


def test_integers():
    data = np.array([-128, -3, 5, 127], np.int8)
    np.testing.assert_array_equal(clamped(relax.op.nn.relu, "c", data), np.clip(data, 0, 127))
