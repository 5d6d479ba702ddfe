"""Flags of TVM 0.18 in a command line: dropped, replaced or refused, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from usmp.driver.errors import UsageError
from usmp.tvm018 import COMPILE_FLAGS, REFUSED, RUN_FLAGS, OldName, find
from usmp.tvm018.old_name import FALSE, NO_VALUE, ONE_VALUE, OPTIONAL_TRUTH, TRUE, VALUES

_BUILDS = ("compile", "plan", "explain", "explore", "check")
"""Commands with the options of a build."""

_FLAGS = {**dict.fromkeys(_BUILDS, COMPILE_FLAGS), "run": RUN_FLAGS}
"""Flags of TVM 0.18 by command."""

_COMMAND = re.compile(r"[a-z][a-z-]*")


@dataclass(frozen=True)
class OldFlag:
    """A flag of TVM 0.18 as a user wrote it."""

    row: OldName
    value: str

    @property
    def sentence(self) -> str:
        """What the user reads about it, without a period."""
        return self.row.sentence(self.value)


def current_arguments(arguments: Sequence[str]) -> tuple[list[str], list[OldFlag]]:
    """Return the command line with flags of today only, and the flags of TVM 0.18 that it had.

    Raises
    ------
    UsageError
        flags that are refused; it names all of them.
    """
    command = next((text for text in arguments if _COMMAND.fullmatch(text)), "")
    rows = _FLAGS.get(command, ())
    current: list[str] = []
    old: list[OldFlag] = []
    remaining = list(arguments)
    while remaining:
        argument = remaining.pop(0)
        if argument == "--":
            current += [argument, *remaining]
            break
        flag = _old_flag(rows, argument, remaining)
        if flag is None:
            current.append(argument)
        else:
            old.append(flag)
            current += flag.row.replacement(flag.value)
    refused = [flag.sentence for flag in old if flag.row.verdict == REFUSED]
    if refused:
        raise UsageError("\n".join(refused))
    return current, old


def _old_flag(rows: Sequence[OldName], argument: str, remaining: list[str]) -> OldFlag | None:
    """Return the flag of TVM 0.18 that `argument` is, and take its value from `remaining`."""
    name, separator, value = argument.partition("=")
    arity = next((row.arity for row in rows if row.is_called(name)), None)
    if arity is None:
        return None
    if not separator and remaining:
        following = remaining[0]
        if arity == ONE_VALUE or (arity == OPTIONAL_TRUTH and following.lower() in TRUE + FALSE):
            value = remaining.pop(0)
        elif arity == VALUES:
            values = []
            while remaining and not remaining[0].startswith("-"):
                values.append(remaining.pop(0))
            value = " ".join(values)
    if arity == NO_VALUE and separator:
        return None
    row = find(rows, name, value)
    return None if row is None else OldFlag(row, value)
