"""The entries of a module: names in C, and what is taken at once."""

from __future__ import annotations

import itertools
import random

import pytest

from support import levels
from usmp.objects.entries import called_by_users, most_bytes_at_once
from usmp.plain.entry_names import c_prefix_of_entry, check_only_entry


def test_users_know_no_names_of_functions_of_entries():
    names = ("__tvm_main__", "__tvm_encode__", "conv2d")
    assert [called_by_users(name) for name in names] == [
        "the model",
        'entry "encode"',
        "operator conv2d",
    ]


def pairs(*names: str) -> set[frozenset[str]]:
    return {frozenset(name) for name in names}


@pytest.mark.parametrize(
    ("sizes", "concurrent", "most"),
    [
        ({}, (), 0),
        ({"a": 7}, (), 7),
        ({"a": 7, "b": 9}, (), 9),
        ({"a": 7, "b": 9}, pairs("ab"), 16),
        ({"a": 7, "b": 9, "c": 5}, pairs("ac"), 12),
        ({"a": 7, "b": 20, "c": 5}, pairs("ac"), 20),
        ({"a": 7, "b": 9, "c": 5}, pairs("ab", "bc"), 16),
        ({"a": 7, "b": 9, "c": 5}, pairs("ab", "bc", "ac"), 21),
        ({"a": 0, "b": 0}, pairs("ab"), 0),
    ],
)
def test_most_bytes_at_once(sizes, concurrent, most):
    assert most_bytes_at_once(sizes, concurrent) == most


def test_most_bytes_at_once_is_that_of_the_best_set():
    sets = [s for count in range(1, 7) for s in itertools.combinations("abcdef", count)]
    for seed in levels.seeds(20, 500):
        draw = random.Random(seed)
        sizes = {name: draw.randrange(30) for name in "abcdef"}
        concurrent = {
            frozenset(pair) for pair in itertools.combinations(sizes, 2) if draw.random() < 0.6
        }
        together = [
            s for s in sets if all(frozenset(p) in concurrent for p in itertools.combinations(s, 2))
        ]
        best = max(sum(sizes[name] for name in s) for s in together)
        assert most_bytes_at_once(sizes, concurrent) == best, seed


def test_many_entries_that_all_may_run_at_once_take_no_time():
    sizes = {f"e{number}": number for number in range(200)}
    concurrent = {frozenset(pair) for pair in itertools.combinations(sizes, 2)}
    assert most_bytes_at_once(sizes, concurrent) == sum(range(200))


def test_many_sets_of_entries_that_may_run_at_once_take_no_time():
    """Of each three entries one runs, so there are 3 ** 20 sets."""
    concurrent = {
        frozenset((str(i), str(j)))
        for i, j in itertools.combinations(range(60), 2)
        if i // 3 != j // 3
    }
    assert most_bytes_at_once({str(i): 7 for i in range(60)}, concurrent) == 20 * 7


@pytest.mark.parametrize(
    ("entry", "entries", "prefix"),
    [
        ("main", ["main"], "tvmgen_m"),
        ("main", ["main", "b"], "tvmgen_m_main"),
        ("b", ["main", "b"], "tvmgen_m_b"),
        ("b", ["b"], "tvmgen_m_b"),
    ],
)
def test_c_prefix(entry, entries, prefix):
    assert c_prefix_of_entry("tvmgen_m", entry, entries) == prefix


def test_only_entry():
    check_only_entry("m", ["forward"])
    with pytest.raises(ValueError) as error:
        check_only_entry("m", ["e" * 60] * 100)
    assert len(str(error.value)) < 1100
    with pytest.raises(ValueError) as error:
        check_only_entry("m\x1b", ["a", "b"])
    assert str(error.value) == ('model "m\\x1b" has 2 entries; choose one by its name: "a", "b"')
