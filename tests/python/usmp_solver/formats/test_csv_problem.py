"""Cells of a CSV to a problem."""

from __future__ import annotations

import pytest

from usmp_solver.formats import csv_problem
from usmp_solver.formats.csv_reader import parse_csv

LARGEST = (1 << 63) - 1


def parsed(*rows, columns="", capacity=None):
    text = "\n".join([f"id,lower,upper,size{columns}", *rows, ""])
    return parse_csv("f.csv", text.encode(), capacity)


def candidates(problem):
    first = problem.candidate_first.tolist()
    names = [problem.pools[number].name for number in problem.candidates]
    return [names[first[b] : first[b + 1]] for b in range(len(problem))]


def pools(problem):
    return [(pool.name, pool.limit) for pool in problem.pools]


def test_columns_that_are_missing_have_defaults():
    table = parsed("a,0,2,8", "b,1,3,0")
    problem = table.problem
    assert (problem.names, problem.sizes.tolist()) == (["a", "b"], [8, 0])
    assert problem.alignments.tolist() == [1, 1]
    assert problem.fixed_offsets.tolist() == [-1, -1]
    assert (candidates(problem), pools(problem)) == ([["memory"]] * 2, [("memory", None)])
    assert table.where(1) == "line 3"
    assert pools(parsed("a,0,2,8", capacity=64).problem) == [("memory", 64)]


def test_columns_of_alignment_and_offset():
    problem = parsed("a,0,2,8,4,8", "b,1,3,8,,", columns=",alignment,offset").problem
    assert problem.alignments.tolist() == [4, 1]
    assert problem.fixed_offsets.tolist() == [8, -1]


@pytest.mark.parametrize(
    ("rows", "capacity", "of_buffers", "all_pools"),
    [
        (["p", "q|p", ""], None, [["p"], ["q", "p"], ["q", "p"]], ["q", "p"]),
        (["p|q", "q"], None, [["p", "q"], ["q"]], ["p", "q"]),
        (["p | q | p", "q"], None, [["p", "q"], ["q"]], ["p", "q"]),
        (["", ""], {"x": 64, "y": 32}, [["x", "y"], ["x", "y"]], ["x", "y"]),
        (["p", ""], {"x": 64, "p": 32}, [["p"], ["x", "p"]], ["x", "p"]),
        (["p", "q"], {"x": 64, "q": 32, "p": 99}, [["p"], ["q"]], ["x", "q", "p"]),
        (["p", "q"], {"q": 32}, [["p"], ["q"]], ["q", "p"]),
        (["p", "p"], 64, [["p"], ["p"]], ["p"]),
    ],
)
def test_pools(rows, capacity, of_buffers, all_pools):
    lines = [f"b{number},0,2,8,{text}" for number, text in enumerate(rows)]
    problem = parsed(*lines, columns=",pool", capacity=capacity).problem
    assert candidates(problem) == of_buffers
    limits = capacity if isinstance(capacity, dict) else dict.fromkeys(all_pools, capacity)
    assert pools(problem) == [(name, limits.get(name)) for name in all_pools]


@pytest.mark.parametrize(
    ("columns", "rows", "capacity", "message"),
    [
        ("", ["a,0,2,8", "b,0,2,-1"], None, 'line 3, buffer "b": its size, -1, is negative'),
        (",alignment", ["a,0,2,8,0"], None, 'line 2, buffer "a": its alignment, 0, is'),
        (",offset", ["a,0,2,8,-4"], None, 'line 2, buffer "a": it is pinned to the offset -4;'),
        (
            ",alignment,offset",
            ["a,0,2,8,4,8", "b,0,2,8,4,18"],
            None,
            'line 3, buffer "b": it is pinned to 18, which is no multiple of its alignment',
        ),
        (",offset", [f"a,0,2,8,{LARGEST - 7}"], None, 'line 2, buffer "a": pinned to 9'),
        (",pool", ["a,0,2,8,p", "b,0,2,8,p|"], None, 'line 3, buffer "b": pool is "p|";'),
        ("", ["a,0,2,8", "a,0,2,8"], None, 'line 3, buffer "a": line 2 has the same id'),
        ("", ["a,0,2,8", ",0,2,8"], None, "line 3: the buffer has no id"),
        ("", ["a,0,2,8", "b,0,2,9", "c,0,2,11"], 8, 'line 4, buffer "c": its 11 bytes do not'),
        ("", ["a,0,2,0", "b,0,2,1"], 0, 'line 3, buffer "b": its 1 bytes do not fit'),
        (
            ",offset,pool",
            ["a,0,2,8,1,p", "b,0,2,8,1,p|q"],
            {"p": 8, "q": 9},
            'line 2, buffer "a": its 8 bytes, pinned to the offset 1, do not fit into a capacity '
            "of 8; a capacity of at least 9 is needed",
        ),
        (
            ",offset",
            ["x,0,9,8,", "a,0,2,8,0", "b,1,3,8,7"],
            None,
            'line 4, buffer "b": it is pinned to bytes 7 to 15, and buffer "a" of line 3 to bytes '
            "0 to 8, but both are live",
        ),
    ],
)
def test_files_that_are_refused(columns, rows, capacity, message):
    with pytest.raises(ValueError) as caught:
        parsed(*rows, columns=columns, capacity=capacity)
    assert str(caught.value).startswith(f"f.csv, {message}")


@pytest.mark.parametrize(
    ("columns", "rows", "capacity"),
    [
        (",offset", [f"a,0,2,8,{LARGEST - 8}"], None),
        (",offset", [f"a,0,2,{LARGEST},0"], None),
        (",offset", ["a,0,2,8,0", "b,2,3,8,7"], None),
        (",offset", ["a,0,2,8,0", "b,1,3,8,8"], 16),
        # Pinned to a byte of whichever pool.
        (",offset,pool", ["a,0,2,8,0,p", "b,1,3,8,0,p|q"], None),
        (",offset,pool", ["a,0,2,8,0,p", "b,1,3,8,0,q"], None),
        (",offset,gaps", ["x,0,1,4,,", "a,0,9,8,0,2-5", "y,0,1,4,,", "b,2,5,8,0,"], None),
        ("", ["a,0,2,0"], 0),
        (",pool", ["a,0,2,8,p|q"], {"p": 4, "q": 8}),
    ],
)
def test_files_that_are_taken(columns, rows, capacity):
    assert len(parsed(*rows, columns=columns, capacity=capacity).problem) == len(rows)


def test_capacities_of_pools_that_no_buffer_may_be_in():
    rows = ["a,0,2,8,p", "b,0,2,8,q"]
    with pytest.raises(ValueError, match=r'f\.csv: no buffer may be in the pool "x" that a'):
        parsed(*rows, columns=",pool", capacity={"x": 64, "p": 64})
    with pytest.raises(ValueError, match="names no pool, and the file has several"):
        parsed(*rows, columns=",pool", capacity=64)


def test_buffers_may_be_in_so_many_places(monkeypatch):
    rows, limits = ["a,0,2,8,", "b,0,2,8,x"], {"x": 8, "y": 8}
    monkeypatch.setattr(csv_problem, "_MOST_CANDIDATES", 3)
    parsed(*rows, columns=",pool", capacity=limits)
    parsed("a,0,2,8", capacity=dict.fromkeys("xyz", 8))
    monkeypatch.setattr(csv_problem, "_MOST_CANDIDATES", 2)
    with pytest.raises(ValueError, match=r"f\.csv: 2 buffers may be in 3 places"):
        parsed(*rows, columns=",pool", capacity=limits)
    with pytest.raises(ValueError, match=r"f\.csv: 2 buffers may be in 4 places"):
        parsed("a,0,2,8", "b,0,2,8", capacity=limits)
