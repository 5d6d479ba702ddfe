"""A catalog of small quantized models, most of one operator; the same on every machine."""

from __future__ import annotations

from . import (
    activations,
    arithmetic,
    convolutions,
    fully_connected,
    further,
    legacy,
    pooling,
    recurrent,
    sequences,
    shapes,
    variables,
)
from .model import QuantizedModel

CATALOG: list[QuantizedModel] = [
    *convolutions.MODELS,
    *fully_connected.MODELS,
    *arithmetic.MODELS,
    *pooling.MODELS,
    *activations.MODELS,
    *shapes.MODELS,
    *recurrent.MODELS,
    *variables.MODELS,
    *sequences.MODELS,
    *further.MODELS,
    *legacy.MODELS,
]
