"""Drop, replace or refuse flags of TVM 0.18 in a command line, each with its reason."""

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
    # `explore` has another option named --config.
    "explore": (*(row for row in MAIN_FLAGS if row.name != "--config"), *COMPILE_FLAGS),
}
"""Flags of TVM 0.18 by command. Unlisted commands have MAIN_FLAGS. Commands that build have the
flags of `compile`."""

_OUTPUTS = ("-o", "--output")
_LETTER = re.compile(r"(-[A-Za-z])=?(.*)", re.DOTALL)


def current_arguments(
    arguments: Sequence[str], beside: Sequence[str] = ()
) -> tuple[list[str], list[WrittenName]]:
    """Return the command line with current flags, and the flags of TVM 0.18 that were replaced.

    Parameters
    ----------
    arguments
        the command line.
    beside
        further arguments of the command, which are not returned.

    Raises
    ------
    UsageError
        flags or names in their values are refused (the message lists all), or a flag lacks its
        value.
    """
    command, _ = split_command(arguments)
    own_rows = _FLAGS.get(command, MAIN_FLAGS)
    rows = MAIN_FLAGS if command == "explore" else own_rows
    words = _words([*arguments, *beside])
    current: list[str] = []
    old_flags: list[WrittenName] = []
    remaining = list(arguments)
    while remaining and remaining[0] != "--":
        rows = own_rows if remaining[0] == command else rows
        name, values, count = _split_flag(rows, remaining, command)
        matching_rows = [find(rows, name, value, words) for value in values]
        if not values or None in matching_rows:
            current.append(remaining.pop(0))
            continue
        del remaining[:count]
        for row, value in zip(matching_rows, values, strict=True):
            if row is not None:
                old_flags.append(WrittenName(row, value))
                current += row.replacement(value)
    refused = [flag for flag in old_flags if flag.row.verdict == REFUSED]
    _check_command_line(current, remaining, refused)
    return [*current, *remaining], old_flags


def _check_command_line(
    current: Sequence[str], operands: Sequence[str], refused: Sequence[WrittenName]
) -> None:
    """Raise one error for all refused flags, pass options and targets.

    If only pass options or only targets are refused, leave the error to their parsers.

    Parameters
    ----------
    current
        arguments before "--", with current flags.
    operands
        arguments from "--" on.
    refused
        refused flags.
    """
    settings, targets = refused_settings(current), refused_in_targets(current)
    if not refused and not (settings and targets):
        return
    reasons = {flag.row.reason for flag in refused}
    # Omit a target if a flag such as --target-ethos-u-... already has its reason.
    others = [
        name
        for name in (*settings, *targets)
        if not any(name.row.reason in reason for reason in reasons - {name.row.reason})
    ]
    on_device = find(RUN_FLAGS, "--device", "micro")
    is_on_device = on_device in [flag.row for flag in refused]
    replacement = [run_on_device([*current, *operands])] if is_on_device else []
    check_none_refused([*refused, *others], instead=replacement)


def _words(arguments: Sequence[str]) -> set[str]:
    """Return the arguments, and each flag joined to its value, as "--flag=value".

    Leave out values of -o and --output, so that an output is not taken for the model.
    """
    pairs = list(pairwise(["", *arguments]))
    return {
        *(text for previous, text in pairs if previous not in _OUTPUTS),
        *(f"{previous}={text}" for previous, text in pairs if previous.startswith("-")),
    }


def check_none_refused(
    flags: Iterable[WrittenName], where: str = "", instead: Iterable[str] = ()
) -> None:
    """Raise one UsageError for all refused flags, with each reason once.

    Parameters
    ----------
    flags
        flags or arguments as the user wrote them.
    where
        first words of the message.
    instead
        last lines of the message.
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
    """Return the first flag, its values, and the number of arguments that contain them.

    The values are empty if no row has the flag.

    Raises
    ------
    UsageError
        the flag lacks its value.
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
        # Accept repeated letters, as in -vvv.
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
        raise UsageError(f"argument {name}: expected one argument. See tvmc {command} --help")
    return name, split_values(arity, following[0]), 2


def split_values(arity: str, value: str) -> list[str]:
    """Return the values in the text after a flag, several if it is a list with commas."""
    if arity != COMMA_LIST:
        return [value]
    return [part.strip() for part in value.split(",") if part.strip()] or [""]


def _values(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments up to the next flag. "-" is no flag."""
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            return
        yield argument
