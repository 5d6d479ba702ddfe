"""Convolutions and matrix products with constant weights."""

from __future__ import annotations

import numpy as np
from tvm.ir import GenericConst

from usmp.ops.quantized.rescaling.weighted_constants import without_channels
from usmp.ops.records.products import Conv2d, DepthwiseConv2d, FullyConnected
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Kept,
    Known,
    Read,
    RecordedCall,
    Relation,
    Tied,
    channels_on,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.products import Products, products_of
from usmp.relax.transform.channels.taps import Taps, taps_of


def weighted(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """Return the channel relations of an operator with constant weights.

    A depthwise convolution ties its data channels to output channels. Other grouped convolutions
    keep all channels.
    """
    record, weight = recorded.record, _weight(recorded)
    if weight is None or not isinstance(record, Conv2d | DepthwiseConv2d | FullyConnected):
        return None
    is_depthwise = isinstance(record, DepthwiseConv2d)
    weight = record.by_output(weight)
    if isinstance(record, FullyConnected):
        axis, out_axis = 1, 1
        taps = Taps(np.ones((1, 1), bool), np.zeros((1, 1), bool))
    else:
        axis, out_axis = (layout.axes.index("C") for layout in record.layout)
        _, height, width, _ = weight.shape
        taps = taps_of(record.window((height, width), *recorded.shapes))
    outputs, _, _, depth = weight.shape
    data, is_known = channels_on(known, recorded.arguments[0], axis)
    # Each group of outputs reads its own channels.
    groups = data.count // depth
    firsts = np.arange(outputs)[:, None] // (outputs // groups) * depth
    sources = (firsts if groups > 1 else firsts[:1]) + np.arange(depth)
    constants = [constant.value.numpy() for constant in recorded.arguments[1:]]
    products = products_of(record, constants, weight, sources, taps)
    output = products.outputs(data, out_axis)
    relation: Relation = None
    if is_known and is_depthwise:
        relation = Tied(np.arange(outputs) // (outputs // groups), np.arange(outputs))
    elif is_known and groups == 1:
        relation = Read(products.needs(data, output))
    is_fixed = not is_known if is_depthwise else groups > 1
    return _operator(recorded, products, axis, data, relation, output, is_fixed)


def _weight(recorded: RecordedCall) -> np.ndarray | None:
    """Return the weights, if all arguments except the data are constant."""
    data, *constants = recorded.arguments
    if not constants or not all(isinstance(constant, GenericConst) for constant in constants):
        return None
    if isinstance(data, GenericConst) or not recorded.record.inputs[0].is_per_tensor:
        return None
    values: np.ndarray = constants[0].value.numpy()
    return values


def _operator(
    recorded: RecordedCall,
    products: Products,
    axis: int,
    data: ChannelRanges,
    relation: Relation,
    output: ChannelRanges,
    is_fixed: bool,
) -> ChannelOperator:
    """Return the operator with its channel relations.

    Parameters
    ----------
    axis
        axis of channels in the data.
    is_fixed
        whether all output channels must stay.
    """

    def constants(kept: Kept) -> dict[int, np.ndarray]:
        weight, stored = recorded.arguments[1].value.numpy(), recorded.record.inputs[1]
        return {
            1: without_channels(weight, stored, output.is_constant),
            2: _bias(products, data, output, kept),
        }

    fixed = np.full(output.count, is_fixed)
    return recorded.operator({0: (axis, relation)}, output, fixed, constants)


def _bias(products: Products, data: ChannelRanges, output: ChannelRanges, kept: Kept) -> np.ndarray:
    """Return the bias of all outputs. A constant output gets its least sum as bias, because its
    weights become zero."""
    removed = np.ones(data.count, bool)
    removed[kept.of(0, data.count)] = False
    least, _ = products.accumulators(data)
    bias = np.where(output.is_constant, least, products.bias_without(data, removed))
    chosen: np.ndarray = bias.astype(products.record.rounding.accumulator)
    return chosen
