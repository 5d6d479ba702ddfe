"""Copies of convolution calls with other operands or attributes."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.ir import Call


def convolution_like(
    call: Call, data: relax.Expr, weight: relax.Expr | None = None, **changed: Any
) -> Call:
    """Return a copy of a convolution that reads other data, with some attributes changed.

    Parameters
    ----------
    call
        a call of relax.nn.conv1d, conv2d, conv3d, conv1d_transpose or conv2d_transpose.
    weight
        the weights; by default those of `call`.
    changed
        attribute -> new value; names are those of the parameters in `relax.op.nn`.
    """
    attrs = call.attrs
    padding = {"output_padding": list(attrs.output_padding)} if "transpose" in call.op.name else {}
    kept = {
        "strides": list(attrs.strides),
        "padding": list(attrs.padding),
        "dilation": list(attrs.dilation),
        "groups": int(attrs.groups),
        "data_layout": str(attrs.data_layout),
        "kernel_layout": str(attrs.kernel_layout),
        "out_layout": str(attrs.out_layout),
        "out_dtype": attrs.out_dtype,
    }
    convolve = getattr(relax.op.nn, call.op.name.removeprefix("relax.nn."))
    result: Call = convolve(
        data, call.args[1] if weight is None else weight, **{**kept, **padding, **changed}
    )
    return result
