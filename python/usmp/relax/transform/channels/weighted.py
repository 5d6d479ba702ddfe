"""Convolutions and matrix products with constant weights."""

from __future__ import annotations

import numpy as np
from tvm.ir import GenericConst

from usmp.ops.records.products import Conv2d, DepthwiseConv2d, FullyConnected, WeightedOp
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


def convolution(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """A convolution; a grouped one keeps all channels."""
    record, weight = recorded.record, _weight(recorded)
    if not isinstance(record, Conv2d) or weight is None or weight.ndim != 4:
        return None
    outputs, height, width, depth = weight.shape
    window = record.window((height, width), *recorded.shapes)
    layout, out_layout = record.layout
    axis, out_axis = (each.axes.index("C") for each in (layout, out_layout))
    data, is_known = channels_on(known, recorded.arguments[0], axis)
    per_group = outputs // (data.count // depth)
    is_grouped = depth != data.count
    sources = np.arange(depth)[None, :]
    if is_grouped:
        sources = np.arange(outputs)[:, None] // per_group * depth + sources
    products = _products(record, recorded, weight, sources, taps_of(window))
    output = products.outputs(data, out_axis)
    read = Read(products.needs(data, output)) if is_known and not is_grouped else None

    return _operator(recorded, products, axis, data, read, output, is_grouped)


def depthwise(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """A convolution of each channel by itself: channels of data and output go together."""
    record, weight = recorded.record, _weight(recorded)
    if not isinstance(record, DepthwiseConv2d) or weight is None or weight.ndim != 3:
        return None
    height, width, outputs = weight.shape
    window = record.window((height, width), *recorded.shapes)
    layout, out_layout = record.layout
    axis, out_axis = (each.axes.index("C") for each in (layout, out_layout))
    data, is_known = channels_on(known, recorded.arguments[0], axis)
    sources = np.arange(outputs) // (outputs // data.count)
    by_output = weight.transpose(2, 0, 1)[..., None]
    products = _products(record, recorded, by_output, sources[:, None], taps_of(window))
    output = products.outputs(data, out_axis)
    tied = Tied(sources, np.arange(outputs)) if is_known else None

    return _operator(recorded, products, axis, data, tied, output, not is_known)


def fully_connected(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """A product with a constant matrix."""
    record, weight = recorded.record, _weight(recorded)
    if not isinstance(record, FullyConnected) or weight is None or weight.ndim != 2:
        return None
    _, depth = weight.shape
    data, is_known = channels_on(known, recorded.arguments[0], 1)
    sources = np.arange(depth)[None, :]
    everywhere = Taps(np.ones((1, 1), bool), np.zeros((1, 1), bool))
    products = _products(record, recorded, weight[:, None, None, :], sources, everywhere)
    output = products.outputs(data, 1)
    read = Read(products.needs(data, output)) if is_known else None

    return _operator(recorded, products, 1, data, read, output, False)


def _weight(recorded: RecordedCall) -> np.ndarray | None:
    """The weight, if all that the operator takes but for the data is constant."""
    data, *constants = recorded.arguments
    if not constants or not all(isinstance(constant, GenericConst) for constant in constants):
        return None
    if isinstance(data, GenericConst) or not recorded.record.inputs[0].is_per_tensor:
        return None
    values: np.ndarray = constants[0].value.numpy()
    return values


def _products(
    record: WeightedOp,
    recorded: RecordedCall,
    weight: np.ndarray,
    sources: np.ndarray,
    taps: Taps,
) -> Products:
    constants = [constant.value.numpy() for constant in recorded.arguments[1:]]
    return products_of(record, constants, weight, sources, taps)


def _operator(
    recorded: RecordedCall,
    products: Products,
    axis: int,
    data: ChannelRanges,
    relation: Relation,
    output: ChannelRanges,
    is_fixed: bool,
) -> ChannelOperator:
    """Return what the operator does with channels.

    Parameters
    ----------
    axis
        of the channels of the data.
    is_fixed
        whether all channels of the output stay.
    """

    def constants(kept: Kept) -> dict[int, np.ndarray]:
        return {
            1: _needed_weight(recorded, products, output),
            2: _bias(products, data, output, kept),
        }

    fixed = np.full(output.count, is_fixed)
    return recorded.operator({0: (axis, relation)}, output, fixed, constants)


def _needed_weight(recorded: RecordedCall, products: Products, output: ChannelRanges) -> np.ndarray:
    """Return the weight without what constant outputs do not need."""
    weight, stored = recorded.arguments[1].value.numpy(), products.record.inputs[1]
    others = [axis for axis in range(weight.ndim) if axis != stored.axis]
    is_constant = np.expand_dims(output.is_constant, others)
    needed: np.ndarray = np.where(is_constant, stored.zero_points[0], weight).astype(weight.dtype)
    return needed


def _bias(products: Products, data: ChannelRanges, output: ChannelRanges, kept: Kept) -> np.ndarray:
    """Return the bias of all outputs; that of a constant one is a sum that leads to it."""
    removed = np.ones(data.count, bool)
    removed[kept.of(0, data.count)] = False
    least, _ = products.accumulators(data)
    bias = np.where(output.is_constant, least, products.bias_without(data, removed))
    chosen: np.ndarray = bias.astype(products.record.rounding.accumulator)
    return chosen
