"""Is an ONNX file whole, and are its shapes fixed? Say so up front, before it is imported."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import TensorProto, numpy_helper

from usmp.frontend.onnx.error_message import message_of
from usmp.frontend.onnx.external_data import load_external_data
from usmp.frontend.onnx.functions import check_function_calls
from usmp.frontend.onnx.nodes import all_nodes
from usmp.frontend.onnx.opsets import opset_version
from usmp.relax.limits import DEFAULT_LIMITS, Limits
from usmp.support.errors import UnsupportedModelError

_UNKNOWN_DOMAIN = "usmp.unregistered"
"""Stands for the domain of operators that the checker does not know, so that it skips them."""


def read_onnx(content: bytes, folder: Path, limits: Limits = DEFAULT_LIMITS) -> onnx.ModelProto:
    """The model in `content`, with the data that it keeps in other files of `folder`.

    It passes the ONNX checker, and its inputs are tensors of fixed shapes: a symbolic first extent
    is taken as a batch of 1. Its functions end, and make no more operators than it may have.

    Raises
    ------
    UnsupportedModelError
        something of this cannot be had; the message says what.
    """
    try:
        model = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise UnsupportedModelError(
            f"not an ONNX model, or a damaged one: its {len(content)} bytes cannot be decoded; "
            "export or copy the model again"
        ) from error
    _check_text(model)
    load_external_data(model, folder, limits)
    check_function_calls(model, limits)
    _fix_input_shapes(model.graph)
    _check(model)
    return model


def model_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The inputs that have no initializer, in order."""
    initialized = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in initialized]


def _check_text(message: Message) -> None:
    """Text that is not UTF-8 would come as bytes, which nothing here expects."""
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
    """Run the ONNX checker; what it does not know is left to the importer."""
    if len(model.graph.sparse_initializer):
        raise UnsupportedModelError("the model has sparse initializers; make them dense")
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    checked.opset_import.append(onnx.helper.make_opsetid(_UNKNOWN_DOMAIN, 1))
    version = opset_version(model)
    for node in all_nodes(checked.graph):
        # Optimizers write operators into models whose version is older than the operators.
        if not onnx.defs.has(node.op_type, version, node.domain):
            node.domain = _UNKNOWN_DOMAIN
    for output in checked.graph.output:
        # Exporters leave out what follows from the inputs.
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


def _fix_input_shapes(graph: onnx.GraphProto) -> None:
    """Take 1 for the symbol that stands for the batch, wherever it stands."""
    inputs = model_inputs(graph)
    for value in inputs:
        _check_is_tensor(value, "input")
        _check_has_shape(value)
    for value in graph.output:
        _check_is_tensor(value, "output")
    leading = (value.type.tensor_type.shape.dim[:1] for value in inputs)
    batch = {dim.dim_param for dims in leading for dim in dims if not _is_fixed(dim)}
    values: Iterable[Any] = (*graph.input, *graph.output, *graph.value_info)
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param and dim.dim_param in batch:
                dim.dim_value = 1
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        if dims and not _is_fixed(dims[0]):
            dims[0].dim_value = 1
        if not all(map(_is_fixed, dims)):
            raise UnsupportedModelError(
                f'input "{value.name}" has a dynamic shape, {_shown(dims)}; memory is planned at '
                "compile time: export the model with fixed input shapes"
            )


def _check_is_tensor(value: onnx.ValueInfoProto, what: str) -> None:
    if value.type.WhichOneof("value") not in ("tensor_type", None):
        raise UnsupportedModelError(f'{what} "{value.name}" is not a tensor')
    if value.type.tensor_type.elem_type == TensorProto.STRING:
        raise UnsupportedModelError(
            f'{what} "{value.name}" holds text; only numbers can be planned'
        )


def _check_has_shape(value: onnx.ValueInfoProto) -> None:
    if not value.type.tensor_type.HasField("shape"):
        raise UnsupportedModelError(
            f'input "{value.name}" has no shape; memory is planned at compile time: '
            "export the model with fixed input shapes"
        )


def _is_fixed(dim: Any) -> bool:
    """Whether the extent is a number; exporters write 0 and -1 for unknown ones too."""
    return bool(dim.dim_value > 0)


def _shown(dims: Iterable[Any]) -> str:
    extents = (str(d.dim_value) if d.dim_value else d.dim_param or "?" for d in dims)
    return f"[{', '.join(extents)}]"
