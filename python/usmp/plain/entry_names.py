"""Names of entries, the functions that an application calls, and of their C symbols."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shortened, shown

_LONGEST_LIST = 1000
"""Most characters of a list of names in an error."""

ONLY_ENTRY = "main"
"""The entry of a module that lists none; C symbols do not contain its name."""


def check_only_entry(module_name: str, entries: Sequence[str]) -> None:
    """Check that there is one entry, because the caller named none.

    Raises
    ------
    ValueError
        there are several entries, or none.
    """
    if len(entries) != 1:
        names = ", ".join(f'"{shown(name)}"' for name in entries)
        raise ValueError(
            f'model "{shown(module_name)}" has {len(entries)} entries; choose one by its name: '
            f"{shortened(names, _LONGEST_LIST)}"
        )


def chosen_entry(module_name: str, entries: Sequence[str], name: str | None = None) -> str:
    """Return the entry of this name, or the only one.

    Raises
    ------
    ValueError
        there is no entry of this name; or no name is given, and there are several entries.
    """
    if name is None:
        check_only_entry(module_name, entries)
        return entries[0]
    if name not in entries:
        problem = f'model "{shown(module_name)}" has no entry "{shown(name)}"'
        raise ValueError(unknown_name(problem, name, entries, "Its entries"))
    return name


def c_prefix_of_entry(prefix: str, entry: str, entries: Sequence[str]) -> str:
    """Return the prefix of an entry's C symbols.

    Parameters
    ----------
    prefix
        prefix of the module's C symbols.
    entry
        one of `entries`.
    entries
        names of all entries of the module; the name of a single entry "main" is not in the prefix.
    """
    has_only_main = len(entries) == 1 and entries[0] == ONLY_ENTRY
    return prefix if has_only_main else f"{prefix}_{entry}"
