"""`tvmc plan --buffers`: the buffers of another compiler, in MiniMalloc's CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from support.children import TVMC, run
from support.plan_rule import faults
from usmp_solver import Buffer, Pool, Problem, parse_csv, read_csv
from usmp_solver.library import function

EXAMPLE = """\
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
"""
BUFFERS = [
    Buffer("b1", 4, [(0, 3)]),
    Buffer("b2", 4, [(3, 9)]),
    Buffer("b3", 4, [(0, 9)]),
    Buffer("b4", 4, [(9, 21)]),
    Buffer("b5", 4, [(0, 21)]),
]


@pytest.fixture
def example(tmp_path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(EXAMPLE)
    return path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def columns(problem: Problem) -> dict[str, list[int]]:
    return {name: values.tolist() for name, values in problem.columns().items()}


def problem_of(text: str, capacity=None) -> Problem:
    return parse_csv("in.csv", text.encode(), capacity).problem


@pytest.mark.parametrize("capacity", ["12", "0xC", "1K", "1KiB", "1 MB"])
def test_csv_has_the_columns_of_the_input_and_offsets(tvmc, example, capacity):
    outcome = tvmc("plan", "--buffers", example, "--capacity", capacity, "--format=csv")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert [line.rpartition(",")[0] for line in outcome.stdout.splitlines()] == EXAMPLE.splitlines()
    places = {row["id"]: ("", int(row["offset"])) for row in rows(outcome.stdout)}
    assert faults(BUFFERS, places) == []
    assert max(offset for _, offset in places.values()) + 4 == 12


def test_json(tvmc, example):
    outcome = tvmc("plan", "--buffers", example, "--format=json", "--usmp-algorithm=exact")
    plan = json.loads(outcome.stdout)
    pool = {
        "name": "memory",
        "capacity_bytes": None,
        "peak_bytes": 12,
        "lower_bound_bytes": 12,
    }
    assert (plan["algorithm"], plan["is_optimal"], plan["pools"]) == ("exact", True, [pool])
    places = {buffer["id"]: (buffer["pool"], buffer["offset"]) for buffer in plan["buffers"]}
    assert faults(BUFFERS, places) == []
    assert [buffer["size"] for buffer in plan["buffers"]] == [4] * 5


def test_table(tvmc, example):
    outcome = tvmc("plan", "--buffers", example, "--capacity=16")
    words = " ".join(outcome.stdout.split())
    assert "pool peak bytes lower bound peak / bound capacity" in words
    assert "memory 12 12 1.000 16" in words
    assert outcome.stdout.endswith("5 buffers are placed; the plan is optimal: proved.\n")


def test_plan_that_is_not_proved(tvmc, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,lower,upper,size\na,0,2,4\nb,3,4,4\n")
    outcome = tvmc("plan", "--buffers", path, "--usmp-algorithm=no_sharing")
    words = " ".join(outcome.stdout.split())
    assert "memory 8 4 2.000 -" in words
    assert words.endswith(
        "whether the plan is optimal is not proved; --usmp-algorithm=auto may find a better one."
    )


@pytest.mark.parametrize("shown_as", ["json", "csv", "table"])
def test_file_has_what_stdout_would(tvmc, example, shown_as):
    shown = tvmc("plan", "--buffers", example, "--format", shown_as).stdout
    assert tvmc("plan", "--buffers", example, "-o", f"plan.{shown_as}").stdout == ""
    assert os.listdir() == [f"plan.{shown_as}"]
    assert Path(f"plan.{shown_as}").read_text().split() == shown.split()


@pytest.mark.slow
def test_stdin(example):
    with open(example) as stdin:
        command = (TVMC, "plan", "--buffers", "-", "--format=csv")
        done = run(*command, stdin=stdin, check=True)
    assert len(rows(done.stdout)) == 5


@pytest.mark.slow
def test_it_loads_no_tvm_and_no_pytorch(example):
    script = (
        "import sys; sys.argv[0] = 'tvmc'\n"
        "from usmp.driver.tvmc import main\n"
        f"assert main(['plan', '--buffers', {str(example)!r}]) == 0\n"
        "assert {'numpy', 'rich', 'tvm_ffi'} <= set(sys.modules)\n"
        "assert not {'torch', 'tvm'} & set(sys.modules)\n"
    )
    run(sys.executable, "-c", script, check=True)


def test_columns_in_any_order_and_by_their_other_names():
    expected = columns(problem_of(EXAMPLE))
    shuffled = "\n".join(
        ",".join([size, name, hint, upper, lower])
        for name, lower, upper, size, hint in [
            ("buffer_id", "begin", "upper", "SIZE", "hint"),
            *([*row.values(), "-1"] for row in rows(EXAMPLE)),
        ]
    )
    assert columns(problem_of(shuffled)) == expected
    inclusive = "\n".join(
        ",".join([name, lower, upper if upper == "end" else str(int(upper) - 1), size])
        for name, lower, upper, size in [
            ("buffer", "start", "end", "size"),
            *(row.values() for row in rows(EXAMPLE)),
        ]
    )
    assert columns(problem_of(inclusive)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + EXAMPLE,
        EXAMPLE.replace("\n", "\r\n"),
        EXAMPLE.rstrip("\n"),
        EXAMPLE.replace("b1", '"b1"'),
        EXAMPLE.replace("0,3,4", " 0 , 3,+4"),
        EXAMPLE.replace("\n", "\n\n"),
        "\n" + EXAMPLE + " \n",
    ],
    ids=["BOM", "CRLF", "no end", "quotes", "blanks", "empty lines", "begins empty"],
)
def test_ways_to_write_a_file(text):
    problem = problem_of(text)
    assert columns(problem) == columns(problem_of(EXAMPLE))
    assert list(problem.names) == ["b1", "b2", "b3", "b4", "b5"]


def test_what_plain_and_other_files_say_is_the_same():
    text = "id,lower,upper,size,alignment,offset,gaps,pool\n" + "".join(
        f"b{i},{-i},{i + 9},{10**i},{alignment},{offset},{gaps},{pool}\n"
        for i, (alignment, offset, gaps, pool) in enumerate(
            [("", "", "", "x"), (4, 8, "1-3", "y|x"), ("", 0, "2-4 6-7", ""), (1, "", "", "y")]
        )
    )
    plain, quoted = problem_of(text), problem_of(text.replace("b3", '"b3"'))
    assert columns(plain) == columns(quoted)
    assert plain.pools == (Pool("y"), Pool("x"))
    assert columns(plain) == {
        "sizes": [1, 10, 100, 1000],
        "alignments": [1, 4, 1, 1],
        "fixed_offsets": [-1, 8, 0, -1],
        "live_first": [0, 1, 3, 6, 7],
        "live_starts": [0, -1, 3, -2, 4, 7, -3],
        "live_stops": [9, 1, 10, 2, 6, 11, 12],
        "candidate_first": [0, 1, 3, 5, 6],
        "candidates": [1, 0, 1, 0, 1, 0],
        "conflict_firsts": [],
        "conflict_seconds": [],
        "overlap_outputs": [],
        "overlap_inputs": [],
        "overlap_distances": [],
        "pool_limits": [-1, -1],
        "pool_is_constant": [0, 0],
    }


def test_gaps():
    def ranges(gaps, header="id,lower,upper,size,gaps"):
        problem = problem_of(f"{header}\na,0,10,8,{gaps}\n")
        return list(zip(problem.live_starts.tolist(), problem.live_stops.tolist(), strict=True))

    assert ranges("2-4 6-7") == [(0, 2), (4, 6), (7, 10)]
    assert ranges("6-7  2-4") == [(0, 2), (4, 6), (7, 10)]
    assert ranges("0-4") == [(4, 10)]
    assert ranges("2-4 4-10") == [(0, 2)]
    assert ranges("2-4@0:8") == [(0, 10)]
    assert ranges("2-4", "id,start,end,size,gaps") == [(0, 2), (5, 11)]


def test_pools(tvmc, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,lower,upper,size,pool\na,0,4,4,fast|slow\nb,2,5,4,\nc,0,9,4,slow\n")
    outcome = tvmc(
        "plan", "--buffers", path, "--capacity=fast=4", "--capacity=slow=1K", "--format=csv"
    )
    buffers = [
        Buffer("a", 4, [(0, 4)], pools=["fast", "slow"]),
        Buffer("b", 4, [(2, 5)]),
        Buffer("c", 4, [(0, 9)], pools=["slow"]),
    ]
    places = {row["id"]: (row["pool"], int(row["offset"])) for row in rows(outcome.stdout)}
    assert faults(buffers, places) == []
    assert sorted(pool for pool, _ in places.values()) == ["fast", "slow", "slow"]
    (tmp_path / "again.csv").write_text(outcome.stdout)
    again = tvmc("plan", "--buffers", tmp_path / "again.csv", "--format=csv").stdout
    assert again == outcome.stdout


def test_order_of_capacities_is_the_order_of_preference():
    text = "id,lower,upper,size,pool\na,0,4,4,slow|fast\n"
    assert problem_of(text, {"fast": 8}).pools == (Pool("fast", 8), Pool("slow"))
    assert problem_of(text.replace("slow|", ""), 8).pools == (Pool("fast", 8),)
    assert problem_of(EXAMPLE, 8).pools == (Pool("memory", 8),)
    assert problem_of(EXAMPLE, {"a": 4, "b": 5}).pools == (Pool("a", 4), Pool("b", 5))


def test_a_plan_that_leaves_a_pool_empty_is_read_again_with_the_same_capacities(tvmc):
    Path("in.csv").write_text("id,lower,upper,size,pool\na,0,4,4,sram|flash\n")
    capacities = ["--capacity=sram=64", "--capacity=flash=64"]
    assert tvmc("plan", "--buffers", "in.csv", *capacities, "-o", "plan.csv").status == 0
    assert Path("plan.csv").read_text() == "id,lower,upper,size,pool,offset\na,0,4,4,sram,0\n"
    assert tvmc("plan", "--buffers", "plan.csv", *capacities).status == 0


def test_without_capacities_the_order_of_the_cells_is_that_of_preference():
    text = "id,lower,upper,size,pool\na,0,4,4,slow\nb,0,4,4,fast|slow\n"
    assert problem_of(text).pools == (Pool("fast"), Pool("slow"))
    assert problem_of(text + "c,0,4,4,slow|fast\n").pools == (Pool("slow"), Pool("fast"))


def test_columns_that_the_plan_fills_in(tvmc, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text('offset,id,lower,upper,size,alignment\n8,"a, b",0,4,4,\n,c,2,5,4,16\n')
    outcome = tvmc("plan", "--buffers", path, "--format=csv")
    assert outcome.stdout.splitlines() == [
        "offset,id,lower,upper,size,alignment",
        '8,"a, b",0,4,4,',
        "0,c,2,5,4,16",
    ]


@pytest.fixture
def ending_search(monkeypatch):
    """Let a search end because its progress asks for it, after a call that may bring that about."""

    def install(before=lambda: None):
        original = function("solve")

        def ended(*arguments):
            *asked, watch = arguments
            before()
            assert watch(12, 8) is False
            return {**original(*asked, lambda *_: True), "status": "feasible"}

        monkeypatch.setattr(
            sys.modules["usmp_solver.solver"],
            "function",
            lambda name: ended if name == "solve" else function(name),
        )

    return install


def test_interrupted_search_gives_the_best_plan_so_far(tvmc, example, ending_search):
    ending_search(lambda: os.kill(os.getpid(), signal.SIGINT))
    outcome = tvmc("plan", "--buffers", example, "--format=csv")
    assert outcome.status == 0
    assert len(rows(outcome.stdout)) == 5
    assert outcome.stderr == (
        "tvmc: the search was interrupted; this is the best plan that it found until then\n"
    )


def test_a_time_budget_that_is_used_up_ends_the_search(tvmc, example, ending_search):
    ending_search()
    outcome = tvmc("plan", "--buffers", example, "--usmp-time-budget=.001ms", "--format=csv")
    assert (outcome.status, len(rows(outcome.stdout)), outcome.stderr) == (0, 5, "")


def test_time_budget(tvmc, example):
    outcome = tvmc("plan", "--buffers", example, "--usmp-time-budget=500ms", "--format=csv")
    assert (outcome.status, len(rows(outcome.stdout))) == (0, 5)


@pytest.mark.models
@pytest.mark.parametrize("letter", "ABCDEFGHIJK")
def test_public_instances_are_read(letter):
    from conftest import SHARED

    path = SHARED / f"instances/minimalloc-{letter}.1048576.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    problem = read_csv(path, 1 << 20).problem
    assert list(problem.names) == [row["id"] for row in rows(path.read_text())]
    assert problem.sizes.sum() == sum(int(row["size"]) for row in rows(path.read_text()))
