"""The entries of a module: the functions that an application calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    MAIN_FUNCTION_NAME,
)
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown

_Model = TypeVar("_Model")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST_NAME = 64


def entries_of(mod: IRModule) -> list[str]:
    """Return the names of the entries, in order, from the attribute `entries`; else "main"."""
    listed = ENTRIES_ATTR.of(mod)
    return [ONLY_ENTRY] if listed is None else [str(name) for name in listed]


def entry_function_name(entry: str) -> str:
    """Return the name of the AoT PrimFunc of an entry, such as `__tvm_main__` for "main"."""
    return MAIN_FUNCTION_NAME if entry == ONLY_ENTRY else f"__tvm_{entry}__"


def called_by_users(function: str) -> str:
    """Return the words for a PrimFunc in messages: the model, an entry, or an operator."""
    if function == MAIN_FUNCTION_NAME:
        return "the model"
    entry = re.fullmatch("__tvm_(.+)__", function)
    return f'entry "{shown(entry[1])}"' if entry else f"operator {shown(function)}"


def entry_name(text: str) -> str:
    """Return a valid entry name that resembles a text, such as the name of a file."""
    name = re.sub(r"[^A-Za-z0-9]", "_", text).strip("_")[:_LONGEST_NAME]
    return name if name[:1].isalpha() else f"model_{name}"[:_LONGEST_NAME]


def models_by_name(models: Iterable[tuple[str | None, _Model]]) -> dict[str, _Model]:
    """Return models by entry names, which come from their files, or are `model0` and so on.

    Parameters
    ----------
    models
        each model with the name of its file without the suffix, or None.

    Raises
    ------
    ValueError
        two models get the same name.
    """
    named: dict[str, _Model] = {}
    for number, (file, model) in enumerate(models):
        name = f"model{number}" if file is None else entry_name(file)
        if name in named:
            raise ValueError(
                f'two models are called "{name}"; give a dictionary of names and models'
            )
        named[name] = model
    return named


def check_entries(names: Sequence[str]) -> None:
    """Check the names of entries, which are prefixes of C functions and macros.

    Raises
    ------
    ValueError
        a name that is not a C name or is too long, or two names that differ only in case.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            raise ValueError(
                f'an entry cannot be called "{shown(name)}": it is part of the names of C '
                f"functions, so it needs letters, digits and underscores, a letter in front, and "
                f"at most {_LONGEST_NAME} characters"
            )
        other = seen.setdefault(name.upper(), name)
        if other != name:
            raise ValueError(
                f'entries "{other}" and "{name}" differ in capital letters only, so they have the '
                "same macros; rename one of them"
            )
    for name in names:
        if list(names).count(name) > 1:
            raise ValueError(f'two entries are called "{name}"; rename one of them')


def check_concurrent(together: Sequence[Sequence[str]], entries: Sequence[str]) -> None:
    """Check lists of entries that may run at once.

    Raises
    ------
    ValueError
        fewer than two entries, a repeated entry, or an unknown entry.
    """
    for names in together:
        shown_names = ", ".join(shown(name) for name in names)
        for name in names:
            if name not in entries:
                problem = f'concurrent entries {shown_names}: there is no entry "{shown(name)}"'
                raise ValueError(unknown_name(problem, name, entries, "Entries"))
        if len(set(names)) != len(names) or len(names) < 2:
            raise ValueError(
                f"concurrent entries {shown_names or 'none'}: name two or more, each once"
            )


def concurrent_entries(mod: IRModule) -> set[frozenset[str]]:
    """Return the pairs of entries that may run at once, from the attribute `concurrent_entries`:
    any two entries in one of its sets."""
    listed = CONCURRENT_ATTR.of(mod)
    sets = [[str(name) for name in together] for together in listed or ()]
    return {frozenset(pair) for together in sets for pair in combinations(together, 2)}


def most_bytes_at_once(
    size_bytes: Mapping[str, int], concurrent: Collection[frozenset[str]] = ()
) -> int:
    """Return the most bytes of entries that may run at once (a maximum-weight clique).

    Parameters
    ----------
    size_bytes
        the bytes of each entry.
    concurrent
        pairs of entries that may run at once.
    """
    by_size = sorted(size_bytes, key=lambda name: (-size_bytes[name], name))
    most = 0

    def add(running: int, others: list[str]) -> None:
        nonlocal most
        most = max(most, running)
        for index, name in enumerate(others):
            remaining = others[index:]
            if running + sum(size_bytes[other] for other in remaining) <= most:
                return
            if index and running + sum(size_bytes[c[0]] for c in apart(remaining)) <= most:
                return
            together = [n for n in others[index + 1 :] if frozenset((n, name)) in concurrent]
            add(running + size_bytes[name], together)

    def apart(names: list[str]) -> list[list[str]]:
        """Partition names into sets with at most one running entry, the largest entry first. The
        sum of the largest entries is an upper bound."""
        sets: list[list[str]] = []
        for name in names:
            fits = (s for s in sets if not any(frozenset((n, name)) in concurrent for n in s))
            suitable = next(fits, None)
            if suitable is None:
                sets.append([name])
            else:
                suitable.append(name)
        return sets

    add(0, by_size)
    return most
