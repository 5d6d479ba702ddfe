"""Normalization of ONNX nodes, so that the importer meets one form of each."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import numpy_helper

from usmp.frontend.onnx.graph.known_shapes import known_shapes
from usmp.frontend.onnx.graph.nodes import all_nodes, names_read_in

_CONVOLUTIONS = ("Conv", "ConvInteger")
_PADDED = frozenset({*_CONVOLUTIONS, "AveragePool", "MaxPool", "LpPool"})
_SAME = (b"SAME_UPPER", b"SAME_LOWER")
_WIDER = {onnx.TensorProto.INT4: "int8", onnx.TensorProto.UINT4: "uint8"}
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})


def normalize_onnx(model: onnx.ModelProto) -> None:
    """Rewrite `model`, whose shapes are known, in place.

    - `auto_pad` and `output_shape` become `pads`: TVM pads a convolution in a separate operator,
      and pads one element too few for SAME_LOWER of a maximum pooling.
    - Quantization parameters of one element become scalars: TVM reads a vector as one parameter a
      channel.
    - Dequantized constants of 4 bits become constants of 8 bits, because TVM has no 4-bit type.
    - Unread trailing outputs are removed, because TVM makes fewer outputs.
    """
    shapes = known_shapes(model.graph)
    for node in model.graph.node:
        if node.op_type in _PADDED:
            _make_padding_explicit(node, shapes)
        if node.op_type == "ConvTranspose":
            _make_crop_explicit(node, shapes)
    _widen_stored_constants(model.graph)
    _make_parameters_scalar(model.graph)
    _leave_out_unread_outputs(model.graph)


def _make_padding_explicit(node: onnx.NodeProto, shapes: dict[str, list[int]]) -> None:
    """Replace `auto_pad` by `pads`; the importer refuses malformed nodes, which stay unchanged."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    mode = attributes.get("auto_pad", b"NOTSET")
    extents = shapes.get(node.input[0], [])[2:]
    kernel = attributes.get("kernel_shape")
    if kernel is None and node.op_type in _CONVOLUTIONS:
        kernel = shapes.get(node.input[1], [])[2:]
    if not extents and kernel and (mode == b"VALID" or set(attributes.get("strides", [1])) == {1}):
        # The pads do not depend on the extents here, so dynamic extents may be anything.
        extents = [1] * len(kernel)
    strides = attributes.get("strides", [1] * len(extents))
    dilations = attributes.get("dilations", [1] * len(extents))
    if mode not in (b"VALID", *_SAME) or kernel is None or any(s <= 0 for s in strides):
        return
    if not extents or not len(extents) == len(kernel) == len(strides) == len(dilations):
        return
    pads = [0] * (2 * len(extents))
    if mode in _SAME:
        pads = same_padding(extents, kernel, strides, dilations, lower=mode == b"SAME_LOWER")
    kept = [a for a in node.attribute if a.name not in ("auto_pad", "pads")]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("pads", pads)])


def _make_crop_explicit(node: onnx.NodeProto, shapes: dict[str, list[int]]) -> None:
    """Replace `output_shape` or `auto_pad` of a transposed convolution by `pads`, the numbers of
    elements that are cut off the result."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    mode = attributes.get("auto_pad", b"NOTSET")
    extents = shapes.get(node.input[0], [])[2:]
    kernel = attributes.get("kernel_shape", shapes.get(node.input[1], [])[2:])
    ones = [1] * len(extents)
    strides, dilations = attributes.get("strides", ones), attributes.get("dilations", ones)
    added = attributes.get("output_padding", [0] * len(extents))
    wanted = attributes.get("output_shape")
    if wanted is None and mode in _SAME:
        wanted = [extent * stride for extent, stride in zip(extents, strides, strict=False)]
    lists = (kernel, strides, dilations, added, wanted or [])
    if not extents or any(len(values) != len(extents) for values in lists):
        return
    begins, ends = [], []
    for extent, taps, stride, dilation, more, size in zip(extents, *lists, strict=True):
        total = stride * (extent - 1) + more + (taps - 1) * dilation + 1 - size
        if total < 0:
            return
        less = total // 2
        begins.append(less if mode == b"SAME_UPPER" else total - less)
        ends.append(total - less if mode == b"SAME_UPPER" else less)
    replaced = ("auto_pad", "pads", "output_shape")
    kept = [a for a in node.attribute if a.name not in replaced]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("pads", begins + ends)])


def same_padding(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    lower: bool,
) -> list[int]:
    """Return the pads, all begins before all ends, with which the output has ceil(extent / stride)
    elements. An odd element goes to the end, or with `lower` to the beginning.

    Source: ONNX operators, Conv, attribute `auto_pad`.
    """
    begins, ends = [], []
    for extent, taps, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
        outputs = -(-extent // stride)
        total = max((outputs - 1) * stride + (taps - 1) * dilation + 1 - extent, 0)
        less, more = total // 2, total - total // 2
        begins.append(more if lower else less)
        ends.append(less if lower else more)
    return begins + ends


def _widen_stored_constants(graph: onnx.GraphProto) -> None:
    readers: dict[str, set[str]] = {}
    for node in all_nodes(graph):
        for name in node.input:
            readers.setdefault(name, set()).add(node.op_type)
    for tensor in graph.initializer:
        dtype = _WIDER.get(tensor.data_type)
        if dtype and readers.get(tensor.name) == {"DequantizeLinear"}:
            values = numpy_helper.to_array(tensor).astype(dtype)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _make_parameters_scalar(graph: onnx.GraphProto) -> None:
    values = {tensor.name: tensor for tensor in graph.initializer}
    names = {*values, *(name for node in graph.node for name in node.output)}
    scalars: dict[str, str] = {}
    for node in graph.node:
        is_blocked = any(a.name == "block_size" and a.i for a in node.attribute)
        if node.op_type not in _QUANTIZERS or is_blocked:
            continue
        for position, name in enumerate(node.input):
            tensor = values.get(name)
            if position == 0 or tensor is None or list(tensor.dims) != [1]:
                continue
            if name not in scalars:
                scalars[name] = _unique_name(f"{name}_scalar", names)
                scalar = numpy_helper.to_array(tensor).reshape(())
                graph.initializer.append(numpy_helper.from_array(scalar, scalars[name]))
            node.input[position] = scalars[name]


def _leave_out_unread_outputs(graph: onnx.GraphProto) -> None:
    read = names_read_in(graph)
    for node in graph.node:
        while len(node.output) > 1 and node.output[-1] not in read:
            del node.output[-1]


def _unique_name(name: str, names: set[str]) -> str:
    while name in names:
        name += "_"
    names.add(name)
    return name
