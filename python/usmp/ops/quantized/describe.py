"""The record of an operator with constant weights, and its constants in the form of TFLite.

Operators keep their constants packed (see `pack_channels`); here these are the arrays by which
TFLite and CMSIS-NN define them: weight, bias, multiplier, shift.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from usmp.ops.quantized.epilogue import Epilogue
from usmp.ops.quantized.fixed_point import Rounding
from usmp.ops.quantized.pack_channels import unpack_channels
from usmp.ops.quantized.parameters import Quantization
from usmp.ops.quantized.window import Layout, Window, named_layouts
from usmp.ops.record import QuantizedOp


def weighted_operator(
    kind: str,
    epilogue: Epilogue,
    data: Quantization,
    weight: Quantization,
    channels: int,
    **moves: object,
) -> QuantizedOp:
    """The record of an operator with constant weights.

    Parameters
    ----------
    epilogue
        how it ends.
    data
        quantization of its input.
    weight
        quantization of the weight as the operator takes it.
    channels
        of the output.
    moves
        what else it is made from, as strides.
    """
    rescale, packed = epilogue.rescale, epilogue.packed
    constants: dict[str, bool | int] = {"has_bias": epilogue.has_bias, "channels": channels}
    if packed is not None:
        constants |= {
            "record_bits": packed.record_bits,
            "mantissa_bits": packed.mantissa_bits,
            "shift_bits": packed.shift_bits,
            "shift": packed.shift,
        }
    elif len(rescale.factors) == 1:
        (factor,) = rescale.factors
        constants |= {"multiplier": factor.multiplier, "shift": factor.shift}
    parameters: dict[str, object] = {
        **moves,
        "input_zero_point": data.zero_point,
        "weight_zero_point": weight.zero_points[0],
        "output_zero_point": rescale.zero_point,
        "clamp": [rescale.limits.minimum, rescale.limits.maximum],
        "rounding": rescale.rounding.name.lower(),
    }
    return QuantizedOp(kind, (data, weight), (rescale.output,), parameters, constants)


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


def reference_constants(
    record: QuantizedOp | None, constants: Sequence[np.ndarray]
) -> list[tuple[str, np.ndarray]]:
    """The constants of an operator by name.

    Parameters
    ----------
    record
        of its PrimFunc; None for an operator that has none.
    constants
        those that its PrimFunc takes, in order.

    Returns
    -------
    list[tuple[str, np.ndarray]]
        ("weight", ...), ("bias", ...), ("multiplier", ...), ("shift", ...), the last two and a bias
        of int32 or int64 with one element for each output channel; or the given constants, all
        called "constant", if the record does not say how they are packed."""
    if record is None or not record.constants:
        return [("constant", constant) for constant in constants]
    ending = record.constants
    weight, *rest = constants
    channels = int(ending["channels"])
    bias = np.zeros(channels, np.int32)
    if "record_bits" in ending:
        fields = [int(ending[f]) for f in ("record_bits", "mantissa_bits", "shift_bits", "shift")]
        bias, multiplier, shift = unpack_channels(rest, *fields)
    else:
        if ending["has_bias"]:
            bias = rest.pop(0)
        if "multiplier" in ending:
            rest = [np.full(channels, int(ending[name])) for name in ("multiplier", "shift")]
        multiplier, shift = rest
    wide = np.int64 if bias.dtype == np.int64 else np.int32
    return [
        ("weight", weight),
        ("bias", bias.astype(wide)),
        ("multiplier", multiplier.astype(np.int32)),
        ("shift", shift.astype(np.int32)),
    ]
