"""Constant folding of the shape arithmetic of an ONNX graph.

Exporters write shapes as graphs of Shape, Gather, Concat, Cast and the like. TVM's importer
requires constants there, and with fixed input shapes they are constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from usmp.frontend.onnx.checks.asked_sizes import asked_size
from usmp.frontend.onnx.checks.check_node import attributes_of, check_inferred, check_node
from usmp.frontend.onnx.graph.known_shapes import known_shapes
from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.nodes import names_read
from usmp.frontend.onnx.graph.operands import operand_of_array
from usmp.frontend.onnx.graph.opsets import imported_version
from usmp.frontend.onnx.rewrites.constant_branches import take_branches
from usmp.frontend.size_arithmetic import MOST_ELEMENTS

_OF_SHAPES = ("Shape", "Size")
"""Operators that read only the shape of their input."""

_FOLDED = frozenset(
    """Abs Add And ArgMax ArgMin Cast CastLike Ceil Clip Concat Constant ConstantOfShape CumSum Div
    Equal Expand Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual Identity Less
    LessOrEqual Max Min Mod Mul Neg NonZero Not OneHot Or Pad Pow Range Reciprocal ReduceMax
    ReduceMin ReduceProd ReduceSum Reshape Round ScatterElements ScatterND Shape Sign Size Slice
    Split Sqrt Squeeze Sub Tile TopK Transpose Trilu Unsqueeze Where Xor""".split()
)
"""Operators with which exporters compute shapes and indices.

ONNX's evaluator differs from onnxruntime for some other operators, and is slow for large kernel
windows. Dequantization is not folded, because the constant should stay stored in a few bits.
"""


def fold_shape_arithmetic(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with inferred shapes, small constants folded, and unused nodes removed."""
    while True:
        model = _infer_shapes(model)
        _name_types(model.graph)
        if not _fold(model):
            break
    _drop_unused(model.graph)
    return model


def _infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return shape_inference.infer_shapes(model)
    except Exception:
        # Without shapes nothing is folded, and the importer reports the reason.
        return model


def _name_types(graph: onnx.GraphProto) -> None:
    """Rewrite CastLike into Cast where the target's type is known."""
    values = (*graph.input, *graph.output, *graph.value_info)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "CastLike" and types.get(node.input[1]):
            node.op_type = "Cast"
            node.attribute.append(onnx.helper.make_attribute("to", types[node.input[1]]))
            del node.input[1]


def _fold(model: onnx.ModelProto) -> bool:
    """Replace constant nodes by initializers; return whether there was any."""
    graph = model.graph
    shapes = known_shapes(graph)
    known = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if prod(tensor.dims) <= MOST_ELEMENTS
    }
    kept = []
    for node in graph.node:
        values = _evaluate(model, node, known, shapes)
        if values is None:
            kept.append(node)
            continue
        for name, value in zip(node.output, values, strict=True):
            known[name] = value
            graph.initializer.append(numpy_helper.from_array(value, name))
    folded = len(kept) < len(graph.node)
    if folded:
        del graph.node[:]
        graph.node.extend(kept)
    return take_branches(graph, known) or folded


def _evaluate(
    model: onnx.ModelProto,
    node: onnx.NodeProto,
    known: dict[str, np.ndarray],
    shapes: dict[str, list[int]],
) -> list[np.ndarray] | None:
    """Return the outputs of a node if they are constant and small, else None."""
    if not is_evaluated(node):
        return None
    inputs = {name: known[name] for name in node.input if name in known}
    if node.op_type in _OF_SHAPES and node.input[0] in shapes:
        try:
            inputs = {node.input[0]: np.broadcast_to(np.float32(0), shapes[node.input[0]])}
        except ValueError:
            # The importer reports tensors that are too large.
            return None
    if any(name and name not in inputs for name in node.input):
        return None
    if node.op_type != "NonZero" and not all(_is_small(shapes.get(n)) for n in node.output):
        return None
    return evaluated(node, model.opset_import, inputs)


def is_evaluated(node: onnx.NodeProto) -> bool:
    """Return whether a node is of an operator in `_FOLDED`, has all outputs and no nested graph."""
    if node.op_type not in _FOLDED or not all(node.output):
        return False
    return not any(a.HasField("g") or a.graphs for a in node.attribute)


def evaluated(
    node: onnx.NodeProto,
    opsets: Sequence[onnx.OperatorSetIdProto],
    inputs: Mapping[str, np.ndarray],
) -> list[np.ndarray] | None:
    """Return the results of ONNX's evaluator, or None if it fails or a result is not small."""
    operands = [operand_of_array(inputs.get(name)) for name in node.input]
    attributes = attributes_of(node)
    try:
        check_node(node, imported_version(opsets), operands, attributes)
        check_inferred(node, imported_version(opsets), operands)
    except NotSupported:
        # The importer reports the error.
        return None
    shape, _ = asked_size(node.op_type, operands, attributes)
    if node.op_type not in _OF_SHAPES and not 0 <= prod(shape) <= MOST_ELEMENTS:
        return None
    if node.op_type in ("Div", "Mod"):
        divisor = inputs[node.input[1]]
        if divisor.dtype.kind in "iu" and not divisor.all():
            # The converter reports the division by 0.
            return None
    try:
        evaluator = ReferenceEvaluator(_one_node_model(opsets, node))
        with np.errstate(all="ignore"):
            values = [np.asarray(value) for value in evaluator.run(None, dict(inputs))]
    except Exception:
        # The evaluator does not know every operator; such a node stays.
        return None
    return values if all(value.size <= MOST_ELEMENTS for value in values) else None


def _is_small(shape: list[int] | None) -> bool:
    return shape is not None and prod(shape) <= MOST_ELEMENTS


def _one_node_model(
    opsets: Sequence[onnx.OperatorSetIdProto], node: onnx.NodeProto
) -> onnx.ModelProto:
    unknown = onnx.TypeProto()
    names = dict.fromkeys(name for name in node.input if name)
    graph = onnx.helper.make_graph(
        [node],
        "node",
        [onnx.helper.make_value_info(name, unknown) for name in names],
        [onnx.helper.make_value_info(name, unknown) for name in node.output],
    )
    return onnx.helper.make_model(graph, opset_imports=list(opsets))


def _drop_unused(graph: onnx.GraphProto) -> None:
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            continue
        kept.append(node)
        needed |= names_read(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
