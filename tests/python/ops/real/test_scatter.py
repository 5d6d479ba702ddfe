"""Operators that write where indices say, against onnxruntime and numpy."""

import numpy as np
import pytest
from tvm import relax

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

generator = np.random.default_rng(0)
DATA = generator.normal(size=(4, 5, 6)).astype(np.float32)
OPSETS = {"Scatter": 10, "ScatterElements": 18, "ScatterND": 18}


def scattered(operator, indices, updates, target="c", **attributes):
    """What onnxruntime and the emitted code make of the same inputs."""
    graph = Graph()
    inputs = {"data": DATA, "indices": np.asarray(indices), "updates": updates}
    names = [graph.input(n, list(value.shape), str(value.dtype)) for n, value in inputs.items()]
    graph.node(operator, *names, outputs=["output"], **attributes)
    content = graph.model("output", opset=OPSETS[operator])
    expected = Reference(content).run(inputs)["output"]
    return expected, usmp.build(import_onnx(content, None), target).run(inputs)["output"]


def random_updates(*shape):
    return generator.normal(size=shape).astype(np.float32)


@pytest.mark.models
@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize(
    ("indices", "extents"),
    [
        ([[1], [-1]], (2, 5, 6)),
        (generator.integers(-4, 4, (3, 2, 2)), (3, 2, 6)),
        (generator.integers(-4, 4, (2, 3)), (2,)),
        ([1, 2], (6,)),
    ],
)
def test_scatter_nd(indices, extents, target):
    expected, output = scattered("ScatterND", indices, random_updates(*extents), target)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.models
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("operator", ["ScatterND", "ScatterElements"])
def test_places_that_are_written_several_times(operator, reduction):
    # Rows 1 and -3 are one, so are the elements that they are.
    indices = [[1], [-3], [1]] if operator == "ScatterND" else [[[1]], [[-3]], [[1]]]
    extents = (3, 5, 6) if operator == "ScatterND" else (3, 1, 1)
    updates = random_updates(*extents)
    expected, output = scattered(operator, indices, updates, reduction=reduction)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.models
@pytest.mark.parametrize("operator", ["Scatter", "ScatterElements"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_scatter_elements_of_a_part_of_the_tensor(operator, axis):
    shape = (2, 3, 2)
    # No two of one line are the same element.
    candidates = np.array([3, 1, 0] if operator == "Scatter" else [-4, 1, -2])
    along = candidates[: shape[axis]].reshape([-1 if i == axis % 3 else 1 for i in range(3)])
    places = np.broadcast_to(along, shape).copy()
    expected, output = scattered(operator, places, random_updates(*shape), axis=axis)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.cc
def test_a_place_outside_of_the_tensor_is_not_written(model):
    shape = ("updates", (3, 2), "float32")
    mod = model(
        lambda _, data, indices, updates: relax.op.scatter_nd(data, indices, updates),
        ("data", (4, 2), "float32"),
        ("indices", (3, 1), "int64"),
        shape,
    )
    updates = random_updates(3, 2)
    inputs = {"data": DATA[0, :4, :2].copy(), "updates": updates}
    indices = np.array([[4], [-5], [2**40 + 1]])
    output = usmp.build(mod).run({**inputs, "indices": indices})["output"]
    np.testing.assert_array_equal(output, inputs["data"])


@pytest.mark.cc
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_broadcasts_indices_and_values(model, accumulate):
    mod = model(
        lambda _, data, rows, columns, values: relax.op.index_put(
            data, (rows, columns), values, accumulate=accumulate
        ),
        ("data", (4, 5), "float32"),
        ("rows", (2, 1), "int64"),
        ("columns", (3,), "int64"),
        ("values", (3,), "float32"),
    )
    rows, columns = np.array([[1], [-1]]), np.array([0, -1, 2])
    data, values = DATA[:, :, 0].copy(), random_updates(3)
    expected = data.copy()
    expected[rows, columns] = values + (expected[rows, columns] if accumulate else 0)
    inputs = {"data": data, "rows": rows, "columns": columns, "values": values}
    np.testing.assert_array_equal(usmp.build(mod).run(inputs)["output"], expected)


@pytest.mark.cc
def test_unknown_reductions_are_refused(model):
    mod = model(
        lambda _, x, i, u: relax.op.scatter_elements(x, i, u, 0, "mean"),
        ("x", (4,), "float32"),
        ("i", (2,), "int64"),
        ("u", (2,), "float32"),
    )
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.build(mod)
    assert str(error.value) == (
        "scatter_elements with reduction mean; supported: update, add, mul, min, max"
    )


@pytest.mark.cc
def test_constants_are_scattered_at_compile_time(model):
    constants = [np.zeros((3, 2), np.float32), np.array([[2]]), np.ones((1, 2), np.float32)]
    mod = model(
        lambda b, x: relax.op.add(x, b.emit(relax.op.scatter_nd(*map(relax.const, constants)))),
        ("x", (3, 2), "float32"),
    )
    factory = usmp.build(mod)
    assert "scatter" not in factory.source
    output = factory.run({"x": np.zeros((3, 2), np.float32)})["output"]
    np.testing.assert_array_equal(output, [[0, 0], [0, 0], [1, 1]])
