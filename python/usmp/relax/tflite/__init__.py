"""TFLite graphs to Relax: quantised operators in integers, float ones through TVM's importer."""

from usmp.relax.tflite import (
    activations,
    arithmetic,
    conversions,
    convolutions,
    gathering,
    joining,
    matmul,
    padding,
    pooling,
    reductions,
    shapes,
    slicing,
    softmax,
    transposing,
    variables,
)
from usmp.relax.tflite.context import CONVERTERS, MOVES, Context
from usmp.relax.tflite.model import TfliteOperator, TfliteTensor, operators_of

__all__ = [
    "CONVERTERS",
    "MOVES",
    "Context",
    "TfliteOperator",
    "TfliteTensor",
    "activations",
    "arithmetic",
    "conversions",
    "convolutions",
    "gathering",
    "joining",
    "matmul",
    "operators_of",
    "padding",
    "pooling",
    "reductions",
    "shapes",
    "slicing",
    "softmax",
    "transposing",
    "variables",
]
