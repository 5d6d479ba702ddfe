"""A catalogue of small quantised models, most of one operator; the same on every machine."""

from __future__ import annotations

from . import activations, arithmetic, convolutions, fully_connected, pooling, shapes
from .model import QuantisedModel

CATALOGUE: list[QuantisedModel] = [
    model
    for group in (convolutions, fully_connected, arithmetic, pooling, activations, shapes)
    for model in group.MODELS
]
