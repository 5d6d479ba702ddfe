"""The node tests that come with ONNX: models of one operator, or of what the operator's function is
made of, each with inputs and the outputs that they should give."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.trial import Inputs, Tolerance, Trial

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")

_TYPES = frozenset(
    {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL}
    | {getattr(TensorProto, f"{u}INT{bits}") for u in ("", "U") for bits in (8, 16, 32, 64)}
)
"""Element types of C; the others are text, complex, or numbers of fewer bits."""

_RANDOM = frozenset({"Bernoulli", "RandomNormalLike", "RandomUniformLike"})

_OTHERWISE_IN_ONNXRUNTIME = frozenset(
    {
        "test_resize_downsample_scales_cubic_align_corners",
        "test_resize_downsample_scales_linear_align_corners",
    }
)
"""Those whose expected outputs onnxruntime, which is the reference here, does not give."""

_SHAPE_OPERANDS = {
    "AffineGrid": [1],
    "BlackmanWindow": [0],
    "CenterCropPad": [1],
    "Col2Im": [1, 2],
    "Compress": [1],
    "ConstantOfShape": [0],
    "CumProd": [1],
    "CumSum": [1],
    "DFT": [1, 2],
    "Dropout": [1, 2],
    "Expand": [1],
    "HammingWindow": [0],
    "HannWindow": [0],
    "Loop": [0],
    "MaxUnpool": [2],
    "MelWeightMatrix": [0, 1, 2, 3, 4],
    "NonMaxSuppression": [2, 3, 4],
    "OneHot": [1],
    "Pad": [1, 3],
    "Range": [0, 1, 2],
    "Reshape": [1],
    "Resize": [1, 2, 3],
    "STFT": [1, 3],
    "SequenceAt": [1],
    "SequenceErase": [1],
    "SequenceInsert": [2],
    "Slice": [1, 2, 3, 4],
    "Split": [1],
    "SplitToSequence": [1],
    "Squeeze": [1],
    "TensorScatter": [2],
    "Tile": [1, 2],
    "TopK": [1],
    "Trilu": [1],
    "Unsqueeze": [1],
    "Upsample": [1],
    **{
        f"Reduce{kind}": [1]
        for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
    },
}
"""Which inputs say what shape the outputs have, or which elements they are of. Models have
constants there, though the node tests have inputs."""


@dataclass(frozen=True, eq=False)
class NodeTest:
    """A node test of ONNX.

    Parameters
    ----------
    name
        as ONNX calls it.
    operator
        that of the node; of a model of several nodes, that whose function they are.
    is_expanded
        whether the model has the nodes of the operator's function in the place of its node.
    trial
        the model, with shapes and the like as constants, its inputs and the expected outputs; none
        if it is out of scope.
    out_of_scope
        why no C program can be asked for it.
    """

    name: str
    operator: str
    is_expanded: bool
    trial: Trial | None
    out_of_scope: str = ""


@cache
def node_tests() -> tuple[NodeTest, ...]:
    """All of them, in the order of their names; the same in each process."""
    from onnx.backend.test.loader import load_model_tests

    state = np.random.get_state()
    try:
        # The tests draw their data when they are loaded.
        np.random.seed(0)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            cases = load_model_tests(kind="node")
    finally:
        np.random.set_state(state)
    return tuple(_node_test(case) for case in sorted(cases, key=lambda case: case.name))


def _node_test(case: Any) -> NodeTest:
    name, _, expanded = case.name.partition("_expanded")
    is_expanded = bool(expanded) or case.name.endswith("_expanded")
    node = _nodes()[name]
    reason = _out_of_scope(case.model, node.op_type)
    if name in _OTHERWISE_IN_ONNXRUNTIME:
        reason = "another result in onnxruntime"
    if reason:
        return NodeTest(case.name, node.op_type, is_expanded, None, reason)
    return NodeTest(case.name, node.op_type, is_expanded, _trial(case, node))


def _nodes() -> dict[str, onnx.NodeProto]:
    """The node of each test that has one."""
    from onnx.backend.test.case.node import _existing_names

    return _existing_names


def _out_of_scope(model: onnx.ModelProto, operator: str) -> str:
    if operator in _RANDOM:
        return "random numbers"
    domains = {node.domain for node in model.graph.node} - {"", "ai.onnx"}
    if domains:
        return f"operators of {', '.join(sorted(domains))}"
    for value in (*model.graph.input, *model.graph.output):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return "sequences and optional values"
        tensor = value.type.tensor_type
        if tensor.elem_type not in _TYPES:
            return f"elements of {TensorProto.DataType.Name(tensor.elem_type).lower()}"
        if any(dim.WhichOneof("value") != "dim_value" for dim in tensor.shape.dim):
            return "sizes that are not fixed"
        if any(dim.dim_value == 0 for dim in tensor.shape.dim):
            return "tensors without elements"
    return ""


def _trial(case: Any, node: onnx.NodeProto) -> Trial:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    ((inputs, outputs),) = case.data_sets
    names = [value.name for value in model.graph.input]
    arrays = [_array(value) for value in inputs]
    run = dict(zip(names, arrays, strict=True))
    operands = _SHAPE_OPERANDS.get(node.op_type, [])
    constants = {node.input[i] for i in operands if i < len(node.input)} & run.keys()
    kept = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for name in sorted(constants):
        model.graph.initializer.append(numpy_helper.from_array(run.pop(name), name))
    expected = [_array(value) for value in outputs]

    def reference(_: Inputs) -> list[np.ndarray]:
        return expected

    # NumPy transforms in single precision, and leaves more than the tolerance where nothing is.
    noise = 1e-6 if node.op_type == "DFT" else 0.0
    tolerance = Tolerance(case.rtol, max(case.atol, noise))
    attributes = ", ".join(f"{a.name}={helper.get_attribute_value(a)}" for a in node.attribute)
    content = model.SerializeToString()
    return Trial("onnx", node.op_type, attributes, content, [run], reference, tolerance)


def _array(value: Any) -> np.ndarray:
    if isinstance(value, TensorProto):
        return np.asarray(numpy_helper.to_array(value))
    return np.asarray(value)
