"""Names of TVM 0.18 that are refused in the values of `--pass-config` and `--target`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from usmp.tvm018 import REFUSED, TARGET_NAMES, TARGET_OPTION_ROWS, find
from usmp.tvm018.current_options import current_options
from usmp.tvm018.old_name import WrittenName
from usmp.tvm018.targets import TARGET_OPTION_FLAGS

_WORD = re.compile(r"-+(?:keys|libs)=\S+|[^\s,]+")
"""A name or an option in the text of targets; commas of a list divide no targets."""


def refused_settings(arguments: Sequence[str]) -> list[WrittenName]:
    """Return the pass options of a command line that are refused, with their values."""
    pairs = (setting.partition("=") for setting in _values_of("--pass-config", arguments))
    try:
        _, old = current_options({name.strip(): value.strip() for name, _, value in pairs})
    except ValueError:
        # What is wrong with it is said where it is read.
        return []
    return [one for one in old if one.row.verdict == REFUSED]


def refused_in_targets(arguments: Sequence[str]) -> list[WrittenName]:
    """Return the names and options of targets in a command line that are refused, with their
    values, those in flags of their own as well.

    Names are not, beside `--extension`, which may have patterns for them. JSON is not looked into.
    """
    has_patterns = any(_values_of("--extension", arguments))
    found: list[WrittenName] = []
    kind = ""
    for word in _words(_values_of("--target", arguments)):
        name, _, value = word.partition("=")
        row = find(TARGET_OPTION_ROWS.get(kind, ()), f"-{name.lstrip('-')}", value)
        if not word.startswith("-"):
            row = find(TARGET_NAMES, word)
            # Other words are values of a list, as in "-mattr=+dsp,+fp".
            kind = word if row or word in TARGET_OPTION_ROWS else kind
            row = None if has_patterns or row is None else replace(row, name=f'target "{word}"')
        if row is not None:
            found.append(WrittenName(row, value))
    for flag, value in _flags(arguments):
        row = find(TARGET_OPTION_FLAGS, flag, value)
        if row is not None:
            found.append(WrittenName(row, value))
    return [one for one in found if one.row.verdict == REFUSED]


def _values_of(flag: str, arguments: Sequence[str]) -> Iterator[str]:
    return (value for name, value in _flags(arguments) if name == flag)


def _flags(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each argument as a flag with its value, which is in it, or else what follows it."""
    for argument, following in pairwise([*arguments, ""]):
        flag, separator, value = argument.partition("=")
        yield flag, value if separator else following


def _words(targets: Iterable[str]) -> Iterator[str]:
    for target in targets:
        if not target.lstrip().startswith("{"):
            yield from _WORD.findall(target)
