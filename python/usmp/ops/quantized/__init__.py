"""Quantized operators in integer arithmetic, bit-exact with TFLite's reference kernels.

An operator's function returns a call of a PrimFunc, without emitting the call. `lstm` and `svdf`,
which overwrite states, emit theirs.
"""

from usmp.ops.quantized.activation.activations import (
    abs_,
    clamp,
    leaky_relu,
    logistic,
    prelu,
    relu,
    tanh,
)
from usmp.ops.quantized.activation.log_softmax import log_softmax
from usmp.ops.quantized.activation.lookup_tables import elu, exp, gelu, hard_swish, log, rsqrt, sqrt
from usmp.ops.quantized.activation.normalization import l2_normalize
from usmp.ops.quantized.activation.rescaling_table import rescale_to_join
from usmp.ops.quantized.activation.softmax import softmax
from usmp.ops.quantized.activation.softmax_int16 import softmax_int16
from usmp.ops.quantized.arithmetic import (
    add,
    add_all,
    compare,
    divide,
    maximum,
    minimum,
    multiply_elements,
    squared_difference,
    subtract,
)
from usmp.ops.quantized.blocks import batch_to_space, space_to_batch
from usmp.ops.quantized.conversion import dequantize, quantize, requantize
from usmp.ops.quantized.convolution import conv2d, depthwise_conv2d
from usmp.ops.quantized.cumulative import cumulative_sum
from usmp.ops.quantized.dense import fully_connected
from usmp.ops.quantized.explicit_padding import ExplicitPadding, explicit_padding
from usmp.ops.quantized.gathering import gather, gather_nd, update_slice
from usmp.ops.quantized.lstm import Gate, LstmParameters, lstm
from usmp.ops.quantized.matmul import batch_matmul
from usmp.ops.quantized.mirroring import mirror_pad
from usmp.ops.quantized.pooling import average_pool, max_pool, rescaled_average_pool
from usmp.ops.quantized.reduction import argmax, argmin, mean, reduce_max, reduce_min, reduce_sum
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    quantize_multiplier,
)
from usmp.ops.quantized.rescaling.parameters import OutputLimits, Quantization, activation_limits
from usmp.ops.quantized.rescaling.rescale import Rescale
from usmp.ops.quantized.resizing import (
    Resize,
    resize_bilinear,
    resize_bilinear_in_single,
    resize_nearest,
)
from usmp.ops.quantized.svdf import SvdfWeights, svdf
from usmp.ops.quantized.transposed_convolution import TransposedSide, transpose_conv2d
from usmp.ops.window import Layout, Window

__all__ = [
    "ExplicitPadding",
    "Gate",
    "Layout",
    "LstmParameters",
    "OutputLimits",
    "Quantization",
    "QuantizedMultiplier",
    "Rescale",
    "Resize",
    "Rounding",
    "SvdfWeights",
    "TransposedSide",
    "Window",
    "abs_",
    "activation_limits",
    "add",
    "add_all",
    "argmax",
    "argmin",
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
    "fully_connected",
    "gather",
    "gather_nd",
    "gelu",
    "hard_swish",
    "l2_normalize",
    "leaky_relu",
    "log",
    "log_softmax",
    "logistic",
    "lstm",
    "max_pool",
    "maximum",
    "mean",
    "minimum",
    "mirror_pad",
    "multiply_elements",
    "prelu",
    "quantize",
    "quantize_multiplier",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
    "relu",
    "requantize",
    "rescale_to_join",
    "rescaled_average_pool",
    "resize_bilinear",
    "resize_bilinear_in_single",
    "resize_nearest",
    "rsqrt",
    "softmax",
    "softmax_int16",
    "space_to_batch",
    "sqrt",
    "squared_difference",
    "subtract",
    "svdf",
    "tanh",
    "transpose_conv2d",
    "update_slice",
]
