"""Labels of operators for people, and the operators that run at a position or use a buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.report.plan_formats import has_several_entries
from usmp.support.model_operators import titles
from usmp.support.text.plain_text import shown

_MOST_NAMED = 3
"""Most operators of a statement that a label names."""

_LONGEST = 60
"""Most characters of a name in a label."""


def operator_label(module: Mapping[str, Any], position: int) -> str:
    """Return a label of the operators that a statement runs, as in the model file if known.

    Parameters
    ----------
    module
        metadata of a module.
    position
        index of the statement in `operators`.
    """
    operator = module["operators"][position]
    table = module.get("model_operators", [])
    of_model = [table[n] for n in operator.get("model_operators", []) if 0 <= n < len(table)]
    entry = shown(operator["entry"], _LONGEST) if has_several_entries(module) else ""
    title = titles(of_model, entry, operator.get("label"))
    if title:
        return title
    names = [shown(step["kind"], _LONGEST) for step in operator.get("steps", [])]
    if not names:
        names = [shown(name, _LONGEST) for name in operator.get("functions", ())] or ["operator"]
    where = f" in entry {entry}" if entry else ""
    return f"{_joined(names)}{_tensor(operator.get('outputs', []))}{where}"


def operator_at(module: Mapping[str, Any], intervals: Sequence[tuple[int, int]]) -> int | None:
    """Return the index of the first statement that runs in an interval, or None if none does.

    The result is also None if an earlier statement has no known positions."""
    for position, operator in enumerate(module.get("operators", ())):
        start, stop = operator.get("start"), operator.get("stop")
        if start is None or stop is None:
            return None
        if any(max(start, first) < min(stop, last) for first, last in intervals):
            return position
    return None


def users(module: Mapping[str, Any], buffer: str, use: str) -> list[int]:
    """Return the indices of the statements that read or write a buffer.

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
    """Return whether the metadata has the positions and the buffers of all statements."""
    operators = module.get("operators", [])
    return bool(operators) and all("start" in o and "buffers" in o for o in operators)


def joined(names: Sequence[str]) -> str:
    """Join names for a sentence, as "a, b and c"."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def _joined(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return " + ".join(names)
    return f"{names[0]} ... {names[-1]} ({len(names)} operators)"


def _tensor(outputs: Sequence[Mapping[str, Any]]) -> str:
    """Return the element type and the shape of the last output, as text."""
    if not outputs:
        return ""
    shape = "x".join(shown(extent, 20) for extent in outputs[-1].get("shape", ()))
    return f" {shown(outputs[-1].get('dtype', ''), 20)} {shape or 'scalar'}"
