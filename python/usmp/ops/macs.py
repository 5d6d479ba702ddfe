"""How many multiply-accumulates an operator takes: the usual measure of its work.

A product that is added to a sum counts as one, whatever instructions compute it, and also where a
window meets padding; rescaling, pooling and element-wise operators have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.attributes import CONTROL_FLOW_ATTR
from usmp.ops.records import QuantizedOp, operators_of
from usmp.ops.records.products import BatchMatmul
from usmp.tir.nodes import nodes_of

Shape = tuple[int, ...]

_LSTM_WEIGHTS = slice(4, -1)
"""Of the tensors of an LSTM: the weights and biases of its gates."""


def macs_of(func: tirx.PrimFunc) -> int | None:
    """The multiply-accumulates of an operator before it is fused or scheduled.

    Parameters
    ----------
    func
        takes tensors with their shapes. What is known of it (see `usmp.ops.records`) counts, or
        else the sums of products in its loops.

    Returns
    -------
    int | None
        None if the loops do not say how often they run; if it runs bodies of control flow.
    """
    if func.attrs and CONTROL_FLOW_ATTR in func.attrs:
        return None
    steps = operators_of(func)
    if not steps:
        return macs_of_loops(func.body)
    shapes = [_shape(param) for param in func.params if tirx.is_buffer_var(param)]
    # Operators that share their code take the same products.
    return sum(macs_of_record(records[0], shapes) for records in steps)


def macs_of_record(operator: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """The multiply-accumulates of an integer operator.

    Parameters
    ----------
    operator
        its record.
    shapes
        of the tensors that its PrimFunc takes, in order: those of the function in
        `usmp.ops.quantized` that made it, then the output.
    """
    count = _BY_KIND.get(operator.kind)
    return 0 if count is None else count(operator, shapes)


def macs_of_loops(body: tirx.Stmt) -> int | None:
    """The products that loops add to a sum, each as often as the loops around it run.

    Returns
    -------
    int | None
        None if a loop around such a sum has an extent that is not constant.
    """
    total = {
        store: count for store in nodes_of(body, tirx.BufferStore) if (count := _products(store))
    }
    for loop in nodes_of(body, tirx.For):
        for store in nodes_of(loop.body, tirx.BufferStore):
            if store not in total:
                continue
            if not isinstance(loop.extent, tirx.IntImm):
                return None
            total[store] *= int(loop.extent)
    return sum(total.values())


def _products(store: tirx.BufferStore) -> int:
    """How many products a statement adds to what it stores to."""
    value = store.value
    if not isinstance(value, tirx.Add):
        return 0
    for kept, added in ((value.a, value.b), (value.b, value.a)):
        if isinstance(kept, TensorLoad) and kept.source.same_as(store.buffer):
            return sum(
                bool(nodes_of(product.a, TensorLoad)) and bool(nodes_of(product.b, TensorLoad))
                for product in nodes_of(added, tirx.Mul)
            )
    return 0


def _shape(tensor: tirx.Buffer) -> Shape:
    return tuple(int(extent) for extent in tensor.shape)


def _conv2d(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """The weight is (outputs, height, width, depth)."""
    return prod(shapes[-1]) * prod(shapes[1][1:])


def _depthwise_conv2d(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """The weight is (height, width, outputs)."""
    return prod(shapes[-1]) * prod(shapes[1][:2])


def _transpose_conv2d(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """Each element of the data goes to all taps of all outputs: (outputs, height, width, depth)."""
    return prod(shapes[0]) * prod(shapes[1][:3])


def _fully_connected(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """The weight is (outputs, depth)."""
    return prod(shapes[-1]) * shapes[1][1]


def _batch_matmul(operator: BatchMatmul, shapes: Sequence[Shape]) -> int:
    return prod(shapes[-1]) * shapes[0][-2 if operator.transposed[0] else -1]


def _lstm(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """Every step of every sequence takes all weights, which have two axes; biases have one."""
    weights = [shape for shape in shapes[_LSTM_WEIGHTS] if len(shape) == 2]
    return prod(shapes[2][:2]) * sum(map(prod, weights))


def _l2_normalize(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """The squares of all elements are added up."""
    return prod(shapes[0])


def _svdf_state(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """Data is (batch, features), the weight (filters, features)."""
    return shapes[1][0] * prod(shapes[2])


def _svdf(_: QuantizedOp, shapes: Sequence[Shape]) -> int:
    """The weight is (units, what their filters remember)."""
    return prod(shapes[-1]) * shapes[1][1]


_BY_KIND: dict[str, Callable[[Any, Sequence[Shape]], int]] = {
    "batch_matmul": _batch_matmul,
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "fully_connected": _fully_connected,
    "l2_normalize": _l2_normalize,
    "lstm": _lstm,
    "svdf": _svdf,
    "svdf_state": _svdf_state,
    "transpose_conv2d": _transpose_conv2d,
}
"""Operators of other kinds add no products."""
