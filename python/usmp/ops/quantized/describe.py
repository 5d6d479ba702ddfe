"""The records of operators with constant weights, and parts that records have in common."""

from __future__ import annotations

from usmp.ops.quantized.fixed_point import Rounding
from usmp.ops.quantized.parameters import Quantization
from usmp.ops.quantized.rescale import Rescale
from usmp.ops.record import QuantizedOp
from usmp.ops.window import Layout, Window, named_layouts


def weighted_operator(
    kind: str, rescale: Rescale, data: Quantization, weight: Quantization, **moves: object
) -> QuantizedOp:
    """The record of an operator with constant weights.

    Parameters
    ----------
    rescale
        how it ends.
    data
        quantization of its input.
    weight
        quantization of the weight as the operator takes it.
    moves
        what else it is made from, as strides.
    """
    parameters: dict[str, object] = {
        **moves,
        "input_zero_point": data.zero_point,
        "weight_zero_point": weight.zero_points[0],
        "output_zero_point": rescale.zero_point,
        "clamp": [rescale.limits.minimum, rescale.limits.maximum],
        "rounding": rescale.rounding.name.lower(),
    }
    return QuantizedOp(kind, (data, weight), (rescale.output,), parameters)


def rounding_parameter(rounding: Rounding) -> dict[str, str]:
    """What a record says of how results are rounded: nothing if it is as TFLite does it."""
    return {} if rounding is Rounding.TWICE else {"rounding": rounding.name.lower()}


def rounding_of(record: QuantizedOp) -> Rounding:
    """How the operator of a record rounds the product with a factor."""
    return Rounding[str(record.parameters.get("rounding", Rounding.TWICE.name)).upper()]


def describe_window(
    window: Window, layout: Layout, out_layout: Layout | None = None
) -> dict[str, object]:
    """How a kernel moves over an image, by name; pairs are (height, width)."""
    return {
        "layout": named_layouts(layout, out_layout or layout),
        "strides": list(window.strides),
        "dilations": list(window.dilations),
        "padding": list(window.padding),
    }
