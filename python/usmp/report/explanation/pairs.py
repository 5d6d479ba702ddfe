"""Select the pairs of buffers that a text explains, and group pairs with a common reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from usmp.report.explanation.operators import joined
from usmp.support.text.plain_text import shown

_MOST_LINES = 8
"""Most lines of a text; the JSON document has all pairs."""

_FEWEST_ALIKE = 3
"""Fewest buffers to list in one line, if all of their pairs have a common reason."""


def pair_lines(pool: Mapping[str, Any]) -> list[str]:
    """Return lines about why buffers share no more bytes: groups of buffers with a common reason,
    then single pairs, those with the most bytes to share first."""
    pairs = sorted(filter(_possible, pool["pairs"]), key=lambda pair: -_possible(pair))
    functions = pool["operator"]["functions"] if pool["operator"] is not None else []
    lines = []
    kept = [pair for pair in pairs if _is_of_state(pair)]
    if kept:
        pairs = [pair for pair in pairs if pair not in kept]
        states = dict.fromkeys(name for pair in kept for name in _states(pair))
        lines.append(
            f"{joined(list(map(shown, states)))}: kept between runs, so nothing else may have "
            "these bytes."
        )
    for is_alike, sentence in (
        (
            partial(_is_used_in_turn, functions),
            "the operator writes each of them again after it has written the others",
        ),
        (
            _has_no_operator,
            "no operator accesses two of them, so each must be intact while the others are used",
        ),
    ):
        alike = _alike([pair for pair in pairs if is_alike(pair)])
        if alike:
            pairs = [p for p in pairs if not (is_alike(p) and {*_names(p)} <= {*alike})]
            lines.append(f"{joined(list(map(shown, alike)))}: {sentence}; no two can share a byte.")
    lines += _without_operator(pairs)
    rest = [pair for pair in pairs if not _has_no_operator(pair)]
    lines += [pair["text"] for pair in rest]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"{len(lines) - _MOST_LINES} others: see --format json."]
    return lines


def _possible(pair: Mapping[str, Any]) -> int:
    """Return how many more bytes two buffers could share at most."""
    return int(min(pair["size_bytes"], pair["dying_size_bytes"]) - pair["shared_bytes"])


def _names(pair: Mapping[str, Any]) -> tuple[str, str]:
    return pair["dying"], pair["written"]


def _is_used_in_turn(functions: Collection[str], pair: Mapping[str, Any]) -> bool:
    because = pair["because"]
    return (
        because is not None
        and because["kind"] == "order of accesses"
        and because["is_write"]
        and because["functions"][:1] in [[name] for name in functions]
        and pair["distance_bytes"] >= pair["size_bytes"]
    )


def _states(pair: Mapping[str, Any]) -> list[str]:
    """Return the names of the states of a pair."""
    return [pair[end] for end in ("dying", "written") if pair[f"{end}_kind"] == "state"]


def _is_of_state(pair: Mapping[str, Any]) -> bool:
    """Return whether two buffers share nothing because one of them is a state."""
    return bool(_states(pair)) and pair["kind"] in ("kept", "no common operator")


def _has_no_operator(pair: Mapping[str, Any]) -> bool:
    return bool(pair["kind"] == "no common operator")


def _alike(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return buffers of which any two are in `pairs`, or none if fewer than `_FEWEST_ALIKE`."""
    known = {frozenset(_names(pair)) for pair in pairs}
    chosen: list[str] = []
    for name in dict.fromkeys(name for pair in pairs for name in _names(pair)):
        if all(frozenset((name, other)) in known for other in chosen):
            chosen.append(name)
    return chosen if len(chosen) >= _FEWEST_ALIKE else []


def _without_operator(pairs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines about pairs that no operator accesses together, grouped by a common buffer."""
    rest = [pair for pair in pairs if _has_no_operator(pair)]
    while rest:
        names = [name for pair in rest for name in _names(pair)]
        most = max(dict.fromkeys(names), key=names.count)
        others = [o for pair in rest if most in _names(pair) for o in _names(pair) if o != most]
        rest = [pair for pair in rest if most not in _names(pair)]
        yield (
            f"{shown(most)} and {joined(list(map(shown, others)))}: no operator accesses "
            f"{'both' if len(others) == 1 else 'the one and one of the others'}, so each must be "
            "intact while the other is used; they can share no byte."
        )
