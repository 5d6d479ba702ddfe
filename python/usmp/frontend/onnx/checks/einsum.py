"""Check of the equation of ONNX `Einsum` against its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.operands import Operand
from usmp.support.text.plain_text import shown

_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def check_equation(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    """Check that an equation has a term for each input, with a letter for each axis.

    Raises
    ------
    NotSupported
        a term or a letter is missing, or a letter is used for axes of different extents.
    """
    text = bytes(attributes["equation"]).decode(errors="replace")
    left, arrow, result = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if not all(_TERM.fullmatch(term) for term in (*terms, result)):
        raise NotSupported(f'equation "{shown(text)}" is not terms of letters and "..."')
    if len(terms) != len(operands):
        raise NotSupported(
            f'equation "{shown(text)}" has {len(terms)} terms for {len(operands)} inputs'
        )
    extents: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        for letter, extent in _letters(term, operand):
            known = extents.setdefault(letter, extent)
            if 1 not in (known, extent) and known != extent:
                raise NotSupported(f'"{letter}" of its equation stands for {known} and {extent}')
            extents[letter] = max(known, extent)
    letters = result.replace(".", "")
    if arrow and (len(set(letters)) < len(letters) or not set(letters) <= set(extents)):
        raise NotSupported(f'its result "{result}" must have letters of its terms, each once')


def _letters(term: str, operand: Operand) -> Iterator[tuple[str, int]]:
    """Return the letters of a term with their extents; unknown extents are 1."""
    first, dots, last = term.partition("...")
    shape = [None] * len(first + last) if operand.shape is None else list(operand.shape)
    if len(first + last) > len(shape) or (not dots and len(first) < len(shape)):
        raise NotSupported(f'its term "{term}" is for another rank than that of {shape}')
    extents = [*shape[: len(first)], *shape[len(shape) - len(last) :]]
    yield from zip(first + last, [1 if e is None else e for e in extents], strict=True)
