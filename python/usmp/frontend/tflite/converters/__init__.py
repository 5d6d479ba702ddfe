"""Converters of TFLite operators to Relax, and their registries."""

from usmp.frontend.tflite.context import CONVERTERS, MOVES, UNQUANTIZED, WITH_STORED_WEIGHT, Context
from usmp.frontend.tflite.converters import (
    control_flow,
    convolutions,
    detection,
    float_convolutions,
    matmul,
    pooling,
    reductions,
    stored_weights,
    transposed_convolutions,
)
from usmp.frontend.tflite.converters.elementwise import (
    activations,
    arithmetic,
    conversions,
    float_activations,
    softmax,
    unquantized_arithmetic,
)
from usmp.frontend.tflite.converters.movement import (
    blocks,
    filling,
    gathering,
    joining,
    padding,
    resizing,
    selection,
    shapes,
    slicing,
    transposing,
)
from usmp.frontend.tflite.converters.recurrent import floats as float_recurrent
from usmp.frontend.tflite.converters.recurrent import integers as recurrent
from usmp.frontend.tflite.converters.recurrent import variables
from usmp.frontend.tflite.converters.signal import channels as signal_channels
from usmp.frontend.tflite.converters.signal import complex_numbers
from usmp.frontend.tflite.converters.signal import samples as signal_samples
from usmp.frontend.tflite.converters.signal import streams as signal_streams
from usmp.frontend.tflite.converters.signal import transforms as signal_transforms
from usmp.frontend.tflite.converters.stored_weights import takes_stored_weight
from usmp.frontend.tflite.file.graph import operators_of
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor

__all__ = [
    "CONVERTERS",
    "MOVES",
    "UNQUANTIZED",
    "WITH_STORED_WEIGHT",
    "Context",
    "TfliteOperator",
    "TfliteTensor",
    "activations",
    "arithmetic",
    "blocks",
    "complex_numbers",
    "control_flow",
    "conversions",
    "convolutions",
    "detection",
    "filling",
    "float_activations",
    "float_convolutions",
    "float_recurrent",
    "gathering",
    "joining",
    "matmul",
    "operators_of",
    "padding",
    "pooling",
    "recurrent",
    "reductions",
    "resizing",
    "selection",
    "shapes",
    "signal_channels",
    "signal_samples",
    "signal_streams",
    "signal_transforms",
    "slicing",
    "softmax",
    "stored_weights",
    "takes_stored_weight",
    "transposed_convolutions",
    "transposing",
    "unquantized_arithmetic",
    "variables",
]
