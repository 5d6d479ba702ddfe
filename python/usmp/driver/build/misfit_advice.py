"""The next command after a model that does not fit its pools or its board."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from usmp.driver.options.build_words import build_words, parse_build
from usmp.driver.options.pool_flags import is_pool_option


@contextmanager
def misfit_advice(options: argparse.Namespace) -> Iterator[None]:
    """Add to a `DoesNotFitError` the command that shows which options need less memory."""
    try:
        yield
    except ValueError as error:
        # An error before TVM is loaded is another one, and should not load TVM.
        if "usmp.algorithms" in sys.modules:
            from usmp.algorithms import DoesNotFitError

            if isinstance(error, DoesNotFitError):
                error.advice = _advice(options)
        raise


def _advice(options: argparse.Namespace) -> str:
    """Return the command, with all options except those that say how large memories are."""
    defaults = vars(parse_build([]))
    given = {name: getattr(options, name) for name in defaults}
    pools = {name for name in given if is_pool_option(name)}
    # Without sizes of pools, the memories of the board are too small.
    is_board = options.board is not None and all(given[pool] == defaults[pool] for pool in pools)
    dropped = {*pools, "state_layout", *(["board"] if is_board else [])}
    kept = {name: defaults[name] if name in dropped else value for name, value in given.items()}
    words = [*options.FILE, *build_words(argparse.Namespace(**kept))]
    if is_board:
        words.append(f"--boards={options.board}")
        return f"Options with which it fits, if any: {shlex.join(['tvmc', 'check', *words])}"
    return f"Options that need less memory: {shlex.join(['tvmc', 'explain', *words])}"
