"""Trials of PyTorch operators, and of layers and functions that PyTorch makes of them."""

from __future__ import annotations

from functools import partial
from random import Random

from support.operator_trials.pytorch import (
    elementwise,
    images,
    models,
    moves,
    reductions,
    scatters,
)
from support.operator_trials.pytorch.case import CASES, Case, operators_of, trial_of_cases
from support.operator_trials.trial import Generator, Trial
from usmp.frontend.pytorch.converters import CONVERTERS

__all__ = [
    "CASES",
    "GENERATORS",
    "Case",
    "elementwise",
    "images",
    "models",
    "moves",
    "operators_of",
    "reductions",
    "registered_operators",
    "scatters",
    "trial_of_cases",
]


def _trial(operator: str, random: Random) -> Trial:
    return trial_of_cases(operator, [CASES[operator](random)])


GENERATORS: dict[str, Generator] = {operator: partial(_trial, operator) for operator in CASES}


def registered_operators() -> set[str]:
    """The names of the operators that the front end accepts."""
    return set(CONVERTERS)
