"""Checks of an ONNX file before its import: the file is whole, and its shapes are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import TensorProto, numpy_helper

from usmp.frontend.dynamic_sizes import AskedSizes, DynamicSize, resolved_sizes
from usmp.frontend.input_shapes import GIVE_SHAPE
from usmp.frontend.onnx.graph.accepted_forms import accept_forms
from usmp.frontend.onnx.graph.error_message import message_of
from usmp.frontend.onnx.graph.external_data import load_external_data
from usmp.frontend.onnx.graph.functions import check_function_calls
from usmp.frontend.onnx.graph.nodes import all_nodes
from usmp.frontend.onnx.graph.opsets import opset_version
from usmp.relax.limits import DEFAULT_LIMITS, Limits
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.support.text.unique_names import UniqueNames

_UNKNOWN_DOMAIN = "usmp.unregistered"
"""The domain given to operators that the checker does not know, so that it skips them."""


def read_onnx(
    content: bytes, folder: Path, limits: Limits = DEFAULT_LIMITS, asked: AskedSizes | None = None
) -> tuple[onnx.ModelProto, list[DynamicSize]]:
    """Return the checked model in `content`, and its dynamic sizes.

    External data is read from `folder`. The extents of inputs become numbers or symbols of the
    sizes: a first extent without a given bound becomes a batch of 1. The model passes the ONNX
    checker, and inlining its functions ends within `limits`.

    Raises
    ------
    UnsupportedModelError
        the model fails one of these checks; the message says which.
    ValueError
        the model does not have a size that the user names.
    """
    try:
        model = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise UnsupportedModelError(
            f"not an ONNX model, or a damaged one: its {len(content)} bytes cannot be decoded; "
            "export or copy the model again"
        ) from error
    _check_text(model)
    accept_forms(model)
    load_external_data(model, folder, limits)
    check_function_calls(model, limits)
    sizes = _resolve_input_shapes(model.graph, asked or AskedSizes())
    _check(model)
    return model, sizes


def model_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs without an initializer, in order."""
    initialized = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in initialized]


def input_shapes(graph: onnx.GraphProto, variables: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the shapes of the inputs with dynamic sizes; `variables` maps symbols to variables."""
    shapes = {value.name: _extents(value) for value in model_inputs(graph)}
    return {
        name: [variables[extent] if isinstance(extent, str) else extent for extent in shape]
        for name, shape in shapes.items()
        if any(isinstance(extent, str) for extent in shape)
    }


def _check_text(message: Message) -> None:
    """Check that all text is UTF-8, because protobuf returns other text as bytes."""
    for descriptor, value in message.ListFields():
        values = [value] if isinstance(value, str | bytes | Message) else value
        if descriptor.type == descriptor.TYPE_STRING and not all(
            isinstance(text, str) for text in values
        ):
            raise UnsupportedModelError(
                f"the file is damaged: the {descriptor.name} of a {message.DESCRIPTOR.name} "
                "is not text"
            )
        if descriptor.type == descriptor.TYPE_MESSAGE:
            for inner in values:
                _check_text(inner)


def _check(model: onnx.ModelProto) -> None:
    """Run the ONNX checker; the importer judges operators that the checker does not know."""
    if len(model.graph.sparse_initializer):
        raise UnsupportedModelError("the model has sparse initializers; make them dense")
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        _check_element_type(value)
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    checked.opset_import.append(onnx.helper.make_opsetid(_UNKNOWN_DOMAIN, 1))
    version = opset_version(model)
    for node in all_nodes(checked.graph):
        # Optimizers write operators into models whose version is older than the operators.
        if not onnx.defs.has(node.op_type, version, node.domain):
            node.domain = _UNKNOWN_DOMAIN
    for output in checked.graph.output:
        # The checker requires a shape, and exporters leave out shapes that follow from the inputs.
        output.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(checked)
    except Exception as error:
        raise UnsupportedModelError(
            f"not an ONNX model, or a damaged one: {message_of(error)}"
        ) from error
    for tensor in model.graph.initializer:
        try:
            numpy_helper.to_array(tensor)
        except Exception as error:
            raise UnsupportedModelError(
                f'the file is damaged: the values of initializer "{tensor.name}" of shape '
                f"{list(tensor.dims)} cannot be read: {message_of(error)}"
            ) from error
    if not model.graph.output:
        raise UnsupportedModelError("the model has no outputs")


def _check_element_type(value: onnx.ValueInfoProto) -> None:
    element_type = value.type.tensor_type.elem_type
    if element_type not in (0, *onnx.helper.get_all_tensor_dtypes()):
        raise UnsupportedModelError(
            f'the file is damaged: tensor "{shown(value.name)}" has element type {element_type}, '
            "which ONNX does not know"
        )


def _resolve_input_shapes(graph: onnx.GraphProto, asked: AskedSizes) -> list[DynamicSize]:
    """Replace the dynamic extents of all tensors by their numbers or the names of their shape
    variables, and return the sizes."""
    inputs = model_inputs(graph)
    for value in inputs:
        _check_is_tensor(value, "input")
        _give_shape(value, asked.input_shapes)
    for value in graph.output:
        _check_is_tensor(value, "output")
    _name_extents(inputs)
    sizes = resolved_sizes({v.name: _extents(v) for v in inputs}, asked)
    by_name = {size.name: size for size in sizes}
    values: Iterable[Any] = (*graph.input, *graph.output, *graph.value_info)
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if not _is_fixed(dim):
                # Extents of inputs have names by now; other tensors' extents follow from them.
                dim.ClearField("dim_value")
            size = by_name.get(dim.dim_param)
            if size is None:
                continue
            if size.number is None:
                dim.dim_param = size.symbol
            else:
                dim.dim_value = size.number
    return sizes


def _name_extents(inputs: Sequence[onnx.ValueInfoProto]) -> None:
    """Name each unnamed dynamic extent after its input and axis."""
    dims = [
        (value, axis, dim)
        for value in inputs
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if not _is_fixed(dim)
    ]
    names = UniqueNames(dim.dim_param for _, _, dim in dims)
    for value, axis, dim in dims:
        if not dim.dim_param:
            dim.dim_param = names.unique(f"{value.name}_{axis}")


def _extents(value: onnx.ValueInfoProto) -> list[str | int]:
    """Return the extents of a tensor: numbers, and names of sizes."""
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if _is_fixed(dim) else dim.dim_param for dim in dims]


def _check_is_tensor(value: onnx.ValueInfoProto, role: str) -> None:
    if value.type.WhichOneof("value") not in ("tensor_type", None):
        raise UnsupportedModelError(f'{role} "{value.name}" is not a tensor')
    if value.type.tensor_type.elem_type == TensorProto.STRING:
        raise UnsupportedModelError(
            f'{role} "{value.name}" holds text; only numbers can be planned'
        )


def _give_shape(value: onnx.ValueInfoProto, shapes: Mapping[str, Sequence[int]]) -> None:
    """Give an input without a shape the shape that the user gave."""
    tensor = value.type.tensor_type
    if tensor.HasField("shape"):
        return
    if value.name not in shapes:
        raise UnsupportedModelError(
            f'input "{value.name}" has no shape; memory is planned at compile time: '
            f"{GIVE_SHAPE}, or export the model with fixed input shapes"
        )
    tensor.shape.SetInParent()
    for extent in shapes[value.name]:
        tensor.shape.dim.add(dim_value=extent)


def _is_fixed(dim: Any) -> bool:
    """Return whether an extent is a number; exporters write 0 and -1 for unknown extents, too."""
    return bool(dim.dim_value > 0)
