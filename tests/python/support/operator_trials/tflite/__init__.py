"""Trials of TFLite operators, against tflite-micro or, where that lacks an operator, LiteRT."""

from __future__ import annotations

from support.operator_trials.tflite import (
    elementwise,
    moves,
    recurrent,
    reductions,
    stored_weights,
    windows,
)
from support.operator_trials.tflite.draw import generator_of
from support.operator_trials.trial import Generator
from usmp.frontend.tflite.converters import CONVERTERS, IMPORTED, UNQUANTIZED

_DRAFTS = {**elementwise.DRAFTS, **moves.DRAFTS, **reductions.DRAFTS, **windows.DRAFTS}
GENERATORS: dict[str, Generator] = {
    **{operator: generator_of(operator, draft) for operator, draft in _DRAFTS.items()},
    **recurrent.GENERATORS,
    **stored_weights.GENERATORS,
}


def generator_on(operator: str, dtype: str) -> Generator:
    """The trials of an operator on data of a type."""
    return generator_of(operator, _DRAFTS[operator], dtype)


def registered_operators() -> set[str]:
    """The names of the operators that the front end accepts."""
    return {*CONVERTERS, *UNQUANTIZED, *IMPORTED}
