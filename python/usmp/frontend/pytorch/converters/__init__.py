"""PyTorch operators to Relax, one converter each: only what has been compared with PyTorch."""

from usmp.frontend.pytorch.converters import (
    activations,
    arithmetic,
    convolutions,
    creation,
    cumulative,
    elementwise,
    extremes,
    indexing,
    matmul,
    normalization,
    ordering,
    pooling,
    reductions,
    resampling,
    scatters,
    shapes,
    sorting,
)
from usmp.frontend.pytorch.converters.known_values import known_value
from usmp.frontend.pytorch.converters.operator import CONVERTERS, Missing, Operator, described

__all__ = [
    "CONVERTERS",
    "Missing",
    "Operator",
    "activations",
    "arithmetic",
    "convolutions",
    "creation",
    "cumulative",
    "described",
    "elementwise",
    "extremes",
    "indexing",
    "known_value",
    "matmul",
    "normalization",
    "ordering",
    "pooling",
    "reductions",
    "resampling",
    "scatters",
    "shapes",
    "sorting",
]
