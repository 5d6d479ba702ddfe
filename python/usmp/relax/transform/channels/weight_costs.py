"""Costs of the operators with constant weights: channels, bytes, multiply-accumulates."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tvm.ir import Call, GenericConst, IRModule

from usmp.ops.emit import shape_of
from usmp.ops.records import operator_of
from usmp.ops.records.products import Conv2d, DepthwiseConv2d, FullyConnected
from usmp.relax.static_shapes import main_function
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


@dataclass(frozen=True)
class WeightCosts:
    """Costs of all convolutions and matrix products with constant weights.

    Parameters
    ----------
    channels
        number of output channels.
    weight_bytes
        bytes of weights, without biases and multipliers.
    macs
        multiply-accumulates of a run.
    """

    channels: int = 0
    weight_bytes: int = 0
    macs: int = 0


def weight_costs(mod: IRModule) -> WeightCosts:
    """Return the costs of the Relax `main`."""
    channels = weight_bytes = macs = 0
    for call in nodes_of(main_function(mod).body, Call):
        if op_name(call) != "relax.call_tir":
            continue
        record = operator_of(mod[call.args[0]])
        if not isinstance(record, Conv2d | DepthwiseConv2d | FullyConnected):
            continue
        weight = call.args[1].fields[1]
        if isinstance(weight, GenericConst):
            values = weight.value.numpy()
            outputs = values.shape[record.inputs[1].axis]
            channels += outputs
            weight_bytes += values.nbytes
            macs += prod(shape_of(call)) * (values.size // outputs)
    return WeightCosts(channels, weight_bytes, macs)
