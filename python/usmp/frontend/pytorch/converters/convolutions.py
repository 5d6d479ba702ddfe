"""Converter of convolutions and transposed convolutions."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, converts, of_axes, rank_of
from usmp.tir.dtypes import is_float

_FORWARD = {1: relax.op.nn.conv1d, 2: relax.op.nn.conv2d, 3: relax.op.nn.conv3d}
_TRANSPOSED = {1: relax.op.nn.conv1d_transpose, 2: relax.op.nn.conv2d_transpose}
_AXES = {1: "W", 2: "HW", 3: "DHW"}


@converts("convolution.default")
def _convolution(operator: Operator) -> Expr:
    data, weight = operator["input"], operator["weight"]
    if not is_float(operator.dtype):
        raise operator.refusal("of integers is not supported; convert them to float32 before")
    rank = rank_of(weight) - 2
    has_batch = rank_of(data) == rank + 2
    if not has_batch:
        data = operator.emit(relax.op.expand_dims(data, 0))
    result = operator.emit(_convolved(operator, data, weight, rank))
    if operator["bias"] is not None:
        bias = relax.op.reshape(operator["bias"], (1, -1, *[1] * rank))
        result = operator.emit(relax.op.add(result, bias))
    return result if has_batch else relax.op.squeeze(result, [0])


def _convolved(operator: Operator, data: Expr, weight: Expr, rank: int) -> Expr:
    axes = _AXES[rank]
    strides, padding, dilation = (
        of_axes(operator[name], rank) for name in ("stride", "padding", "dilation")
    )
    options = {
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "groups": operator["groups"],
        "data_layout": f"NC{axes}",
        "out_dtype": operator.dtype,
    }
    if not operator["transposed"]:
        return _FORWARD[rank](data, weight, kernel_layout=f"OI{axes}", **options)
    if rank not in _TRANSPOSED:
        raise operator.refusal("transposed, over three axes, is not supported")
    if any(d != 1 for d in dilation):
        raise operator.refusal("transposed, with dilation, is not supported")
    output_padding = of_axes(operator["output_padding"], rank)
    options["output_padding"] = output_padding
    return _TRANSPOSED[rank](data, weight, kernel_layout=f"IO{axes}", **options)
