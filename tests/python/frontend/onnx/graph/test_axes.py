"""Axes that tensors do not have are refused in every ONNX operator, by operator, axis and rank."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Graph
from support.onnx_nodes import imported, later, node
from support.operator_trials.onnx.samples import int64, values
from support.operator_trials.sweep import trial_of
from usmp.frontend.onnx.graph.node import NotSupported

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")
axis_of = lazy("usmp.frontend.onnx.graph.axes:axis_of")
compared = lazy("usmp.frontend.onnx.converters.operators")
opsets = lazy("usmp.frontend.onnx.graph.opsets")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")
known_shapes = lazy("usmp.frontend.onnx.graph.known_shapes:known_shapes")
schema_of = lazy("usmp.frontend.onnx.graph.nodes:schema_of")

pytestmark = pytest.mark.models

NAMES = {"axis", "axes"}
EXTREMES = (2**31, -(2**63), 2**63 - 1)
SEEDS = range(100)


def axis_name(operator: str, opset: int) -> str | None:
    """The attribute or the input that has axes."""
    schema = schema_of(operator, opset)
    names = NAMES & {*schema.attributes, *(i.name for i in schema.inputs)} if schema else ()
    return next(iter(names), None)


@cache
def with_axes() -> list[str]:
    """The operators that name axes."""
    versions = range(opsets.OLDEST_OPSET, opsets.NEWEST_OPSET + 1)
    return sorted(
        name for name in compared.COMPARED if any(axis_name(name, opset) for opset in versions)
    )


class Named:
    """A valid model of which one operator names one axis.

    `rank` is that of the tensor with the axis, None if it is not known.
    """

    def __init__(self, operator: str, seed: int) -> None:
        self.operator = operator
        self.model = onnx.ModelProto.FromString(trial_of("onnx", operator, seed).model)
        self.opset = self.model.opset_import[0].version
        self.name = axis_name(operator, self.opset)
        (self.node,) = (n for n in self.model.graph.node if n.op_type == operator)
        self.attributes = {a.name: helper.get_attribute_value(a) for a in self.node.attribute}
        self.constants = {t.name: t for t in self.model.graph.initializer}
        self.shapes = known_shapes(self.model.graph)

    @property
    def axes(self) -> list[int]:
        if self.name is None:
            return []
        if self.tensor is not None:
            return numpy_helper.to_array(self.tensor).reshape(-1).tolist()
        return np.atleast_1d(self.attributes.get(self.name, [])).tolist()

    @property
    def tensor(self) -> onnx.TensorProto | None:
        inputs = [i.name for i in schema_of(self.operator, self.opset).inputs]
        place = inputs.index(self.name) if self.name in inputs else len(self.node.input)
        name = self.node.input[place] if place < len(self.node.input) else ""
        return self.constants.get(name)

    @property
    def rank(self) -> int | None:
        shape = self.shapes.get(self.node.input[0])
        if self.operator == "ConcatFromSequence":
            shape = self.shapes["x0"]
            return len(shape) + self.attributes.get("new_axis", 0)
        if shape is None or ("Quantize" in self.operator and self.shapes[self.node.input[1]] == []):
            return None
        return len(shape) + (self.operator in ("OneHot", "Unsqueeze"))

    def with_axis(self, axis: int) -> bytes:
        """The model with another axis."""
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        if self.tensor is not None:
            (tensor,) = (t for t in model.graph.initializer if t.name == self.tensor.name)
            full = np.full(tensor.dims, axis, numpy_helper.to_array(tensor).dtype)
            tensor.CopyFrom(numpy_helper.from_array(full, tensor.name))
            return model.SerializeToString()
        (proto,) = (n for n in model.graph.node if n.op_type == self.operator)
        (attribute,) = (a for a in proto.attribute if a.name == self.name)
        given = [axis] if attribute.ints else axis
        attribute.CopyFrom(helper.make_attribute(self.name, given))
        return model.SerializeToString()


def named(operator: str) -> Named:
    """A model of the operator in which it names one axis of a tensor whose rank is known."""
    every = (Named(operator, seed) for seed in SEEDS)
    return next(m for m in every if len(m.axes) == 1 and m.rank)


@pytest.mark.slow
def test_axes_outside_of_a_tensor():
    for operator in with_axes():
        check_axes_outside(operator)


def check_axes_outside(operator: str) -> None:
    model = named(operator)
    rank, whole = model.rank, 1 if operator == "Flatten" else 0
    dtype = np.int64 if model.tensor is None else numpy_helper.to_array(model.tensor).dtype
    for axis in (rank + whole, -rank - 1, *EXTREMES):
        if not np.iinfo(dtype).min <= axis <= np.iinfo(dtype).max:
            continue
        with pytest.raises(usmp.UnsupportedModelError) as error:
            imported(model.with_axis(axis))
        assert str(error.value).startswith(f"operator {operator} (output ")
        if operator == "ConcatFromSequence" and axis in EXTREMES:
            # The rank of what is computed is not known before ONNX infers it.
            assert str(error.value).endswith(f"axis {axis}, and no tensor has so many axes")
            continue
        assert f"axis {axis} is outside of {-rank} to {rank - 1}, the axes of " in str(error.value)
        assert str(error.value).endswith(f" of rank {rank}")


def test_all_operators_with_axes_are_tried():
    assert len(with_axes()) == 43
    assert {"CenterCropPad", "CumSum", "LpNormalization", "Pad", "TopK"} < {*with_axes()}


def test_axes_count_from_either_end():
    assert [axis_of(axis, 3) for axis in range(-3, 3)] == [0, 1, 2, 0, 1, 2]


def test_a_scalar_has_no_axes():
    with pytest.raises(NotSupported, match=r"^axis 0 of its input, which has rank 0 and no axes$"):
        axis_of(0, 0)


X = values("float32", [2, 3])


@pytest.mark.parametrize(
    "trial",
    [
        later("Squeeze", values("float32", [1, 1, 3]), int64(0, -3)),
        later("Unsqueeze", X, int64(0, -4)),
        later("ReduceSum", X, int64(1, -1)),
        later("ReduceMax", X, axes=[0, 0]),
        later("Slice", X, int64(0, 0), int64(1, 1), int64(0, -2)),
        later("Pad", X, int64(1, 1, 1, 1), None, int64(1, 1), opset=18),
    ],
    ids=lambda trial: trial.args[0],
)
def test_axes_that_are_named_twice(trial):
    trial = trial()
    with pytest.raises(usmp.UnsupportedModelError) as error:
        imported(trial.model)
    assert str(error.value).startswith(f'operator {trial.operator} (output "y0") is not supported')
    assert " name an axis of its " in str(error.value)
    assert str(error.value).endswith(" twice")


OF_LAST = "axis 1 is outside of -1 to 0, the axes of its input of rank 1"


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_default_axes_count_too(operator):
    """That of old opsets is the second axis."""
    with pytest.raises(usmp.UnsupportedModelError, match=OF_LAST):
        imported(node(operator, values("float32", [3]), opset=11).model)


def test_the_axis_of_one_scale_means_nothing():
    one = np.ones(1, np.float32)
    operands = X, one, np.zeros(1, np.uint8)
    with_axis, without = (node("QuantizeLinear", *operands, **a) for a in ({"axis": 7}, {}))
    assert imported(with_axis.model).script() == imported(without.model).script()


def outside(operator: str = "TopK") -> onnx.NodeProto:
    if operator == "CumSum":
        return helper.make_node("CumSum", ["x", "axis"], ["t"])
    return helper.make_node("TopK", ["x", "one"], ["t", "places"], axis=1)


def test_axes_inside_of_branches_and_functions():
    """Each is a graph of its own."""
    graph = Graph()
    x, c = graph.input("x", [3]), graph.input("c", [], "bool")
    graph.constant(np.ones(1, np.int64), name="one")
    branches = {
        f"{name}_branch": helper.make_graph(
            [outside() if name == "else" else helper.make_node("Neg", ["x"], ["t"])],
            name,
            [],
            [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)],
        )
        for name in ("then", "else")
    }
    graph.node("If", c, outputs=["y"], **branches)
    with pytest.raises(usmp.UnsupportedModelError, match=OF_LAST):
        import_onnx(graph.model("y"), Path("."))
    graph = Graph()
    graph.node("F", graph.input("x", [3]), outputs=["y"], domain="f")
    model = graph.proto("y", domains=["f"])
    axis = helper.make_node("Constant", [], ["axis"], value_int=1)
    opsets = [helper.make_opsetid("", 17)]
    model.functions.append(
        helper.make_function("f", "F", ["x"], ["t"], [axis, outside("CumSum")], opsets)
    )
    with pytest.raises(usmp.UnsupportedModelError, match=f"^operator CumSum.*{OF_LAST}"):
        import_onnx(model.SerializeToString(), Path("."))
    assert x == "x"


def test_axes_of_what_is_computed_at_compile_time():
    graph = Graph()
    rows = graph.constant(np.arange(4), np.int64)
    graph.node("Gather", rows, graph.constant([1], np.int64), outputs=["t"], axis=1)
    graph.node("Add", graph.input("x", [1], "int64"), "t", outputs=["y"])
    with pytest.raises(usmp.UnsupportedModelError, match=f"^operator Gather.*{OF_LAST}"):
        import_onnx(graph.model("y", dtype="int64"), Path("."))
