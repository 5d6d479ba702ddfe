"""Quantised operators in integer arithmetic, bit-exact with TFLite's reference kernels.

Each function appends nothing: it returns the call of a PrimFunc that computes the operator.
"""

from usmp.relax.quantised.activations import (
    absolute,
    clamp,
    leaky_relu,
    logistic,
    prelu,
    relu,
    tanh,
)
from usmp.relax.quantised.arithmetic import (
    add,
    add_all,
    compare,
    divide,
    extreme_of_two,
    multiply_elements,
    squared_difference,
    subtract,
)
from usmp.relax.quantised.blocks import batch_to_space, space_to_batch
from usmp.relax.quantised.conversion import dequantize, quantize, requantize
from usmp.relax.quantised.convolution import conv2d, depthwise_conv2d
from usmp.relax.quantised.cumulative import cumulative_sum
from usmp.relax.quantised.curves import elu, exp, hard_swish, rsqrt
from usmp.relax.quantised.dense import fully_connected
from usmp.relax.quantised.explicit_padding import ExplicitPadding, explicit_padding
from usmp.relax.quantised.fixed_point import QuantizedMultiplier, Rounding, quantize_multiplier
from usmp.relax.quantised.gathering import gather, gather_nd, update_slice
from usmp.relax.quantised.log_softmax import log_softmax
from usmp.relax.quantised.lstm import Gate, LstmParameters, lstm
from usmp.relax.quantised.matmul import batch_matmul
from usmp.relax.quantised.mirroring import mirror_pad
from usmp.relax.quantised.normalisation import l2_normalise
from usmp.relax.quantised.parameters import OutputLimits, Quantisation, activation_limits
from usmp.relax.quantised.pooling import average_pool, max_pool, rescaled_average_pool
from usmp.relax.quantised.reduction import extreme, mean, position_of_extreme, total
from usmp.relax.quantised.rescale import Rescale
from usmp.relax.quantised.rescaling_table import rescale_to_join
from usmp.relax.quantised.resizing import (
    Resize,
    resize_bilinear,
    resize_bilinear_in_single,
    resize_nearest,
)
from usmp.relax.quantised.running import running
from usmp.relax.quantised.softmax import softmax
from usmp.relax.quantised.softmax_int16 import softmax_int16
from usmp.relax.quantised.svdf import SvdfWeights, svdf
from usmp.relax.quantised.transposed_convolution import TransposedSide, transpose_conv2d
from usmp.relax.quantised.window import Layout, Window

__all__ = [
    "ExplicitPadding",
    "Gate",
    "Layout",
    "LstmParameters",
    "OutputLimits",
    "Quantisation",
    "QuantizedMultiplier",
    "Rescale",
    "Resize",
    "Rounding",
    "SvdfWeights",
    "TransposedSide",
    "Window",
    "absolute",
    "activation_limits",
    "add",
    "add_all",
    "average_pool",
    "batch_matmul",
    "batch_to_space",
    "clamp",
    "compare",
    "conv2d",
    "cumulative_sum",
    "depthwise_conv2d",
    "dequantize",
    "divide",
    "elu",
    "exp",
    "explicit_padding",
    "extreme",
    "extreme_of_two",
    "fully_connected",
    "gather",
    "gather_nd",
    "hard_swish",
    "l2_normalise",
    "leaky_relu",
    "log_softmax",
    "logistic",
    "lstm",
    "max_pool",
    "mean",
    "mirror_pad",
    "multiply_elements",
    "position_of_extreme",
    "prelu",
    "quantize",
    "quantize_multiplier",
    "relu",
    "requantize",
    "rescale_to_join",
    "rescaled_average_pool",
    "resize_bilinear",
    "resize_bilinear_in_single",
    "resize_nearest",
    "rsqrt",
    "running",
    "softmax",
    "softmax_int16",
    "space_to_batch",
    "squared_difference",
    "subtract",
    "svdf",
    "tanh",
    "total",
    "transpose_conv2d",
    "update_slice",
]
