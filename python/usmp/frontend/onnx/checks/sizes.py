"""Checks of the sizes of the tensors of an ONNX graph before anything computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

from usmp.frontend.onnx.graph.known_shapes import known_shapes
from usmp.frontend.onnx.graph.nodes import described_node
from usmp.frontend.onnx.graph.operands import Operand
from usmp.relax.limits import Limits
from usmp.support.text.plain_text import shown


def check_onnx_sizes(graph: onnx.GraphProto, limits: Limits) -> None:
    """Check that every tensor of known shape is within `limits`.

    Raises
    ------
    UnsupportedModelError
        a tensor is too large; the message names it, and the node that makes it.
    """
    types = {v.name: v.type.tensor_type.elem_type for v in _values(graph)}
    makers = {name: node for node in graph.node for name in node.output}
    for name, shape in known_shapes(graph).items():
        item_bytes = _item_bytes(types.get(name, TensorProto.UINT8))
        tensor = f'tensor "{shown(name)}"'
        if name in makers:
            tensor = f"{described_node(makers[name])}: {tensor}"
        limits.check_tensor(tensor, shape, item_bytes)


def _values(graph: onnx.GraphProto) -> Sequence[onnx.ValueInfoProto]:
    return (*graph.input, *graph.output, *graph.value_info)


def _item_bytes(element_type: int) -> int:
    try:
        return int(helper.tensor_dtype_to_np_dtype(element_type).itemsize)
    except (KeyError, ValueError, TypeError):
        return 1


def parts_made(operator: str, operands: Sequence[Operand], attributes: Mapping[str, Any]) -> int:
    """Return the number of tensors that an operator splits its input into; 1 for most operators."""
    if operator == "Split":
        return int(attributes.get("num_outputs", 1))
    data = operands[0].extents if operands else None
    if operator != "SplitToSequence" or not data:
        return 1
    extent = data[int(attributes.get("axis", 0))]
    sizes = operands[1].value if len(operands) > 1 else None
    if sizes is None:
        return extent
    return int(sizes.size) if sizes.ndim else extent // max(int(sizes), 1)
