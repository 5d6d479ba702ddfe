"""TFLite graphs to Relax: quantised operators in integers, float ones through TVM's importer."""

from usmp.relax.tflite import arithmetic, convolutions, pooling, shapes
from usmp.relax.tflite.context import CONVERTERS, Context
from usmp.relax.tflite.model import TfliteOperator, TfliteTensor, operators_of

__all__ = [
    "CONVERTERS",
    "Context",
    "TfliteOperator",
    "TfliteTensor",
    "arithmetic",
    "convolutions",
    "operators_of",
    "pooling",
    "shapes",
]
