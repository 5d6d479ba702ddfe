"""What most models of many are refused for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from support.model_coverage.judge import Judged

_PLACES = (
    (re.compile(r'operator \d+ \((\w+(?: "[^"]*")?), output "[^"]*"\)'), r"\1"),
    (re.compile(r'operator (\S+) \((?:node "[^"]*", )?output "[^"]*"\)'), r"\1"),
    (re.compile(r'\b(node|output|input|tensor) "[^"]*"'), r"\1 ..."),
    (re.compile(r"(?<![\w.])-?\d[\d.]*(?:e[+-]?\d+)?\b"), "N"),
)
"""What two models never have alike: the place of an operator in the file, names, numbers."""


def most_wanted(judged: Iterable[Judged]) -> list[tuple[str, list[Judged]]]:
    """The refusals alike but for names and numbers, with the models of each, most models first."""
    groups: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        if one.verdict == "refused":
            groups[refusal_kind(one.detail)].append(one)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def refusal_kind(message: str) -> str:
    """The message without names of tensors and nodes, and with `N` for numbers."""
    for pattern, instead in _PLACES:
        message = pattern.sub(instead, message)
    return message
