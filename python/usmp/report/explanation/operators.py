"""The operators of a model as a person reads them, and which one runs when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.report.plan_formats import has_several_entries
from usmp.support.model_operators import titles
from usmp.support.plain_text import shown

_MOST_NAMED = 3
"""Operators of one statement that a label names."""

_LONGEST = 60
"""Characters of a name in a label."""


def operator_label(module: Mapping[str, Any], position: int) -> str:
    """The operators that a statement runs: those of the model file, if the metadata knows them.

    Parameters
    ----------
    module
        the metadata of a module.
    position
        in its `operators`.
    """
    operator = module["operators"][position]
    table = module.get("model_operators", [])
    of_model = [table[n] for n in operator.get("model_operators", []) if 0 <= n < len(table)]
    entry = shown(operator["entry"], _LONGEST) if has_several_entries(module) else ""
    if of_model:
        return titles(of_model, entry)
    names = [shown(step["kind"], _LONGEST) for step in operator.get("steps", [])]
    if not names:
        names = [shown(name, _LONGEST) for name in operator.get("functions", ())] or ["operator"]
    where = f" in entry {entry}" if entry else ""
    return f"{_joined(names)}{_tensor(operator.get('outputs', []))}{where}"


def operator_at(module: Mapping[str, Any], intervals: Sequence[tuple[int, int]]) -> int | None:
    """The first statement that runs in one of these ranges of program positions; None if there is
    none, or if the metadata does not say when statements run."""
    for position, operator in enumerate(module.get("operators", ())):
        start, stop = operator.get("start"), operator.get("stop")
        if start is None or stop is None:
            return None
        if any(max(start, first) < min(stop, last) for first, last in intervals):
            return position
    return None


def users(module: Mapping[str, Any], buffer: str, use: str) -> list[int]:
    """The statements that read or write a buffer, by position.

    Parameters
    ----------
    use
        "read" or "written".
    """
    return [
        position
        for position, operator in enumerate(module.get("operators", ()))
        if buffer in operator.get("buffers", {}).get(use, ())
    ]


def knows_operators(module: Mapping[str, Any]) -> bool:
    """Whether the metadata says when statements run and what they access."""
    operators = module.get("operators", [])
    return bool(operators) and all("start" in o and "buffers" in o for o in operators)


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def _joined(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return " + ".join(names)
    return f"{names[0]} ... {names[-1]} ({len(names)} operators)"


def _tensor(outputs: Sequence[Mapping[str, Any]]) -> str:
    """Type and shape of the result."""
    if not outputs:
        return ""
    shape = "x".join(shown(extent, 20) for extent in outputs[-1].get("shape", ()))
    return f" {shown(outputs[-1].get('dtype', ''), 20)} {shape or 'scalar'}"
