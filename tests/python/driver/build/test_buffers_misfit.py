"""What `tvmc plan --buffers` says where buffers do not fit: what is needed, by which, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from usmp.driver.build.buffers_misfit import misfit
from usmp_solver import Status, solve
from usmp_solver.formats.buffers_file import parse_buffers

CSV = "id,lower,upper,size\na,0,4,8\nb,2,6,8\nc,4,8,4\n"
POOLS = "id,lower,upper,size,pool\na,0,4,8,fast|big\nb,2,6,8,fast|big\n"


def table_of(csv=CSV, capacity=12):
    return parse_buffers("f.csv", csv.encode(), capacity)


def unsolved(table, **known):
    """A solution without a plan."""
    facts = {"lower_bounds": {p.name: 0 for p in table.problem.pools}, "infeasible_subset": ()}
    facts |= {"status": Status.UNKNOWN, "is_irreducible": False, "peaks": {}}
    free = tuple(replace(pool, limit=None) for pool in table.problem.pools)
    some = solve(replace(table.problem, pools=free), algorithm="no_sharing")
    return replace(some, **{"problem": table.problem, **facts, **known})


class Other:
    """Solves with other limits as it is told: by the pools whose limit it lifts."""

    def __init__(self, **answers):
        self._answers = {tuple(key.split("_and_")): value for key, value in answers.items()}
        self.asked = []

    def __call__(self, problem):
        lifted = tuple(pool.name for pool in problem.pools if pool.limit is None)
        self.asked.append(lifted)
        status, peaks = self._answers.get(lifted, (Status.UNKNOWN, {}))
        free = replace(problem, pools=tuple(replace(p, limit=None) for p in problem.pools))
        return replace(solve(free, algorithm="no_sharing"), status=status, peaks=peaks)


def message(table, algorithm="auto", other=None, **known):
    return str(misfit(table, unsolved(table, **known), algorithm, other or Other()))


def only_pool(table):
    (pool,) = table.problem.pools
    return pool.name


def needs(table, peak, status=Status.OPTIMAL):
    name = only_pool(table)
    return Other(**{name: (status, {name: peak})})


def test_a_bound_that_is_too_large_is_said():
    table = table_of()
    bounds = {only_pool(table): 13}
    text = message(table, "greedy_by_size", needs(table, 16), lower_bounds=bounds)
    assert text == (
        "f.csv: the buffers do not fit into 12 bytes; at least 13 bytes are needed; a capacity of "
        "16 bytes is needed.\nRaise the capacity; --usmp-algorithm=auto names buffers that do not "
        "fit together."
    )
    # The capacity itself is no proof.
    bounds = {only_pool(table): 12}
    assert "no plan was found within 12 bytes" in message(table, lower_bounds=bounds)


@pytest.mark.parametrize(
    ("algorithm", "advice"),
    [
        ("auto", "Give it more time with --usmp-time-budget, or raise the capacity."),
        ("exact", "Give it more time with --usmp-time-budget, or raise the capacity."),
        ("greedy_by_size", "Try --usmp-algorithm=auto, or raise the capacity."),
    ],
)
def test_where_nothing_is_proved_the_advice_is_another_search(algorithm, advice):
    text = message(table_of(), algorithm)
    assert text == (
        "f.csv: no plan was found within 12 bytes, nor a proof that there is none; at least 0 "
        f"bytes are needed.\n{advice}"
    )


def test_without_a_limit_none_is_named():
    text = message(table_of(capacity=None))
    assert text.startswith("f.csv: no plan was found, nor a proof that there is none")


@pytest.mark.parametrize(
    ("subset", "together"),
    [
        ((0,), "the buffer a (line 2, 8 bytes)"),
        ((0, 1), "the 2 buffers a (line 2, 8 bytes), b (line 3, 8 bytes)"),
    ],
)
def test_buffers_that_do_not_fit_are_named_with_their_lines(subset, together):
    table = table_of()
    text = message(table, other=needs(table, 16), infeasible_subset=subset)
    start = "f.csv: the buffers do not fit into 12 bytes; a capacity of 16 bytes is needed; there "
    assert text.startswith(f"{start}is no space for {together}")
    assert text.endswith("\nRaise the capacity, or shrink, shorten or move one of these buffers.")
    known = {"infeasible_subset": subset, "is_irreducible": True}
    text = message(table, other=needs(table, 16), **known)
    assert text.endswith("one of these buffers; without any one of these the others fit.")


def test_twenty_buffers_are_named():
    def text(count):
        rows = "".join(f"b{n},0,1,4\n" for n in range(count))
        table = table_of(f"id,lower,upper,size\n{rows}", 8)
        found = message(table, other=needs(table, 16), infeasible_subset=tuple(range(count)))
        assert f"the {count} buffers b0 (" in found
        return found

    assert "b19 (line 21, 4 bytes), which take 80" in text(20)
    assert "b19 (line 21, 4 bytes) and 3 more, which take" in text(23)


@pytest.mark.parametrize(
    ("csv", "subset", "load"),
    [
        (CSV, (0, 1), ", which take 16 bytes at time 2."),
        (CSV, (1, 2), ", though they take no more than 12 bytes at any one time."),
        (CSV, (0, 1, 2), ", which take 16 bytes at time 2."),
        # The end of one is the beginning of the next.
        (CSV, (0, 2), ", though they take no more than 8 bytes at any one time."),
        (CSV, (0,), "8 bytes)."),
    ],
)
def test_the_most_live_bytes_of_them_are_said(csv, subset, load):
    table = table_of(csv)
    text = message(table, other=needs(table, 16), infeasible_subset=subset)
    assert text.split("\n")[0].endswith(load)


def test_the_load_of_several_pools_is_at_no_one_time():
    table = table_of(POOLS, {"fast": 8, "big": 8})
    text = message(table, infeasible_subset=(0, 1), other=Other(big=(Status.FEASIBLE, {"big": 16})))
    assert "fast (8 bytes), big (8 bytes); --capacity big=16 would be enough" in text
    assert "take" not in text


def test_a_capacity_that_is_enough_is_needed_only_if_that_is_proved():
    table = table_of()
    needed = message(table, other=needs(table, 16))
    assert "; a capacity of 16 bytes is needed." in needed
    enough = message(table, other=needs(table, 16, Status.FEASIBLE))
    assert "; a capacity of 16 bytes would be enough." in enough


def test_of_several_pools_the_last_is_raised_first():
    table = table_of(POOLS, {"fast": 8, "big": 8})
    answers = {
        "big": (Status.OPTIMAL, {"fast": 0, "big": 16}),
        "fast": (Status.OPTIMAL, {"fast": 12, "big": 4}),
        "fast_and_big": (Status.OPTIMAL, {"fast": 8, "big": 8}),
    }
    other = Other(**answers)
    assert "; --capacity big=16 is needed" in message(table, other=other)
    assert other.asked == [("big",)]
    del answers["big"]
    assert "; --capacity fast=12 is needed" in message(table, other=Other(**answers))
    del answers["fast"]
    other = Other(**answers)
    # Other capacities of both might be less.
    assert "; --capacity fast=8 --capacity big=8 would be enough" in message(table, other=other)
    assert other.asked == [("big",), ("fast",), ("fast", "big")]


def test_a_pool_without_a_limit_is_not_raised():
    table = table_of(POOLS, {"fast": 8})
    other = Other(fast_and_big=(Status.FEASIBLE, {"fast": 12, "big": 0}))
    text = message(table, other=other)
    assert "within fast (8 bytes), big (no limit)" in text
    assert "--capacity fast=12 would be enough" in text
    assert other.asked == [("fast", "big")]


def test_nothing_is_said_of_a_capacity_that_was_not_found():
    table = table_of()
    text = message(table, infeasible_subset=(0, 1))
    assert text.startswith("f.csv: the buffers do not fit into 12 bytes; there is no space for")


@pytest.mark.parametrize(
    ("offsets", "why", "advice"),
    [
        (("", ""), ", which end beyond 64 bits", "Shrink, shorten or move one of them."),
        (("", "4"), "", "Change or empty the offset of one of them."),
        (("0", ""), "", "Change or empty the offset of one of them."),
    ],
)
def test_buffers_that_no_capacity_holds_are_pinned_or_too_large(offsets, why, advice):
    rows = "".join(f"{name},0,1,8,{offset}\n" for name, offset in zip("ab", offsets, strict=True))
    table = table_of(f"id,lower,upper,size,offset\n{rows}", 32)
    other = Other(**{only_pool(table): (Status.INFEASIBLE, {})})
    text = message(table, other=other, infeasible_subset=(0, 1))
    start, end = text.split("\n")
    assert start.startswith("f.csv: whatever the capacity, there is no space for the 2 buffers a (")
    assert start.endswith(f"){why}.") and end == advice
    for name, offset in zip("ab", offsets, strict=True):
        assert (f"{name} (line" in start) and (f"pinned to {offset})" in start or not offset)


def test_without_limits_no_capacity_helps():
    table = table_of(capacity=None)
    other = Other(**{only_pool(table): (Status.INFEASIBLE, {})})
    text = message(table, other=other, infeasible_subset=(0, 1))
    assert text.startswith("f.csv: whatever the capacity")
