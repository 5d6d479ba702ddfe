"""Problem files of OmniMalloc: what they mean, and plans in the same format."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from usmp_solver import parse_omnimalloc, read_omnimalloc, solve, write_csv
from usmp_solver.formats.buffers_file import parse_buffers

SCALAR = b"id,lower,upper,size,offset,kind\r\n0,0,2,8,,INPUT\r\nb 1,1,3,4,16,\r\n"


def test_a_pool_with_kinds_and_pins(tmp_path):
    (tmp_path / "pool.csv").write_bytes(b"# pool_offset=64\r\n" + SCALAR)
    table = read_omnimalloc(tmp_path / "pool.csv", 32)
    problem = table.problem
    assert list(problem.names) == ["0", "b 1"]
    assert problem.sizes.tolist() == [8, 4]
    assert problem.fixed_offsets.tolist() == [-1, 16]
    assert problem.live_starts.tolist() == [0, 1] and problem.live_stops.tolist() == [2, 3]
    assert [(pool.name, pool.limit) for pool in problem.pools] == [("memory", 32)]
    assert table.where(1) == "line 4"
    assert write_csv(table, solve(problem)) == (
        "# pool_offset=64\nid,lower,upper,size,offset,kind\n0,0,2,8,0,INPUT\nb 1,1,3,4,16,\n"
    )


def test_a_plan_with_vector_clocks_keeps_them():
    data = b"id,lower,upper,size\na,0:0,1:0,4\nb,1:0,1:1,4\nc,0:0,0:2,4\n"
    table = parse_omnimalloc("in.csv", data)
    solution = solve(table.problem)
    assert solution.peak == 8 and solution.is_optimal
    assert write_csv(table, solution).splitlines()[0] == "id,lower,upper,size,offset"
    again = parse_omnimalloc("out.csv", write_csv(table, solution).encode())
    assert again.problem.fixed_offsets.tolist() == solution.offsets.tolist()


CLOCK = st.lists(st.integers(0, 4), min_size=3, max_size=3)


@pytest.mark.slow
@given(st.lists(st.tuples(CLOCK, CLOCK, st.integers(1, 9)), min_size=1, max_size=7))
def test_what_conflicts_is_what_is_not_ordered(rows):
    buffers = []
    for start, length, size in rows:
        end = [a + b for a, b in zip(start, length, strict=True)]
        buffers.append((start, [end[0] + (end == start), *end[1:]], size))
    text = "".join(
        f"{n},{':'.join(map(str, start))},{':'.join(map(str, end))},{size}\n"
        for n, (start, end, size) in enumerate(buffers)
    )
    problem = parse_omnimalloc("in.csv", f"id,lower,upper,size\n{text}".encode()).problem
    pairs = {
        frozenset(pair)
        for pair in zip(
            problem.conflict_firsts.tolist(), problem.conflict_seconds.tolist(), strict=True
        )
    }

    def ranges(buffer):
        of_buffer = slice(problem.live_first[buffer], problem.live_first[buffer + 1])
        return zip(problem.live_starts[of_buffer], problem.live_stops[of_buffer], strict=True)

    def is_ordered(first, second):
        return all(a <= b for a, b in zip(first[1], second[0], strict=True))

    for a, b in combinations(range(len(buffers)), 2):
        is_live_together = any(
            start < other_stop and other_start < stop
            for start, stop in ranges(a)
            for other_start, other_stop in ranges(b)
        )
        conflicts = is_live_together or frozenset((a, b)) in pairs
        one, other = buffers[a], buffers[b]
        assert conflicts == (not is_ordered(one, other) and not is_ordered(other, one))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": the file is empty; its first line must be id,lower,upper,size"),
        (
            b"# pool_offset=x\n" + SCALAR,
            ", line 1: the offset of the pool must be a whole number of bytes, such as "
            "# pool_offset=64",
        ),
        (
            b"id,lower,upper,size,gaps\na,0,1,4,\n",
            ', line 1: the column "gaps" is unknown; known: id, lower, upper, size, offset, kind; '
            "the first line must name the columns",
        ),
        (
            b"id,lower,upper,size\na,-1,1,4\n",
            ', line 2, buffer "a": lower is "-1"; write a whole number that is not negative, or '
            "one for each thread, as 3:0:5",
        ),
        (
            b"id,lower,upper,size\na,0:0,1:1,4\nb,0:0,1,4\n",
            ', line 3, buffer "b": upper has 1 components; all times of a file must have as many '
            "as the first, 2, and at most 1000",
        ),
        (
            b"id,lower,upper,size\na,1:2,1:2,4\n",
            ', line 2, buffer "a": it lives from 1:2 to 1:2, which is no time',
        ),
        (
            b"id,lower,upper,size\na,0:2,1:1,4\n",
            ', line 2, buffer "a": it lives from 0:2 to 1:1, which is no time',
        ),
        (
            b"id,lower,upper,size\na,0,1,0\n",
            ', line 2, buffer "a": its size is 0, but must be 1 or more',
        ),
        (
            b"id,lower,upper,size,kind\na,0,1,4,STATE\n",
            ', line 2, buffer "a": kind is "STATE"; known: WORKSPACE, CONSTANT, INPUT, OUTPUT, or '
            "an empty cell",
        ),
        (
            b"id,lower,upper,size,offset\na,0:1,1:1,4,0\nb,1:0,1:1,4,0\n",
            ', line 3, buffer "b": it is pinned to bytes 0 to 4, and buffer "a" of line 2 to bytes '
            "0 to 4, but both are live at one time; change or empty one of the offsets",
        ),
    ],
)
def test_what_is_wrong_is_named(data, message):
    with pytest.raises(ValueError) as caught:
        parse_omnimalloc("in.csv", data)
    assert str(caught.value) == f"in.csv{message}"


@pytest.mark.slow
def test_too_many_vector_clocks_to_compare_are_refused():
    rows = "".join(f"{n},0:{n},1:{n + 1},4\n" for n in range(20_001))
    with pytest.raises(ValueError, match=r"20001 buffers with vector clocks are too many"):
        parse_omnimalloc("in.csv", f"id,lower,upper,size\n{rows}".encode())


@given(st.binary(max_size=60) | st.lists(st.sampled_from([*"0123:,\n\"# -ab", "1:2"])).map(
    lambda words: ("id,lower,upper,size,offset\n" + "".join(words)).encode()
))  # fmt: skip
@example(b"# pool_offset=")
@example(b"id,lower,upper,size\na,0:,1:1,4\n")
def test_nothing_but_a_value_error_comes_out(data):
    for parse in (parse_omnimalloc, parse_buffers):
        try:
            parse("in.csv", data)
        except ValueError as error:
            assert str(error).startswith("in.csv")
