"""Checks of the attributes and inputs of every ONNX operator, before its conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.shape_inference import InferenceError, infer_node_outputs

from usmp.frontend.onnx.checks.attribute_values import check_attribute_values
from usmp.frontend.onnx.checks.einsum import check_equation
from usmp.frontend.onnx.checks.operand_shapes import check_operand_shapes
from usmp.frontend.onnx.checks.windows import check_window
from usmp.frontend.onnx.graph.axes import check_axes
from usmp.frontend.onnx.graph.error_message import message_of
from usmp.frontend.onnx.graph.known_shapes import known_shapes
from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.nodes import all_nodes, described_node, qualified_name, schema_of
from usmp.frontend.onnx.graph.operands import Operand
from usmp.frontend.size_arithmetic import MOST_ELEMENTS
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown


def check_node(
    node: onnx.NodeProto, opset: int, operands: Sequence[Operand], attributes: Mapping[str, Any]
) -> None:
    """Check that the attributes of a node are valid for its inputs, as far as these are known.

    Parameters
    ----------
    opset
        the version of the ONNX operators.
    attributes
        the node's attributes, as numbers, lists and bytes.

    Raises
    ------
    NotSupported
        a check fails; the message names the attribute and its valid values.
    """
    operator = qualified_name(node)
    check_attribute_values(operator, attributes)
    check_axes(operator, opset, operands, attributes)
    check_window(operator, operands, attributes)
    check_operand_shapes(operator, operands, attributes)
    if operator == "Split" and attributes.get("num_outputs", len(node.output)) != len(node.output):
        raise NotSupported(
            f"num_outputs is {attributes['num_outputs']}, and it has {len(node.output)} outputs"
        )
    if operator == "Einsum":
        check_equation(operands, attributes)


def check_before_inference(graph: onnx.GraphProto, opset: int) -> None:
    """Check nodes before ONNX infers shapes, because ONNX indexes memory by unchecked attributes.

    Raises
    ------
    UnsupportedModelError
        the attributes of a node are not valid for its inputs.
    """
    shapes = known_shapes(graph)
    outer = {id(node) for node in graph.node}
    for node in all_nodes(graph):
        # Names inside a nested graph may mean other tensors.
        shapes_in_scope = shapes if id(node) in outer else {}
        operands = [Operand(shapes_in_scope.get(name)) for name in node.input]
        with refused_by_name(node):
            _check_lists(node)
            check_node(node, opset, operands, attributes_of(node))


def _check_lists(node: onnx.NodeProto) -> None:
    """Check that lists have elements, because TVM's importer cannot read empty lists."""
    for attribute in node.attribute:
        is_list = attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS)
        if is_list and not attribute.ints and not attribute.floats and node.op_type != "Constant":
            raise NotSupported(f"{shown(attribute.name)} is empty; leave it out")


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node as numbers, lists and bytes."""
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


@contextmanager
def refused_by_name(node: onnx.NodeProto) -> Iterator[None]:
    """Add the node's name to errors raised in the `with` block.

    Raises
    ------
    UnsupportedModelError
        the block raised `NotSupported`.
    """
    try:
        yield
    except NotSupported as error:
        raise UnsupportedModelError(f"{described_node(node)} is not supported: {error}") from error


def check_inferred(
    node: onnx.NodeProto, opset: int, operands: Sequence[Operand], *, with_types: bool = False
) -> None:
    """Check that ONNX's shape inference accepts a node, as runtimes require.

    Parameters
    ----------
    with_types
        whether to check the element types against the opset, too.

    Raises
    ------
    NotSupported
        ONNX refuses the node; the message gives ONNX's reason.
    """
    schema = schema_of(qualified_name(node), opset)
    if schema is None or any(a.HasField("g") or a.graphs for a in node.attribute):
        return
    if node.op_type == "OneHot" or node.op_type.startswith("Optional"):
        # ONNX refuses valid inputs here: scalars of OneHot, plain tensors of optional operators.
        return
    inputs = [(n, o) for n, o in zip(node.input, operands, strict=True) if n]
    types = {name: operand.onnx_type for name, operand in inputs}
    known_types = {name: ty for name, ty in types.items() if ty is not None}
    if len(known_types) < len(types):
        return
    data = {
        name: numpy_helper.from_array(operand.value, name)
        for name, operand in inputs
        if operand.value is not None
        and operand.value.dtype.kind in "iu"
        and operand.value.size <= MOST_ELEMENTS
    }
    version = onnx.helper.make_opsetid(node.domain, opset)
    try:
        infer_node_outputs(schema, node, known_types, data, opset_imports=[version])
    except (InferenceError, onnx.checker.ValidationError) as error:
        if isinstance(error, InferenceError) or with_types:
            reason = re.sub(r"^\[\w+\] ", "", message_of(error)).removesuffix(".")
            raise NotSupported(f"{reason}; {inputs_in_words(operands)}") from error


def inputs_in_words(operands: Sequence[Operand]) -> str:
    """Return a phrase with the element types and shapes of the inputs."""
    types = (f"{operand.dtype}{list(operand.shape or ())}" for operand in operands)
    return f"its inputs are {', '.join(types)}"
