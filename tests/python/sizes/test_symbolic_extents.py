"""Extents that are expressions of sizes, and two sizes: results of the C at several of them."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

import usmp

pytestmark = pytest.mark.cc
N, M = (tirx.Var(name, "int64") for name in "nm")
WEIGHTS = np.random.default_rng(0).normal(size=(2, 4, 4)).astype("float32")


def tensor(name: str, *shape) -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, "float32"))


def convolution(data: np.ndarray) -> np.ndarray:
    steps = [data[0, :, i : i + 4] for i in range(data.shape[2] - 3)]
    return np.array([[[(step * taps).sum() for step in steps] for taps in WEIGHTS]])


@pytest.mark.parametrize(
    ("params", "operator", "shapes", "expected"),
    [
        (
            [tensor("x", N - 3, 4)],
            relax.op.nn.relu,
            [[(1, 4)], [(5, 4)]],
            lambda x: np.maximum(x, 0),
        ),
        (
            [tensor("x", 1, 4, N)],
            lambda x: relax.op.nn.conv1d(x, relax.const(WEIGHTS)),
            [[(1, 4, 4)], [(1, 4, 8)]],
            convolution,
        ),
        (
            [tensor("x", N, 4), tensor("y", M, 4)],
            lambda x, y: relax.op.concat([x, y], 0),
            [[(1, 4), (6, 4)], [(8, 4), (2, 4)]],
            lambda x, y: np.concatenate([x, y]),
        ),
        (
            [tensor("x", N, M), tensor("y", M, N)],
            lambda x, y: relax.op.add(relax.op.permute_dims(x), y),
            [[(2, 3), (3, 2)], [(8, 1), (1, 8)]],
            lambda x, y: x.T + y,
        ),
    ],
    ids=["smaller", "convolution", "joined", "transposed"],
)
@pytest.mark.parametrize("dynamic", ["bound", "expression"])
def test_results(params, operator, shapes, expected, dynamic):
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(relax.op.negative(builder.emit(operator(*params))))
        builder.emit_func_output(result)
    with tvm.transform.PassContext(config={"tir.usmp.dynamic": dynamic}):
        sizes = {"n": 8, "m": 6} if len(params) > 1 else {"n": 8}
        module = usmp.build(builder.get(), max_sizes=sizes)
    random = np.random.default_rng(1)
    for each in shapes:
        data = [random.normal(size=shape).astype("float32") for shape in each]
        given = {str(p.name): value for p, value in zip(params, data, strict=True)}
        (found,) = module.run(given).values()
        np.testing.assert_allclose(found, -expected(*data), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_size_that_is_called_as_an_offset_would_be():
    rows = tirx.Var("offset_0", "int64")
    data = tensor("x", rows, 4)
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            turned = builder.emit(relax.op.permute_dims(data))
            scores = builder.emit(relax.op.matmul(data, turned))
            result = builder.emit_output(relax.op.matmul(scores, data))
        builder.emit_func_output(result)
    with tvm.transform.PassContext(config={"tir.usmp.dynamic": "expression"}):
        module = usmp.build(builder.get(), max_sizes={"offset_0": 9})
    for number in (1, 4, 9):
        x = np.random.default_rng(number).normal(size=(number, 4)).astype("float32")
        (found,) = module.run({"x": x}).values()
        np.testing.assert_allclose(found, x @ x.T @ x, rtol=1e-4, atol=1e-5)
