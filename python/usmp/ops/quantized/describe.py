"""What a quantized operator with constant weights computes, for those who compute it elsewhere.

Operators keep their constants packed (see `pack_channels`); here these are the arrays by which
TFLite and CMSIS-NN define them: weight, bias, multiplier, shift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from usmp.ops.quantized.epilogue import Epilogue
from usmp.ops.quantized.pack_channels import unpack_channels
from usmp.ops.quantized.parameters import Quantization
from usmp.ops.quantized.window import Layout, Window

_EPILOGUE = "epilogue"


def describe_operator(
    epilogue: Epilogue,
    data: Quantization,
    weight_zero_point: int,
    channels: int,
    **moves: Any,
) -> dict[str, Any]:
    """The attributes of an operator, for its PrimFunc.

    Parameters
    ----------
    epilogue
        how it ends.
    data
        quantization of its input.
    weight_zero_point
        of the weight.
    channels
        of the output.
    moves
        what else it is told, as strides.
    """
    rescale, packed = epilogue.rescale, epilogue.packed
    ending: dict[str, Any] = {"has_bias": epilogue.has_bias, "channels": channels}
    if packed is not None:
        ending |= {
            "record_bits": packed.record_bits,
            "mantissa_bits": packed.mantissa_bits,
            "shift_bits": packed.shift_bits,
            "shift": packed.shift,
        }
    elif len(rescale.factors) == 1:
        (factor,) = rescale.factors
        ending |= {"multiplier": factor.multiplier, "shift": factor.shift}
    return {
        **moves,
        "input_zero_point": data.zero_point,
        "weight_zero_point": weight_zero_point,
        "output_zero_point": rescale.zero_point,
        "clamp": [rescale.limits.minimum, rescale.limits.maximum],
        "rounding": rescale.rounding.name.lower(),
        _EPILOGUE: ending,
    }


def describe_window(window: Window, layout: Layout) -> dict[str, Any]:
    """How a kernel moves over an image, by name; pairs are (height, width)."""
    return {
        "layout": layout.axes,
        "strides": list(window.strides),
        "dilations": list(window.dilations),
        "padding": list(window.padding),
    }


def reference_constants(
    attributes: Mapping[str, Any], constants: Sequence[np.ndarray]
) -> tuple[list[tuple[str, np.ndarray]], dict[str, Any]]:
    """The constants of an operator by name, and its other attributes.

    Parameters
    ----------
    attributes
        of its PrimFunc; empty for an operator that is not described.
    constants
        those that its PrimFunc takes, in order.

    Returns
    -------
    tuple[list[tuple[str, np.ndarray]], dict[str, Any]]
        ("weight", ...), ("bias", ...), ("multiplier", ...), ("shift", ...), the last two and a bias
        of int32 or int64 with one element for each output channel; or the given constants, all
        called "constant", and the attributes without those that say how constants are packed."""
    if _EPILOGUE not in attributes:
        return [("constant", constant) for constant in constants], dict(attributes)
    kept = {name: value for name, value in attributes.items() if name != _EPILOGUE}
    ending = attributes[_EPILOGUE]
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
    named = [
        ("weight", weight),
        ("bias", bias.astype(wide)),
        ("multiplier", multiplier.astype(np.int32)),
        ("shift", shift.astype(np.int32)),
    ]
    return named, kept
