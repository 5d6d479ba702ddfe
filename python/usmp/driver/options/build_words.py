"""The options of `tvmc compile` without files, as words of a command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from usmp.driver.options.build_options import add_build_options
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.driver.terminal.help import HELP_DESTINATIONS, Parser

_NOT_WORDS = ("FILE", *HELP_DESTINATIONS, "export_state_layout")


def parse_build(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse options of `tvmc compile` without files.

    Raises
    ------
    UsageError
        an option or a value is unknown.
    """
    return _parser().parse_args(split_pool_flags(arguments))


def build_words(options: argparse.Namespace) -> list[str]:
    """Return the words that `parse_build` parses into these options, without the defaults.

    They are in the order of the help.
    """
    return [word for action in _actions() for word in _words_of(action, options)]


def given_flags(options: argparse.Namespace) -> list[str]:
    """Return the flags of the options that differ from the defaults."""
    return [a.option_strings[-1] for a in _actions() if any(_words_of(a, options))]


def build_flags() -> dict[str, argparse.Action]:
    """Return the action of each flag, as in "--target"."""
    return {flag: action for action in _actions() for flag in action.option_strings}


def _actions() -> Iterator[argparse.Action]:
    return (action for action in _parser()._actions if action.dest not in _NOT_WORDS)


def _words_of(action: argparse.Action, options: argparse.Namespace) -> Iterator[str]:
    value: Any = getattr(options, action.dest)
    if value == action.default or value is None:
        return
    flag = action.option_strings[-1]
    if action.nargs == 0:
        yield flag
        return
    for item in value if isinstance(value, list) else [value]:
        text = str(int(item)) if isinstance(item, bool) else str(item)
        # The flag of a pool contains the name of the pool.
        is_named = flag.endswith("-NAME")
        yield f"{flag.removesuffix('NAME')}{text}" if is_named else f"{flag}={text}"


@cache
def _parser() -> Parser:
    parser = Parser(prog="tvmc explore")
    add_build_options(parser, needs_model=False)
    return parser
