"""How large the tensors of an ONNX graph are, before anything computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from tvm.ir import GenericConst

from usmp.frontend.onnx.asked_sizes import Size, asked_size
from usmp.frontend.onnx.known_shapes import known_shapes
from usmp.relax.limits import Limits
from usmp.relax.static_shapes import has_static_shape


def check_onnx_sizes(graph: onnx.GraphProto, limits: Limits) -> None:
    """Check that every tensor whose shape is known may be as large as that.

    Raises
    ------
    UnsupportedModelError
        one is larger than a model may ask for; the message names it.
    """
    types = {v.name: v.type.tensor_type.elem_type for v in _values(graph)}
    for name, shape in known_shapes(graph).items():
        item_bytes = _item_bytes(types.get(name, TensorProto.UINT8))
        limits.check_tensor(f'tensor "{name}"', shape, item_bytes)


def _values(graph: onnx.GraphProto) -> Sequence[onnx.ValueInfoProto]:
    return (*graph.input, *graph.output, *graph.value_info)


def _item_bytes(element_type: int) -> int:
    try:
        return int(helper.tensor_dtype_to_np_dtype(element_type).itemsize)
    except (KeyError, ValueError, TypeError):
        return 1


def parts_made(operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    """How many tensors the operator cuts its input into; 1 if it cuts nothing."""
    if operator == "Split":
        return int(attributes.get("num_outputs", 1))
    if operator != "SplitToSequence" or not has_static_shape(inputs[0].ty):
        return 1
    extent = int(inputs[0].ty.shape[int(attributes.get("axis", 0))])
    sizes = inputs[1].value.numpy() if isinstance(inputs[1], GenericConst) else np.ones(())
    return sizes.size if sizes.ndim else extent // max(int(sizes), 1)


def computed_size(
    operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any] | None = None
) -> Size:
    """At least the size of what TVM's importer computes of constants as it reads the operator.

    An empty one if it computes nothing, or nothing larger than its inputs.
    """
    values = [i.value.numpy() if isinstance(i, GenericConst) else None for i in inputs]
    if all(value is None for value in values):
        return [0], 1
    return asked_size(operator, values, int((attributes or {}).get("axis", 0)))
