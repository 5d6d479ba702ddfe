"""How the help of every command looks: examples below, defaults beside the options."""

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
"""An option that a shell took from the text of a target, for want of quotes."""

_MOST_FLAGS = 3
"""That an error lists for one that is shortened."""


class Parser(argparse.ArgumentParser):
    """Reports wrong usage as every other error: one line, exit status 1."""

    takes_files_anywhere = False
    """Whether each argument that is no option is a FILE, before and after options; argparse takes
    only the first that stand together."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, with all the files."""
        options, left = super().parse_known_args(args, namespace)
        for text in left:
            if full := self._flags_that_begin_as(text.partition("=")[0]):
                self.error(f"unrecognized arguments: {text}; write {' or '.join(full)} in full")
        if self.takes_files_anywhere and left and not any(text.startswith("-") for text in left):
            options.FILE, left = [*options.FILE, *left], []
        return options, left

    def _flags_that_begin_as(self, name: str) -> list[str]:
        """Return the flags with this beginning, if they are few."""
        flags = [flag for flag in self._option_string_actions if flag.startswith(name)]
        return flags if len(flags) <= _MOST_FLAGS and name.startswith("--") else []

    def error(self, message: str) -> NoReturn:
        if _OF_A_TARGET.search(message):
            message += '; say it in --target, in quotes, as in --target="llvm -mcpu=cortex-m3"'
        raise UsageError(f"{message} (see {self.prog} --help)")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of examples, and ends the help of an option with its default."""

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
    """Add a command that explains itself.

    Parameters
    ----------
    commands
        what `add_subparsers` returned.
    name
        what the user types.
    run
        carries the command out; returns the exit status, or None for 0.
    summary
        one line for the list of commands.
    description
        a sentence or two for the command's own help.
    examples
        command lines with what they do, for the end of its help.
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
