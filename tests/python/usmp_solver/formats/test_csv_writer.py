"""Plans as CSV files."""

from __future__ import annotations

import pytest

from usmp_solver import Buffer, Pool, Problem, solve, write_csv
from usmp_solver.formats.csv_reader import parse_csv


def written(text, capacity=None):
    given = parse_csv("f.csv", text.encode(), capacity)
    return write_csv(given, solve(given.problem))


MEMORY = (Pool("memory"),)


def of_problem(*buffers, pools=MEMORY):
    problem = Problem.from_buffers(buffers, pools)
    return write_csv(problem, solve(problem, algorithm="exact"))


def test_lines_of_a_plain_file_stay_as_they_are():
    text = "id,lower,upper,size\n a ,0,2, 8\nb,2,4,8\n"
    expected = "id,lower,upper,size,offset\n a ,0,2, 8,0\nb,2,4,8,0\n"
    assert written(text) == written(text.replace("\n", "\r\n")) == expected
    assert written("\ufeff" + text.removesuffix("\n")) == expected
    assert written(text, 64) == expected


def test_other_files_are_written_anew():
    text = 'id, lower,upper,size\n\n"a,1",0,2, 8\n , ,,\nb,2,4,8\n'
    assert written(text) == 'id,lower,upper,size,offset\n"a,1",0,2,8,0\nb,2,4,8,0\n'


def test_offsets_that_are_there_are_overwritten():
    text = "id,offset,lower,upper,size\na,,0,2,8\nb,16,0,2,8\n"
    assert written(text) == "id,offset,lower,upper,size\na,0,0,2,8\nb,16,0,2,8\n"


def test_the_pool_is_written_where_there_is_a_choice():
    text = "id,lower,upper,size\na,0,2,8\nb,0,2,8\n"
    result = written(text, {"p": 8, "q": 8})
    assert result.splitlines()[0] == "id,lower,upper,size,pool,offset"
    assert sorted(line.split(",", 4)[4] for line in result.splitlines()[1:]) == ["p,0", "q,0"]
    text = "id,pool,lower,upper,size\na,p|q,0,2,8\nb,q,0,2,8\n"
    assert written(text, {"p": 4, "q": 16}).splitlines()[1].startswith("a,q,0,2,8,")
    only = "id,pool,lower,upper,size\na,p,0,2,8\n"
    assert written(only) == "id,pool,lower,upper,size,offset\na,p,0,2,8,0\n"


def test_a_problem_that_comes_from_no_file():
    plain = of_problem(Buffer("a", 8, [(0, 2)]), Buffer("b", 8, [(2, 5)]))
    assert plain == "id,lower,upper,size,offset\na,0,2,8,0\nb,2,5,8,0\n"
    gaps = [(7, 9), (0, 2), (1, 4), (4, 5)]
    many = of_problem(
        Buffer("a", 8, gaps, alignment=4, pools=["q"]),
        Buffer("b", 16, [(5, 7)], pools=["p"], offset=3),
        pools=(Pool("p"), Pool("q")),
    )
    assert many == (
        "id,lower,upper,size,alignment,gaps,pool,offset\na,0,9,8,4,5-7,q,0\nb,5,7,16,1,,p,3\n"
    )
    again = parse_csv("f.csv", many.encode()).problem
    assert again.fixed_offsets.tolist() == [0, 3]
    several = of_problem(Buffer("a", 8, [(0, 1), (3, 4), (6, 7)]), Buffer("b", 8, [(0, 9)]))
    assert several.splitlines()[1].startswith("a,0,7,8,1-3 4-6,")


def test_problems_without_columns_for_it_are_refused():
    live = [(0, 2)]
    a = Buffer("a", 8, live)
    with pytest.raises(ValueError, match="no column for conflicts"):
        of_problem(a, Buffer("b", 8, [(2, 3)], conflicts=["a"]))
    with pytest.raises(ValueError, match="no column for conflicts"):
        of_problem(a, Buffer("b", 8, [(1, 3)], overlaps={"a": 0}))
    with pytest.raises(ValueError, match='buffer "c" is never live'):
        of_problem(a, Buffer("b", 8, [(0, 1), (2, 3)]), Buffer("c", 8))
