"""The operators of a PrimFunc, for reports: kind, window, multiply-accumulates.

Before fusion, operators are read from the body of a PrimFunc; afterwards, from an attribute.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    OPERATOR_STEPS_ATTR,
)
from usmp.objects.operator_step import OperatorStep, Pair
from usmp.ops.macs import macs_of
from usmp.ops.records import QuantizedOp, operators_of
from usmp.ops.records.products import Conv2d, DepthwiseConv2d, TransposeConv2d
from usmp.ops.records.windowed import PoolOp


def steps_of(func: tirx.PrimFunc, name: str) -> Sequence[OperatorStep]:
    """Return the steps of a PrimFunc: from its attribute, or from a body that is not fused yet.

    Parameters
    ----------
    name
        name of the PrimFunc.
    """
    stated = OPERATOR_STEPS_ATTR.of(func)
    if stated is not None:
        return stated
    accelerator = ACCELERATOR_FUNCTION_ATTR.of(func)
    if accelerator is not None:
        return tuple(OperatorStep(str(operator.name), None) for operator in accelerator.operators)
    recorded = [records[0] for records in operators_of(func)]
    if len(recorded) == 1:
        return (OperatorStep(recorded[0].kind, macs_of(func), *_window(recorded[0], func)),)
    return (OperatorStep(name, macs_of(func)),)


def _window(operator: QuantizedOp, func: tirx.PrimFunc) -> tuple[Pair, Pair, Pair]:
    """Return kernel, strides and dilations; empty if the operator has none."""
    if isinstance(operator, PoolOp):
        return operator.kernel, operator.strides, operator.dilations
    if not isinstance(operator, Conv2d | DepthwiseConv2d | TransposeConv2d):
        return (), (), ()
    weight = tuple(int(extent) for extent in func.params[1].shape)
    kernel = weight[:2] if isinstance(operator, DepthwiseConv2d) else weight[1:3]
    dilations = () if isinstance(operator, TransposeConv2d) else operator.dilations
    return kernel, operator.strides, dilations
