"""Trials of ONNX operators, one file a family."""

from __future__ import annotations

from support.lazy import lazy
from support.operator_trials.onnx import (
    control_flow,
    element_wise,
    functions,
    gathers,
    images,
    moves,
    normalizations,
    products,
    qoperators,
    quantizations,
    recurrent,
    reductions,
    sequences,
    spectra,
    windows,
)
from support.operator_trials.trial import Generator

compared = lazy("usmp.frontend.onnx.converters.operators")

_FAMILIES = (
    control_flow,
    element_wise,
    functions,
    gathers,
    images,
    moves,
    normalizations,
    products,
    qoperators,
    quantizations,
    recurrent,
    reductions,
    sequences,
    spectra,
    windows,
)
GENERATORS: dict[str, Generator] = {
    operator: generator for family in _FAMILIES for operator, generator in family.GENERATORS.items()
}


def registered_operators() -> set[str]:
    """The names of the operators that the front end accepts."""
    return set(compared.COMPARED)
