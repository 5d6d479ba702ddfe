"""Messages about unknown names: what the user may have meant, and which names there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from itertools import accumulate

from usmp.support.text.plain_text import shown

_LONGEST_LIST = 300
"""Most characters of a list of names."""
_MOST_MEANT = 3
"""Most names to suggest."""
_LEAST_RATIO, _RATIO_BELOW_BEST = 0.65, 0.1
"""Least similarity of a suggested name, and how far below that of the closest name it may be."""
_LEAST_PART = 2
"""Fewest characters that have to be a part of a name to suggest it."""


def unknown_name(
    problem: str,
    name: object,
    known: Iterable[str],
    heading: str,
    see: str = "",
    *,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Return a message: the problem, the closest names, and all names if these are few.

    Parameters
    ----------
    problem
        what is unknown and where, such as `unknown board "stm32f4"`.
    name
        the unknown name.
    known
        the known names.
    heading
        the word before the list, such as "Boards".
    see
        sentence for a list that is too long, such as "See tvmc list boards".
    texts
        what to list, by name; by default the names themselves.
    """
    known = list(dict.fromkeys(known))
    meant = " or ".join(f'"{shown(close)}"' for close in closest_names(str(name), known))
    listed = list(map(shown, known) if texts is None else texts.values())
    end = f"{heading}: {_beginning(listed)}"
    if sum(map(len, listed)) + 2 * len(listed) > _LONGEST_LIST and (see or meant):
        end = see
    return " ".join(filter(None, (f"{problem}.", meant and f"Did you mean {meant}?", end)))


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that a user may have meant, the closest first; none if none is close.

    Case, "-", "_" and spaces do not matter. A name is close if it begins with `name`, else if it
    contains it, else if it is similar. What follows the last period of both must be similar, too,
    and suffices if `name` has no period.
    """
    text = _essence(name)
    if not text:
        return []
    last = _essence(name.rpartition(".")[2])
    combined = min if "." in name else max
    ratios: dict[str, tuple[float, float]] = {}
    for candidate in known:
        other = _essence(candidate)
        ratio = _similarity(text, other)
        ends = _similarity(last, _essence(candidate.rpartition(".")[2]))
        ratios[candidate] = combined(ratio, ends), ratio
        if len(text) >= _LEAST_PART and text in other:
            ratios[candidate] = 1 + (text == other) + other.startswith(text), ratio
    best, _ = max(ratios.values(), default=(0, 0))
    least = max(_LEAST_RATIO, best - _RATIO_BELOW_BEST)
    near = [candidate for candidate, (ratio, _) in ratios.items() if ratio >= least]
    return sorted(near, key=ratios.__getitem__, reverse=True)[:_MOST_MEANT]


def _essence(name: str) -> str:
    """Return the beginning of a name without what users easily confuse."""
    return re.sub(r"[-_\s]", "", shown(name)).lower()


def _similarity(name: str, other: str) -> float:
    """Return a number from 0 to 1; 0 if it is below `_LEAST_RATIO`."""
    matcher = SequenceMatcher(None, name, other)
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < _LEAST_RATIO:
        return 0
    return matcher.ratio()


def _beginning(texts: list[str]) -> str:
    """Return as many texts as the longest list has, and the number of the others."""
    ends = accumulate(len(text) + 2 for text in texts)
    count = sum(end <= _LONGEST_LIST for end in ends)
    others = [f"and {len(texts) - count} more"] if count < len(texts) else []
    return ", ".join([*texts[:count], *others]) or "none"
