"""Files as MiniMalloc's `FromCsv` takes them: every name of a column, gaps, offsets and hints."""

from __future__ import annotations

import re

import pytest

from usmp_solver import Buffer, Problem, parse_csv, solve, write_csv


def rows(text: str) -> list[tuple]:
    """Name, size, alignment, pin and live ranges of every buffer."""
    problem = parse_csv("in.csv", text.encode()).problem
    return [
        (
            name,
            int(problem.sizes[buffer]),
            int(problem.alignments[buffer]),
            int(problem.fixed_offsets[buffer]),
            [
                (int(problem.live_starts[at]), int(problem.live_stops[at]))
                for at in range(problem.live_first[buffer], problem.live_first[buffer + 1])
            ],
        )
        for buffer, name in enumerate(problem.names)
    ]


@pytest.mark.parametrize("name", ["id", "buffer", "buffer_id"])
@pytest.mark.parametrize("lower", ["lower", "begin", "start"])
@pytest.mark.parametrize(("upper", "shown"), [("upper", 7), ("end", 6)])
def test_every_name_of_a_column(name, lower, upper, shown):
    header = f"{lower},size,{name},{upper},alignment,hint,gaps"
    gap = f"4-{shown - 2}"
    assert rows(f"{header}\n2,18,big,{shown},2,-1,{gap}\n0,9,small,{shown},1,0,\n") == [
        ("big", 18, 2, -1, [(2, 4), (5, 7)]),
        ("small", 9, 1, -1, [(0, 7)]),
    ]


def test_offsets_are_pins():
    text = "start,size,offset,buffer,upper\n6,18,21,1,12\n5,15,1,0,10\n"
    assert [row[3] for row in rows(text)] == [21, 1]


def test_a_gap_with_a_window_is_taken_only_if_it_keeps_all_bytes():
    header = "id,lower,upper,size,gaps"
    assert rows(f"{header}\na,0,9,8,2-3 5-7@0:8\n") == [("a", 8, 1, -1, [(0, 2), (3, 9)])]
    with pytest.raises(ValueError, match=r'line 2, buffer "a": the gap "5-7@2:8" has a window'):
        parse_csv("in.csv", f"{header}\na,0,9,8,5-7@2:8\n".encode())


def test_a_problem_that_comes_from_no_file_is_written():
    problem = Problem.from_buffers(
        [
            Buffer("a", 4, [(5, 7), (0, 2), (1, 3)], alignment=4),
            Buffer("b,", 8, [(2, 6)]),
        ]
    )
    text = write_csv(problem, solve(problem))
    assert text == ('id,lower,upper,size,alignment,gaps,offset\na,0,7,4,4,3-5,0\n"b,",2,6,8,1,,4\n')
    assert [row[4] for row in rows(text)] == [[(0, 3), (5, 7)], [(2, 6)]]


@pytest.mark.parametrize(
    ("buffers", "message"),
    [
        ([Buffer("a", 4, [(0, 1)]), Buffer("b", 4)], 'buffer "b" is never live'),
        (
            [Buffer("a", 4, [(0, 1)]), Buffer("b", 4, [(2, 3)], conflicts=["a"])],
            "no column for conflicts and overlaps",
        ),
    ],
)
def test_what_has_no_columns_is_not_written(buffers, message):
    problem = Problem.from_buffers(buffers)
    with pytest.raises(ValueError, match=message):
        write_csv(problem, solve(problem))


@pytest.mark.slow
def test_pools_of_empty_cells_are_counted():
    """An empty cell is all pools: a file of 100 kB would ask for 80 million places."""
    pools = "|".join(map(str, range(8000)))
    rows = "".join(f"{number},0,1,1,\n" for number in range(10_000))
    text = f"id,lower,upper,size,pool\nx,0,1,1,{pools}\n{rows}"
    message = (
        "in.csv: 10001 buffers may be in 80008000 places, counting each pool that may hold each; "
        "at most 10000000 are read; name fewer pools for each buffer"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_csv("in.csv", text.encode())
