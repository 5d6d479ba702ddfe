"""Names of entries, the functions that an application calls, and of their C symbols."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.support.plain_text import shortened, shown

_LONGEST_LIST = 1000
"""Characters of the names that an error lists."""

ONLY_ENTRY = "main"
"""The entry of a module that lists none; no C symbol has its name."""


def check_only_entry(module_name: str, entries: Sequence[str]) -> None:
    """Check that there is one entry, where one is meant that is not named.

    Raises
    ------
    ValueError
        there are several.
    """
    if len(entries) != 1:
        names = ", ".join(f'"{shown(name)}"' for name in entries)
        raise ValueError(
            f'model "{shown(module_name)}" has {len(entries)} entries; choose one by its name: '
            f"{shortened(names, _LONGEST_LIST)}"
        )


def chosen_entry(module_name: str, entries: Sequence[str], name: str | None = None) -> str:
    """The entry of this name, or the only one.

    Raises
    ------
    ValueError
        there is no entry of this name, or several and no name.
    """
    if name is None:
        check_only_entry(module_name, entries)
        return entries[0]
    if name not in entries:
        known = ", ".join(f'"{shown(entry)}"' for entry in entries)
        raise ValueError(
            f'model "{shown(module_name)}" has no entry "{shown(name)}"; its entries: {known}'
        )
    return name


def c_prefix_of_entry(prefix: str, entry: str, entries: Sequence[str]) -> str:
    """What the C symbols of an entry begin with.

    Parameters
    ----------
    prefix
        what those of the module begin with.
    entry
        one of `entries`.
    entries
        the names of all entries of the module; those of one that is called "main" have no name
        of an entry in them.
    """
    has_only_main = len(entries) == 1 and entries[0] == ONLY_ENTRY
    return prefix if has_only_main else f"{prefix}_{entry}"
