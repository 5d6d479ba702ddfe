"""Samples are drawn by the seed, keep their order, and are whole in a long run."""

from __future__ import annotations

import pytest

from support import levels

CASES = list(range(100))


@pytest.fixture(autouse=True)
def options(monkeypatch):
    """Choose a level and a seed."""

    def choose(is_long: bool, seed: int = 0) -> None:
        monkeypatch.setattr(levels, "_is_long", is_long)
        monkeypatch.setattr(levels, "_seed", seed)

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
