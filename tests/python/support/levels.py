"""How much runs: samples of what is long, drawn by a seed, or with `--long` all of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product
from random import Random
from typing import TypeVar

import pytest
from hypothesis import settings

_Value = TypeVar("_Value")

SLOW = "slow"
"""The marker of slow tests, of which `make test` runs every fourth."""

_is_long = False
_seed = 0
_slow_every = 1


def add_options(parser: pytest.Parser) -> None:
    """Add the options of pytest that choose."""
    group = parser.getgroup("usmp")
    group.addoption("--long", action="store_true", help="run all cases, not samples of them")
    group.addoption(
        "--sample-seed",
        type=int,
        default=0,
        metavar="N",
        help="what draws samples and random cases (default: %(default)s)",
    )
    group.addoption(
        "--slow-every",
        type=int,
        default=1,
        metavar="N",
        help="run every N-th of the slow tests, from the one on that --sample-seed counts to "
        "(default: all)",
    )


def use_options(config: pytest.Config) -> None:
    """Do from now on what the options ask for."""
    global _is_long, _seed, _slow_every
    _is_long, _seed = config.getoption("--long"), config.getoption("--sample-seed")
    _slow_every = config.getoption("--slow-every")
    if _slow_every < 1:
        raise pytest.UsageError(f"--slow-every={_slow_every} chooses no test; give 1 or more")
    slow = "takes a third of a CPU second or longer, a unit test a fifth"
    config.addinivalue_line("markers", f"{SLOW}: {slow}")
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(_seed)
    # How long a case takes depends on what else the machine does.
    settings.register_profile("usmp", deadline=None)
    settings.load_profile("usmp")


def deselect_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all but every N-th of the slow tests, as `--slow-every` says.

    Seeds that follow each other choose others, until all were chosen.
    """
    slow = [item for item in items if item.get_closest_marker(SLOW)]
    left_out = set(slow) - set(slow[_seed % _slow_every :: _slow_every])
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def is_long_run() -> bool:
    """Return whether all cases run."""
    return _is_long


def in_long_run(values: Collection[_Value]) -> list[_Value]:
    """Return cases that a long run has beside the others; none of them by default."""
    return list(values) if _is_long else []


def long_run() -> pytest.MarkDecorator:
    """Mark a test of which a smaller one runs by default."""
    return pytest.mark.skipif(not _is_long, reason="make test-long runs it")


def header() -> str:
    """What a person needs to run the same tests again."""
    parts = "all" if _is_long else "samples"
    slow = "" if _slow_every == 1 else f", and one in {_slow_every} slow tests"
    return f"cases: {parts}{slow}, drawn with --sample-seed={_seed}"


def sample(values: Collection[_Value], most: int) -> list[_Value]:
    """Draw some of the cases of a test; all of them in a long run. Their order stays.

    Parameters
    ----------
    values
        the cases, in the same order in each process.
    most
        how many are drawn.
    """
    cases = list(values)
    if _is_long or len(cases) <= most:
        return cases
    drawn = Random(f"{_seed} {len(cases)}").sample(range(len(cases)), most)
    return [cases[index] for index in sorted(drawn)]


def number(usual: int, in_long_run: int) -> int:
    """How many random cases a test tries."""
    return in_long_run if _is_long else usual


def seeds(usual: int, in_long_run: int) -> range:
    """The seeds of random cases: other ones for another `--sample-seed`."""
    first = _seed * 1_000_003
    return range(first, first + number(usual, in_long_run))


def in_turn(
    first: Collection[object], second: Collection[object], third: Sequence[object]
) -> list[tuple[object, ...]]:
    """Combine each of the first values with each of the second, and these pairs with the third in
    turn; in a long run, all with all."""
    if _is_long:
        return list(product(first, second, third))
    pairs = product(enumerate(first), enumerate(second))
    return [(a, b, third[(i + j) % len(third)]) for (i, a), (j, b) in pairs]
