"""Checks of enumerated attributes of ONNX operators: switches, words, element types."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from onnx import helper

from usmp.frontend.onnx.graph.node import NotSupported
from usmp.support.text.plain_text import shown

_SWITCHES = frozenset(
    """
    align_corners allowzero antialias ceil_mode count_include_pad detect_negative detect_positive
    exclude_outside exclusive fmod input_forget interleaved inverse is_causal keepdims largest
    layout linear_before_reset new_axis noop_with_empty_axes onesided periodic reverse saturate
    select_last_index sorted storage_order transA transB upper
    """.split()
)
"""Names of attributes that are 0 or 1 in every operator that has them."""

_ELEMENT_TYPES = frozenset(
    "dtype output_datatype output_dtype precision softmax_precision stash_type to".split()
)
"""Names of attributes that hold the number of an element type; 0 stands for none."""

_FINITE = frozenset(
    "alpha beta bias cubic_coeff_a epsilon gamma lambd scale softcap spatial_scale".split()
)
"""Names of factors and terms that must be finite."""

_DIRECTIONS = {"direction": ("forward", "reverse", "bidirectional")}
_BLOCKS = {"mode": ("DCR", "CRD")}
_SUMS = {"reduction": ("none", "add", "mul", "min", "max")}
_LOSSES = {"reduction": ("none", "mean", "sum")}
_WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "BitShift": {"direction": ("LEFT", "RIGHT")},
    "CausalConvWithState": {"activation": ("none", "silu", "swish")},
    "DepthToSpace": _BLOCKS,
    "GRU": _DIRECTIONS,
    "Gelu": {"approximate": ("none", "tanh")},
    "GridSample": {
        "mode": ("bilinear", "nearest", "bicubic", "linear", "cubic"),
        "padding_mode": ("zeros", "border", "reflection"),
    },
    "LSTM": _DIRECTIONS,
    "LinearAttention": {"update_rule": ("gated_delta", "delta", "gated", "linear")},
    "NegativeLogLikelihoodLoss": _LOSSES,
    "Pad": {"mode": ("constant", "reflect", "edge", "wrap")},
    "RNN": _DIRECTIONS,
    "Resize": {
        "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
        "mode": ("nearest", "linear", "cubic"),
    },
    "RoiAlign": {
        "coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
        "mode": ("avg", "max"),
    },
    "ScatterElements": _SUMS,
    "ScatterND": _SUMS,
    "SoftmaxCrossEntropyLoss": _LOSSES,
    "SpaceToDepth": _BLOCKS,
    "TensorScatter": {"mode": ("linear", "circular")},
    "Upsample": {"mode": ("nearest", "linear", "bilinear")},
}
"""Operator and attribute -> the words that ONNX defines."""


def check_attribute_values(operator: str, attributes: Mapping[str, Any]) -> None:
    """Check that attributes have values that ONNX defines, because runtimes differ on others.

    Raises
    ------
    NotSupported
        an attribute has another value.
    """
    for name in sorted(_SWITCHES.intersection(attributes)):
        if attributes[name] not in (0, 1):
            raise NotSupported(f"{name} is {attributes[name]}; it must be 0 or 1")
    for name in sorted(_ELEMENT_TYPES.intersection(attributes)):
        if attributes[name] not in (0, *helper.get_all_tensor_dtypes()):
            raise NotSupported(f"{name} {attributes[name]} is the number of no element type")
    for name in sorted(_FINITE.intersection(attributes)):
        if not isfinite(attributes[name]):
            raise NotSupported(f"{name} is {attributes[name]}; it must be a finite number")
    for name, words in _WORDS.get(operator, {}).items():
        word = bytes(attributes.get(name, words[0].encode())).decode(errors="replace")
        if word not in words:
            raise NotSupported(f'{name} is "{shown(word)}"; ONNX knows {", ".join(words)}')
