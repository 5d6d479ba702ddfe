"""Quantised operators in integer arithmetic, bit-exact with TFLite's reference kernels.

Each function appends nothing: it returns the call of a PrimFunc that computes the operator.
"""

from usmp.relax.quantised.convolution import conv2d, depthwise_conv2d
from usmp.relax.quantised.dense import fully_connected
from usmp.relax.quantised.elementwise import add
from usmp.relax.quantised.explicit_padding import ExplicitPadding, explicit_padding
from usmp.relax.quantised.fixed_point import QuantizedMultiplier, Rounding, quantize_multiplier
from usmp.relax.quantised.gathering import gather
from usmp.relax.quantised.parameters import OutputLimits, Quantisation, activation_limits
from usmp.relax.quantised.pooling import average_pool, max_pool
from usmp.relax.quantised.rescale import Rescale
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
    "conv2d",
    "depthwise_conv2d",
    "explicit_padding",
    "fully_connected",
    "gather",
    "max_pool",
    "quantize_multiplier",
]
