"""Trials of TFLite operators, against tflite-micro or, where that lacks an operator, LiteRT."""

from __future__ import annotations

from support.operator_trials.tflite import (
    control_flow,
    detection,
    elementwise,
    moves,
    recurrent,
    reductions,
    selection,
    shape_chains,
    signal,
    stored_weights,
    windows,
)
from support.operator_trials.tflite.draw import TYPES, Draft, generator_of
from support.operator_trials.trial import Generator
from usmp.frontend.tflite.converters import CONVERTERS, UNQUANTIZED

_FAMILIES = (detection, elementwise, moves, reductions, selection, windows)
DRAFTS: dict[str, Draft] = {
    code: draft for family in _FAMILIES for code, draft in family.DRAFTS.items()
}
"""Operator name -> what draws models of it, where one operator alone is a model."""
GENERATORS: dict[str, Generator] = {
    **{operator: generator_of(operator, draft) for operator, draft in DRAFTS.items()},
    **control_flow.GENERATORS,
    **detection.GENERATORS,
    **recurrent.GENERATORS,
    **signal.GENERATORS,
    "RANGE": shape_chains.shape_chain,
    **stored_weights.GENERATORS,
}


def generator_on(operator: str, dtype: str) -> Generator:
    """The trials of an operator on data of a type."""
    return generator_of(operator, DRAFTS[operator], dtype)


def generators_by_type(operator: str) -> dict[str, Generator]:
    """By the type of their data, the trials of an operator, if its types can be chosen."""
    return {dtype: generator_on(operator, dtype) for dtype in TYPES if operator in DRAFTS}


def registered_operators() -> set[str]:
    """The names of the operators that the front end accepts."""
    return {*CONVERTERS, *UNQUANTIZED}
