"""Find refused names of TVM 0.18 in the values of `--pass-config` and `--target`."""

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
"""A name or an option in the text of targets. Commas in a list of keys or libs are part of it."""


def refused_settings(arguments: Sequence[str]) -> list[WrittenName]:
    """Return the refused pass options of a command line, with their values."""
    pairs = (setting.partition("=") for setting in _values_of("--pass-config", arguments))
    try:
        old_names = current_options({n.strip(): value.strip() for n, _, value in pairs}).old
    except ValueError:
        # The parser of pass options reports the error later.
        return []
    return [written for written in old_names if written.row.verdict == REFUSED]


def refused_in_targets(arguments: Sequence[str]) -> list[WrittenName]:
    """Return the refused names and options of targets in a command line, with their values.

    Names are accepted beside `--extension`, which may register their patterns. JSON is skipped.
    """
    has_patterns = any(_values_of("--extension", arguments))
    matches: list[WrittenName] = []
    kind = ""
    for word in _words(_values_of("--target", arguments)):
        name, _, value = word.partition("=")
        row = find(TARGET_OPTION_ROWS.get(kind, ()), f"-{name.lstrip('-')}", value)
        if not word.startswith("-"):
            row = find(TARGET_NAMES, word)
            # An unknown word is a value of a list, as in "-mattr=+dsp,+fp": keep the kind.
            kind = word if row or word in TARGET_OPTION_ROWS else kind
            row = None if has_patterns or row is None else replace(row, name=f'target "{word}"')
        if row is not None:
            matches.append(WrittenName(row, value))
    for flag, value in _flags(arguments):
        row = find(TARGET_OPTION_FLAGS, flag, value)
        if row is not None:
            matches.append(WrittenName(row, value))
    return [match for match in matches if match.row.verdict == REFUSED]


def _values_of(flag: str, arguments: Sequence[str]) -> Iterator[str]:
    return (value for name, value in _flags(arguments) if name == flag)


def _flags(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each argument as a flag, with its value after "=", or else the next argument."""
    for argument, following in pairwise([*arguments, ""]):
        flag, separator, value = argument.partition("=")
        yield flag, value if separator else following


def _words(targets: Iterable[str]) -> Iterator[str]:
    for target in targets:
        if not target.lstrip().startswith("{"):
            yield from _WORD.findall(target)
