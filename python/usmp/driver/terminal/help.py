"""The parser and the help of commands: examples below, defaults beside the options.

`--help` shows the options that are often needed, and `--help-all` the rare ones as well.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn

from usmp.driver.errors import UsageError
from usmp.names import TARGET_OPTIONS
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown
from usmp.tvm018 import TARGET_OPTION_ROWS

_NAMES_OF = {
    kind: {*TARGET_OPTIONS.get(kind, ()), *(row.name.removeprefix("-") for row in rows)}
    for kind, rows in TARGET_OPTION_ROWS.items()
}
_NAMES = set[str]().union(*_NAMES_OF.values())
_OF_A_TARGET = re.compile(rf"(?<= )-({'|'.join(sorted(_NAMES))})=\S*")
"""An option that a shell split from its target because quotes are missing."""

HELP_DESTINATIONS = ("help", "help_all")
"""Destinations of the options that print the help and end."""


class Rare(str):
    """The help of an option that is rarely needed, so that only `--help-all` shows it."""

    __slots__ = ()


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError for wrong usage, so that all errors are reported alike."""

    takes_files_anywhere = False
    """Whether FILEs may stand before and after options. argparse takes only the first group."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but collect all FILEs."""
        options, remaining = super().parse_known_args(args, namespace)
        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        for text in remaining:
            if text.startswith("--"):
                problem, name = f"unknown option {text}", text.partition("=")[0]
                see = f"See {self.prog} --help"
                raise UsageError(unknown_name(problem, name, flags, "Options", see))
        if (
            self.takes_files_anywhere
            and remaining
            and not any(text.startswith("-") for text in remaining)
        ):
            options.FILE, remaining = [*options.FILE, *remaining], []
        return options, remaining

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check that a value is one of the choices, and suggest the closest ones if not."""
        if action.choices is not None and value not in action.choices:
            is_command = isinstance(action, argparse._SubParsersAction)
            problem = f'{"unknown command" if is_command else "invalid choice"} "{shown(value)}"'
            heading = "Commands" if is_command else "Choices"
            message = unknown_name(problem, value, list(action.choices), heading)
            raise argparse.ArgumentError(None if is_command else action, message)

    def format_help(self, shows_all: bool = False) -> str:
        """Return the help: the usage, groups of options, examples.

        Parameters
        ----------
        shows_all
            whether options are shown whose help is `Rare`.
        """
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self.shown(self._actions, shows_all), [])
        formatter.add_text(self.description)
        for group in self.groups():
            actions = self.shown(group._group_actions, shows_all)
            if actions:
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(actions)
                formatter.end_section()
        formatter.add_text(self.epilog)
        if self._has_rare() and not shows_all:
            formatter.add_text(f"{self.prog} --help-all shows all options.")
        return formatter.format_help()

    def groups(self) -> list[argparse._ArgumentGroup]:
        """Return the groups of options in the order of the help. Groups with a purpose come first,
        if there are any, and --help after them."""
        own_groups = [group for group in self._action_groups if group is not self._optionals]
        return [*own_groups, self._optionals] if len(own_groups) > 1 else self._action_groups

    def shown(
        self, actions: Iterable[argparse.Action], shows_all: bool = True
    ) -> list[argparse.Action]:
        """Return the actions that the help shows."""
        return [
            action
            for action in actions
            if action.help is not argparse.SUPPRESS
            and (shows_all or not isinstance(action.help, Rare))
            and (self._has_rare() or not isinstance(action, _HelpAll))
        ]

    def _has_rare(self) -> bool:
        return any(isinstance(action.help, Rare) for action in self._actions)

    def make_rare(self, destinations: Collection[str]) -> None:
        """Show options only in `--help-all`, because this command rarely needs them."""
        for action in self._actions:
            if action.dest in destinations and action.help is not argparse.SUPPRESS:
                action.help = Rare(action.help)

    def error(self, message: str) -> NoReturn:
        options = list(_OF_A_TARGET.finditer(message))
        if options and message.startswith("unrecognized arguments:"):
            kind = "c" if all(option[1] in _NAMES_OF["c"] for option in options) else "llvm"
            target = " ".join((kind, *(option[0] for option in options)))
            message += f'. Write it within the quotes of --target, as --target="{target}"'
        raise UsageError(f"{message}. See {self.prog} --help")


class _HelpAll(argparse.Action):
    """The action of `--help-all`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        assert isinstance(parser, Parser)
        print(parser.format_help(shows_all=True), end="")
        parser.exit()


def add_help_all_option(parser: Parser) -> None:
    """Add `--help-all`, which the help shows if there are rare options."""
    parser.add_argument(
        "--help-all",
        action=_HelpAll,
        nargs=0,
        default=argparse.SUPPRESS,
        help="show this help message with all options and exit",
    )


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that keeps the lines of examples, and appends defaults to the help of options."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        takes_value = action.option_strings and action.nargs != 0
        has_none = action.default in (None, [], argparse.SUPPRESS)
        if not takes_value or has_none or "(default: " in (action.help or ""):
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
    add_help_all_option(parser)
    return parser
