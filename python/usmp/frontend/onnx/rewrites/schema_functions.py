"""Expansion of ONNX operators that ONNX defines by functions of other operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import inliner, shape_inference

from usmp.frontend.onnx.checks.check_node import attributes_of, check_node, refused_by_name
from usmp.frontend.onnx.converters.operators import WRITTEN_OUT
from usmp.frontend.onnx.graph.nodes import is_of_onnx, schema_of
from usmp.frontend.onnx.graph.operands import operand_of_type
from usmp.frontend.onnx.graph.opsets import opset_version
from usmp.relax.limits import Limits

_DOMAIN = "usmp.schema_functions"
_LAYER_NORMALIZATION = "LayerNormalization"
_FIRST_OPSET_WITH_IT = 17
_FIRST_OPSET_OF_ITS_FUNCTION = 13
"""The first opset with the semantics that the function of LayerNormalization assumes."""
_MOST_LEVELS = 4
"""The deepest nesting of functions; ONNX has two levels."""


def write_out_schema_functions(model: onnx.ModelProto, limits: Limits) -> onnx.ModelProto:
    """Return the model with nodes (see `_is_written_out`) replaced by ONNX's functions for them.

    Source: the functions in the schemas of ONNX's operators.

    Raises
    ------
    UnsupportedModelError
        the model gets too many nodes, or a node's attributes are not valid for its inputs.
    """
    for _ in range(_MOST_LEVELS):
        types = _types(model)
        nodes = [node for node in model.graph.node if _is_written_out(node, types)]
        if not nodes:
            break
        for node in nodes:
            operands = [operand_of_type(types.get(n, onnx.TypeProto())) for n in node.input]
            with refused_by_name(node):
                # Check here, because ONNX's functions do not check their inputs.
                check_node(node, opset_version(model), operands, attributes_of(node))
        functions = [_function(node, model, types) for node in nodes]
        added = sum(len(function.node) for function in functions if function)
        limits.check_operators(
            "with ONNX's functions written out, the model has", added + len(model.graph.node)
        )
        if not any(functions):
            break
        for index, (node, function) in enumerate(zip(nodes, functions, strict=True)):
            if function is not None:
                _make_call(node, function, f"{node.op_type}_{index}", model)
        model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
        model = inliner.inline_local_functions(model)
    return model


def _is_written_out(node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto]) -> bool:
    if not is_of_onnx(node):
        return False
    if node.op_type == _LAYER_NORMALIZATION:
        # TVM's operator has one output.
        return sum(map(bool, node.output)) > 1
    if node.op_type == "RMSNormalization" and len(node.input) > 1:
        # TVM's operator normalizes a single axis, and requires other axes beside it.
        ranks = [len(types[n].tensor_type.shape.dim) for n in node.input[:2] if n in types]
        return len(ranks) == 2 and (ranks[0] < 2 or ranks[1] != 1)
    return node.op_type in WRITTEN_OUT


def _types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    try:
        inferred = shape_inference.infer_shapes(model)
    except Exception:
        # Functions need types; without them the operators are refused by name.
        inferred = model
    graph = inferred.graph
    types = {value.name: value.type for value in (*graph.input, *graph.output, *graph.value_info)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return types


def _function(
    node: onnx.NodeProto, model: onnx.ModelProto, types: dict[str, onnx.TypeProto]
) -> onnx.FunctionProto | None:
    """Return the newest version of a node's function in the model's opset; None if ONNX has no
    function, or if the type of an input is unknown."""
    version = opset_version(model)
    schema = _schema(node, version)
    if schema is None or any(name and name not in types for name in node.input):
        return None
    version = max(version, int(schema.since_version))
    by_context = schema.context_dependent_function_opset_versions
    plain = schema.function_opset_versions
    newest = max((number for number in (*by_context, *plain) if number <= version), default=None)
    if newest is None:
        return None
    input_types = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
    content = (
        schema.get_function_with_opset_version(newest)
        if newest in plain
        else schema.get_context_dependent_function_with_opset_version(
            newest, node.SerializeToString(), input_types
        )
    )
    function = onnx.FunctionProto.FromString(content)
    return function if function.node else None


def _schema(node: onnx.NodeProto, version: int) -> Any:
    if node.op_type == _LAYER_NORMALIZATION and version >= _FIRST_OPSET_OF_ITS_FUNCTION:
        # Optimizers write this operator into older models, and onnxruntime accepts it there.
        version = max(version, _FIRST_OPSET_WITH_IT)
    return schema_of(node.op_type, version)


def _make_call(
    node: onnx.NodeProto, function: onnx.FunctionProto, name: str, model: onnx.ModelProto
) -> None:
    """Turn a node into a call of its function, with default values for omitted attributes."""
    names = {attribute.name for attribute in node.attribute}
    for attribute in _schema(node, opset_version(model)).attributes.values():
        if attribute.name not in names and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
    function.domain, function.name = _DOMAIN, name
    node.domain, node.op_type = _DOMAIN, name
    # The model's opset gives the function's operators the same semantics.
    del function.opset_import[:]
    function.opset_import.extend(model.opset_import)
    model.functions.append(function)
