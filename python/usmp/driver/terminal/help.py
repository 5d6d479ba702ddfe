"""The parser and the help of commands: examples below, defaults beside the options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

from usmp.driver.errors import UsageError
from usmp.names import TARGET_OPTIONS
from usmp.tvm018 import TARGET_OPTION_ROWS

_NAMES = {
    *TARGET_OPTIONS["llvm"],
    *(row.name.removeprefix("-") for rows in TARGET_OPTION_ROWS.values() for row in rows),
}
_OF_A_TARGET = re.compile(rf"unrecognized arguments:.* -({'|'.join(sorted(_NAMES))})=")
"""Error about an option that a shell split from its target because quotes are missing."""

_MOST_FLAGS = 3
"""Most flags that an error lists for an abbreviated flag."""


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError for wrong usage, so that all errors are reported alike."""

    takes_files_anywhere = False
    """Whether FILEs may stand before and after options. argparse takes only the first group."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but collect all FILEs."""
        options, remaining = super().parse_known_args(args, namespace)
        for text in remaining:
            if full := self._flags_that_begin_as(text.partition("=")[0]):
                self.error(f"unrecognized arguments: {text}; write {' or '.join(full)} in full")
        if (
            self.takes_files_anywhere
            and remaining
            and not any(text.startswith("-") for text in remaining)
        ):
            options.FILE, remaining = [*options.FILE, *remaining], []
        return options, remaining

    def _flags_that_begin_as(self, name: str) -> list[str]:
        """Return the flags with this prefix, or none if there are more than `_MOST_FLAGS`."""
        flags = [flag for flag in self._option_string_actions if flag.startswith(name)]
        return flags if len(flags) <= _MOST_FLAGS and name.startswith("--") else []

    def error(self, message: str) -> NoReturn:
        if _OF_A_TARGET.search(message):
            message += '; say it in --target, in quotes, as in --target="llvm -mcpu=cortex-m3"'
        raise UsageError(f"{message} (see {self.prog} --help)")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that keeps the lines of examples, and appends defaults to the help of options."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        takes_value = action.option_strings and action.nargs != 0
        if not takes_value or action.default in (None, [], argparse.SUPPRESS):
            return action.help
        return f"{action.help} (default: %(default)s)"


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    *,
    summary: str,
    description: str,
    examples: str,
) -> Parser:
    """Add a command with a description and examples to the parser.

    Parameters
    ----------
    commands
        result of `add_subparsers`.
    name
        name of the command.
    run
        function that runs the command; returns the exit status, or None for 0.
    summary
        one line for the list of commands.
    description
        a sentence or two for the help of the command.
    examples
        command lines with explanations, for the end of the help.
    """
    parser: Parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=HelpFormatter,
    )
    parser.set_defaults(command=run)
    return parser
