"""Convolutions and matrix products with constant weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.ir import GenericConst

from usmp.ops import quantized
from usmp.ops.records.products import Conv2d, DepthwiseConv2d, FullyConnected, WeightedOp
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Kept,
    Known,
    Read,
    Rebuild,
    RecordedCall,
    Relation,
    Tied,
    channels_on,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.products import (
    Products,
    products_of,
    rescale_of,
    stored_weight,
)
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

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        chosen = _without_needless(products, weight, output)[kept.output][..., kept.of(0, depth)]
        return quantized.conv2d(
            builder,
            operands[0],
            np.ascontiguousarray(chosen),
            _bias(products, data, output, kept),
            window,
            record.inputs[0],
            rescale_of(products, kept.output),
            layout,
            stored_weight(record, kept.output),
            out_layout,
        )

    return _channel_operator(recorded, read, output, rebuild, is_fixed=is_grouped)


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

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        chosen = _without_needless(products, by_output, output)[kept.output][..., 0]
        return quantized.depthwise_conv2d(
            builder,
            operands[0],
            np.ascontiguousarray(chosen.transpose(1, 2, 0)),
            _bias(products, data, output, kept),
            window,
            record.inputs[0],
            rescale_of(products, kept.output),
            layout,
            stored_weight(record, kept.output),
            out_layout,
        )

    return _channel_operator(recorded, tied, output, rebuild, is_fixed=not is_known)


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

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        whole = _without_needless(products, weight[:, None, None, :], output)[:, 0, 0]
        return quantized.fully_connected(
            builder,
            operands[0],
            np.ascontiguousarray(whole[kept.output][:, kept.of(0, depth)]),
            _bias(products, data, output, kept),
            record.inputs[0],
            stored_weight(record, kept.output),
            rescale_of(products, kept.output),
        )

    return _channel_operator(recorded, read, output, rebuild, is_fixed=False)


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


def _without_needless(products: Products, weight: np.ndarray, output: ChannelRanges) -> np.ndarray:
    """The weight (outputs in front) without what constant outputs do not need."""
    zero_point = products.record.inputs[1].zero_points[0]
    is_constant = output.is_constant.reshape(-1, *[1] * (weight.ndim - 1))
    chosen: np.ndarray = np.where(is_constant, zero_point, weight).astype(weight.dtype)
    return chosen


def _bias(products: Products, data: ChannelRanges, output: ChannelRanges, kept: Kept) -> np.ndarray:
    """The bias of the outputs that stay; that of a constant one is a sum that leads to it."""
    removed = np.ones(data.count, bool)
    removed[kept.of(0, data.count)] = False
    least, _ = products.accumulators(data)
    bias = np.where(output.is_constant, least, products.bias_without(data, removed))
    dtype = products.record.rounding.accumulator
    chosen: np.ndarray = bias[kept.output].astype(dtype)
    return chosen


def _channel_operator(
    recorded: RecordedCall,
    relation: Relation,
    output: ChannelRanges,
    rebuild: Rebuild,
    is_fixed: bool,
) -> ChannelOperator:
    fixed = np.full(output.count, is_fixed)
    return ChannelOperator((recorded.arguments[0],), (relation,), output, rebuild, fixed=fixed)
