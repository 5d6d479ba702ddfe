"""Samples are drawn by the seed, keep their order, and are whole in a long run."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from support import levels

CASES = list(range(100))


@pytest.fixture(autouse=True)
def options(monkeypatch):
    """Choose a level and a seed."""

    def choose(is_long: bool, seed: int = 0, slow_every: int = 1) -> None:
        monkeypatch.setattr(levels, "_is_long", is_long)
        monkeypatch.setattr(levels, "_seed", seed)
        monkeypatch.setattr(levels, "_slow_every", slow_every)

    choose(is_long=False)
    return choose


def test_a_sample(options):
    first = levels.sample(CASES, 10)
    assert len(first) == len(set(first)) == 10
    assert first == sorted(first) == levels.sample(CASES, 10)
    options(is_long=False, seed=1)
    assert levels.sample(CASES, 10) != first


def test_few_cases_are_all_drawn():
    assert levels.sample(CASES[:10], 10) == CASES[:10]
    assert levels.in_long_run(CASES) == []


def test_a_long_run(options):
    options(is_long=True)
    assert levels.sample(CASES, 10) == levels.in_long_run(CASES) == CASES
    assert (levels.number(3, 30), len(levels.seeds(3, 30))) == (30, 30)
    assert levels.header() == "cases: all, drawn with --sample-seed=0"


def test_numbers_and_seeds(options):
    assert (levels.number(3, 30), list(levels.seeds(3, 30))) == (3, [0, 1, 2])
    options(is_long=False, seed=1)
    assert not set(levels.seeds(3, 30)) & {0, 1, 2}
    assert levels.header() == "cases: samples, drawn with --sample-seed=1"


@dataclass(eq=False)
class Item:
    number: int

    def get_closest_marker(self, name: str) -> bool:
        return name == "slow" and self.number % 2 == 1


def chosen() -> tuple[list[int], list[int]]:
    """Of ten tests, of which the odd ones are slow: those that run, and those that do not."""
    items = [Item(number) for number in range(10)]
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    config = SimpleNamespace(hook=hook)
    levels.deselect_slow(config, items)
    return [item.number for item in items], sorted(item.number for item in left_out)


def test_all_slow_tests_run_by_default():
    assert chosen() == (list(range(10)), [])


@pytest.mark.parametrize(
    "seed, left_out", [(0, [3, 5, 9]), (1, [1, 5, 7]), (2, [1, 3, 7, 9]), (3, [3, 5, 9])]
)
def test_seeds_in_turn_choose_all_slow_tests(options, seed, left_out):
    options(is_long=False, seed=seed, slow_every=3)
    assert chosen() == ([i for i in range(10) if i not in left_out], left_out)
    assert levels.header() == (
        f"cases: samples, and one in 3 slow tests, drawn with --sample-seed={seed}"
    )


def test_one_in_less_than_one_is_refused():
    given = {"--long": False, "--sample-seed": 0, "--slow-every": 0}
    with pytest.raises(
        pytest.UsageError, match=r"^--slow-every=0 chooses no test; give 1 or more$"
    ):
        levels.use_options(SimpleNamespace(getoption=given.__getitem__))
