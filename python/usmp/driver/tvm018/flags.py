"""Flags of TVM 0.18 in a command line: dropped, replaced or refused, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from usmp.driver.errors import UsageError
from usmp.driver.tvm018.commands import run_on_device, split_command
from usmp.driver.tvm018.values import refused_in_targets, refused_settings
from usmp.tvm018 import COMPILE_FLAGS, MAIN_FLAGS, REFUSED, RUN_FLAGS, OldName, find
from usmp.tvm018.old_name import (
    COMMA_LIST,
    NO_VALUE,
    OPTIONAL_TRUTH,
    VALUES,
    WrittenName,
    parse_truth,
)

_FLAGS: dict[str, tuple[OldName, ...]] = {
    "compile": (*MAIN_FLAGS, *COMPILE_FLAGS),
    "run": (*MAIN_FLAGS, *RUN_FLAGS),
    **dict.fromkeys(("plan", "explain", "check"), (*MAIN_FLAGS, *COMPILE_FLAGS)),
    # Its --config is another option.
    "explore": (*(row for row in MAIN_FLAGS if row.name != "--config"), *COMPILE_FLAGS),
}
"""Flags of TVM 0.18 by command. Commands that are not listed have MAIN_FLAGS; `plan`, `explain`,
`check` and `explore` build too, and have those of `compile`."""

_OUTPUTS = ("-o", "--output")
_LETTER = re.compile(r"(-[A-Za-z])=?(.*)", re.DOTALL)


def current_arguments(
    arguments: Sequence[str], beside: Sequence[str] = ()
) -> tuple[list[str], list[WrittenName]]:
    """Return the command line with flags of today only, and the flags of TVM 0.18 that it had.

    Parameters
    ----------
    arguments
        the command line.
    beside
        arguments that the command has as well, which are not returned.

    Raises
    ------
    UsageError
        flags that are refused, or a flag without its value; it names all of them, and what is
        refused in the values of other flags.
    """
    command, _ = split_command(arguments)
    own_rows = _FLAGS.get(command, MAIN_FLAGS)
    rows = MAIN_FLAGS if command == "explore" else own_rows
    written = _written([*arguments, *beside])
    current: list[str] = []
    old: list[WrittenName] = []
    remaining = list(arguments)
    while remaining and remaining[0] != "--":
        rows = own_rows if remaining[0] == command else rows
        name, values, count = _split_flag(rows, remaining, command)
        found = [find(rows, name, value, written) for value in values]
        if not values or None in found:
            current.append(remaining.pop(0))
            continue
        del remaining[:count]
        for row, value in zip(found, values, strict=True):
            if row is not None:
                old.append(WrittenName(row, value))
                current += row.replacement(value)
    refused = [flag for flag in old if flag.row.verdict == REFUSED]
    _check_command_line(current, remaining, refused)
    return [*current, *remaining], old


def _check_command_line(
    current: Sequence[str], operands: Sequence[str], refused: Sequence[WrittenName]
) -> None:
    """Raise one error for the flags that are refused, and what is refused in values of other flags.

    Without such flags, settings alone and targets alone are refused where they are read.

    Parameters
    ----------
    current
        the arguments before "--", with flags of today.
    operands
        the arguments from "--" on.
    refused
        flags that are refused.
    """
    settings, targets = refused_settings(current), refused_in_targets(current)
    if not refused and not (settings and targets):
        return
    told = {flag.row.reason for flag in refused}
    # The reason of a flag such as --target-ethos-u-... contains that of its target.
    others = [
        each
        for each in (*settings, *targets)
        if not any(each.row.reason in reason for reason in told - {each.row.reason})
    ]
    on_device = find(RUN_FLAGS, "--device", "micro")
    is_on_device = on_device in [flag.row for flag in refused]
    instead = [run_on_device([*current, *operands])] if is_on_device else []
    check_none_refused([*refused, *others], instead=instead)


def _written(arguments: Sequence[str]) -> set[str]:
    """Return the arguments, and each flag joined to its value. Values of -o and --output are left
    out, so that an output is not taken for the model."""
    pairs = list(pairwise(["", *arguments]))
    return {
        *(text for before, text in pairs if before not in _OUTPUTS),
        *(f"{before}={text}" for before, text in pairs if before.startswith("-")),
    }


def check_none_refused(
    flags: Iterable[WrittenName], where: str = "", instead: Iterable[str] = ()
) -> None:
    """Raise one error for all that are refused, in which each reason stands once.

    Parameters
    ----------
    flags
        flags or arguments as a user wrote them.
    where
        what the message begins with.
    instead
        lines that the message ends with.

    Raises
    ------
    UsageError
        some are refused.
    """
    reasons: dict[str, list[str]] = {}
    for flag in flags:
        if flag.row.verdict == REFUSED:
            names = reasons.setdefault(flag.row.reason_of(flag.value), [])
            names.append(flag.row.written(flag.value))
    if reasons:
        lines = (f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
        raise UsageError(where + ";\n".join([*lines, *instead]))


def _split_flag(
    rows: Sequence[OldName], arguments: Sequence[str], command: str
) -> tuple[str, list[str], int]:
    """Return the flag that `arguments` begin with, its values, and how many arguments they take.

    There are no values if no row has the flag.

    Raises
    ------
    UsageError
        the flag needs a value and has none.
    """
    name, separator, value = arguments[0].partition("=")
    if letter := _LETTER.fullmatch(arguments[0]):
        name, value = letter.groups()
        separator = value
    arity = next((row.arity for row in rows if row.is_called(name)), None)
    following = arguments[1:2]
    if arity is None:
        return name, [], 1
    if arity == NO_VALUE:
        # As in -vvv.
        is_repeated = bool(letter) and set(value) <= {name[1]}
        return name, [""] if is_repeated or not separator else [], 1
    if separator:
        return name, split_values(arity, value), 1
    if arity == OPTIONAL_TRUTH:
        is_given = bool(following) and parse_truth(following[0]) is not None
        return name, list(following) if is_given else [""], 1 + is_given
    if arity == VALUES:
        values = list(_values(arguments[1:]))
        return name, [" ".join(values)], 1 + len(values)
    if not list(_values(following)):
        raise UsageError(f"argument {name}: expected one argument (see tvmc {command} --help)")
    return name, split_values(arity, following[0]), 2


def split_values(arity: str, value: str) -> list[str]:
    """Return the values in the text after a flag, each of which has a row."""
    if arity != COMMA_LIST:
        return [value]
    return [part.strip() for part in value.split(",") if part.strip()] or [""]


def _values(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments up to the next flag; "-" is none."""
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            return
        yield argument
