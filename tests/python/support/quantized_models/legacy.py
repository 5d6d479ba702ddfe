"""Models of uint8, as TensorFlow 1 made them: LiteRT runs them, tflite-micro does not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from support.tflite_builder import options

from .activations import function, resize, softmax, unary
from .arithmetic import Binary, binary
from .fully_connected import TransposeConv, transpose_conv
from .model import Constant, QuantizedModel, Spec, models, one_operator
from .pooling import Reduction, reduction
from .shapes import (
    IMAGE,
    WHOLE,
    concatenation,
    gather,
    pad,
    pad_v2,
    reshape,
    slice_,
    split,
    strided_slice,
    transpose,
)
from .weights import UINT8, Weights
from .windows import Window

X = Spec((1, 4, 5, 3), 0.05, 121, "uint8")
PROBABILITY = (1 / 256, 0)


def prelu(x: Spec, y: Spec) -> bytes:
    """One PRELU with a slope a channel."""
    slopes = Constant(np.array([[[7, 120, 255]]], np.uint8), Spec((), 0.004, 90).quantization)
    return one_operator("PRELU", [x, slopes], [y])


_WEIGHTS = Weights(UINT8, per_channel=False, zero_point=121)
_TRANSPOSED = TransposeConv(weights=_WEIGHTS, zero_points=(131, 118))
TRANSPOSED = {
    "plain": _TRANSPOSED,
    "stride_2": replace(_TRANSPOSED, window=Window(stride=(2, 2))),
}
FUNCTIONS = {
    "relu": ("RELU", (0.05, 121), (0.03, 0), "uint8"),
    "relu6": ("RELU6", (0.05, 121), (6 / 255, 0), "uint8"),
    "logistic": ("LOGISTIC", (0.05, 121), PROBABILITY, "uint8"),
    "tanh": ("TANH", (0.02, 121), (1 / 128, 128), "uint8"),
    "hard_swish": ("HARD_SWISH", (0.05, 121), (0.04, 10), "uint8"),
    "leaky_relu": (
        "LEAKY_RELU",
        (0.05, 121),
        (0.04, 90),
        "uint8",
        options("LeakyReluOptions", alpha=0.2),
    ),
}
SOFTMAXES = {
    "plain": (Spec((1, 10), 0.04, 121, "uint8"), 1.0, Spec((1, 10), *PROBABILITY, "uint8")),
    "beta": (Spec((3, 4), 0.04, 0, "uint8"), 0.7, Spec((3, 4), *PROBABILITY, "uint8")),
}
CONCATENATIONS = {
    "same_quantization": (3, X, X(1, 4, 5, 2)),
    "other_quantization": (3, X, Spec((1, 4, 5, 2), 0.03, 140, "uint8")),
    "other_quantization_height": (1, X, Spec((1, 2, 5, 3), 0.045, 3, "uint8"), X),
}
MEANS = {
    "plain": Reduction(X, y_zero_point=130),
    "kept": Reduction(X, keep_dims=True, y_scale=0.05, y_zero_point=121),
}
QUANTIZATIONS = {
    "requantize": (X, Spec(X.shape, 0.07, 100, "uint8")),
    "from_float": (Spec(X.shape, 0, 0, "float32"), Spec(X.shape, 0.02, 128, "uint8")),
}
SQUARES = Binary(X, Spec(X.shape, 0.05, 121, "uint8"), Spec(X.shape, 0.05, 121, "uint8"))


_CATALOG = [
    *models("transpose_conv_uint8", transpose_conv, TRANSPOSED),
    *models("uint8", function, FUNCTIONS),
    *models("softmax_uint8", softmax, SOFTMAXES),
    *models("concatenation_uint8", concatenation, CONCATENATIONS),
    *models("mean_uint8", reduction, {label: ("MEAN", case) for label, case in MEANS.items()}),
    *models("quantize_uint8", partial(unary, "QUANTIZE"), QUANTIZATIONS),
    *models("maximum_uint8", binary, {"plain": ("MAXIMUM", SQUARES)}),
    *models("minimum_uint8", binary, {"plain": ("MINIMUM", SQUARES)}),
    *models("pad_uint8", pad, {"plain": (X, IMAGE)}),
    *models("padv2_uint8", pad_v2, {"plain": (X, IMAGE, 200)}),
    *models("reshape_uint8", reshape, {"plain": (X, (3, 20), True)}),
    *models("transpose_uint8", transpose, {"plain": (X, 0, 3, 1, 2)}),
    *models("split_uint8", split, {"plain": (X, 1, 2)}),
    *models("slice_uint8", slice_, {"plain": (X, (0, 1, 2, 0), (1, 2, 2, 3))}),
    *models("strided_slice_uint8", strided_slice, {"plain": (X, (WHOLE, 1, slice(None, None, 2)))}),
    *models("gather_uint8", gather, {"plain": (X, 3, [2, 0])}),
    *models("prelu_uint8", prelu, {"plain": (X, Spec(X.shape, 0.05, 100, "uint8"))}),
    *models(
        "resize_uint8",
        resize,
        {
            "bilinear": ("RESIZE_BILINEAR", X, (7, 11), False, False),
            "bilinear_centers": ("RESIZE_BILINEAR", X, (7, 3), False, True),
            "nearest": ("RESIZE_NEAREST_NEIGHBOR", X, (7, 11), False, False),
        },
    ),
]
MODELS: list[QuantizedModel] = [replace(model, oracle="litert") for model in _CATALOG]
