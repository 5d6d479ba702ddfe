"""Quantised operators in integer arithmetic, bit-exact with TFLite's reference kernels.

Each function appends nothing: it returns the call of a PrimFunc that computes the operator.
"""

from usmp.relax.quantised.activations import clamp, logistic, relu, tanh
from usmp.relax.quantised.conversion import dequantize, quantize, requantize
from usmp.relax.quantised.convolution import conv2d, depthwise_conv2d
from usmp.relax.quantised.dense import fully_connected
from usmp.relax.quantised.elementwise import add
from usmp.relax.quantised.explicit_padding import ExplicitPadding, explicit_padding
from usmp.relax.quantised.fixed_point import QuantizedMultiplier, Rounding, quantize_multiplier
from usmp.relax.quantised.gathering import gather
from usmp.relax.quantised.parameters import OutputLimits, Quantisation, activation_limits
from usmp.relax.quantised.pooling import average_pool, max_pool
from usmp.relax.quantised.reduction import extreme, mean, total
from usmp.relax.quantised.rescale import Rescale
from usmp.relax.quantised.softmax import softmax
from usmp.relax.quantised.softmax_int16 import softmax_int16
from usmp.relax.quantised.window import Layout, Window

__all__ = [
    "ExplicitPadding",
    "Layout",
    "OutputLimits",
    "Quantisation",
    "QuantizedMultiplier",
    "Rescale",
    "Rounding",
    "Window",
    "activation_limits",
    "add",
    "average_pool",
    "clamp",
    "conv2d",
    "depthwise_conv2d",
    "dequantize",
    "explicit_padding",
    "extreme",
    "fully_connected",
    "gather",
    "logistic",
    "max_pool",
    "mean",
    "quantize",
    "quantize_multiplier",
    "relu",
    "requantize",
    "softmax",
    "softmax_int16",
    "tanh",
    "total",
]
