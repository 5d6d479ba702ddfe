"""Segments of operators that access memory alike are scheduled once, and others are not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tvm import tirx

from support import levels, random_streamed_graphs
from support.random_streamed_graphs import draw_streamed
from support.streamed_graphs import main_function, module, operator
from usmp.analysis.memory.facts import module_facts, shared_facts
from usmp.planning.streaming import operator_loop
from usmp.planning.streaming.operator_loop import LoopAccesses
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.reading import Maker, Reading
from usmp.planning.streaming.scheduler import what_is_scheduled
from usmp.planning.streaming.segment_bytes import segment_bytes
from usmp.support.found import Found

TENSORS = [("p", 24, "int8"), ("q", 24, "int8")]
GRID = "for i, j in T.grid(6, 4):\n    "
COPY = GRID + "Q[i * 4 + j] = P[i * 4 + j]"


def loop_of(body):
    facts = module_facts(module(operator("f", TENSORS, body))).of("f")
    found = operator_loop.operator_loop(facts)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("body", "rows_differ", "columns_differ"),
    [
        (GRID + "Q[i * 4 + j] = P[i * 4 + j] * T.int8(3)", False, False),
        (GRID + "Q[i * 4 + 3 - j] = P[i * 4 + j]", False, True),
        (GRID + "Q[i * 4 + j] = P[20 - i * 4 + j]", True, True),
        (GRID + "Q[20 - i * 4 + j] = P[i * 4 + j]", True, True),
        (GRID + "P[i * 4 + j] = Q[i * 4 + j]", True, True),
        (GRID + "Q[i * 4 + j] = P[T.Cast('int32', P[i])]", True, True),
        (
            "for i, j in T.grid(6, 2):\n"
            "    Q[i * 4 + j * 2] = P[i * 4 + j * 2]\n"
            "    Q[i * 4 + j * 2 + 1] = P[i * 4 + j * 2 + 1]",
            True,
            True,
        ),
        ("for i, j in T.grid(3, 8):\n    Q[i * 8 + j] = P[i * 8 + j]", True, True),
    ],
)
def test_accesses_of_loops(body, rows_differ, columns_differ):
    with shared_facts():
        first, other = loop_of(COPY), loop_of(body)
        assert (first.accesses is not other.accesses) == rows_differ
        by_columns = first.accesses_by_columns, other.accesses_by_columns
        assert (by_columns[0] is not by_columns[1]) == columns_differ


def reading(of_maker=None, reader=6, parameter=1, tensor="a"):
    maker = replace(Maker(5, 1, 6, 4), **of_maker or {})
    return Reading(maker, reader, None, parameter, TENSOR[tensor])


TENSOR = {name: tirx.decl_buffer((24,), "int8", name) for name in "ab"}
SIZES = {TENSOR["a"]: 24, TENSOR["b"]: 12}


@pytest.mark.parametrize(
    "other",
    [
        ([reading({"operator": 4})], 5, SIZES),
        ([reading({"parameter": 0})], 5, SIZES),
        ([reading({"step_bytes": None})], 5, SIZES),
        ([reading(reader=7)], 5, SIZES),
        ([reading(parameter=0)], 5, SIZES),
        ([reading(tensor="b")], 5, SIZES),
        ([reading()], 5, {**SIZES, TENSOR["a"]: 20}),
        ([reading(), reading()], 5, SIZES),
        ([], 5, SIZES),
    ],
)
def test_what_is_scheduled(other):
    first = what_is_scheduled([reading()], 5, SIZES)
    elsewhere = [reading({"operator": 1}, reader=2)]
    assert what_is_scheduled(elsewhere, 1, SIZES) == first
    assert what_is_scheduled(*other) != first


KINDS = ("elementwise", "add", "window", "window", "columns", "row_buffer", "split")


class Alike(Random):
    """Draws networks whose operators often have the same shapes."""

    def randint(self, a, b):
        least = (a + b) // 2
        return super().randint(least, min(least + 1, b))

    def choice(self, options):
        if all(isinstance(option, int | str) for option in options) and self.random() < 0.85:
            return options[0]
        return super().choice(options)


class NotShared(Found):
    """Finds each answer again."""

    def once(self, what, find):
        return find()


def segments_of(mod):
    """All segments, by rows and by columns, and what they take."""
    main = streamed_main(mod, more_percent=50.0)
    found = {}
    if main is None:
        return found
    count = len(main.operators)
    for start, stop in ((a, b) for a in range(count) for b in range(a + 2, count + 1)):
        segment = main.segment(start, stop)
        for way in () if segment is None else (segment, main.with_columns(start, stop)):
            if way is not None:
                rings = {memory.name: ring for memory, ring in way.rings.items()}
                when = way.interleaving
                key = start, stop, when.columns
                taken = segment_bytes(main, start, way)
                found[key] = when.timings, when.ticks, rings, taken
    return found


def chain(middle):
    """A copy, an operator, a copy."""
    functions = [operator("copy", TENSORS, COPY), operator("middle", TENSORS, middle)]
    calls = ["copy x a", "middle a b", "copy b y"]
    tensors = [("a", 24, "int8"), ("b", 24, "int8")]
    return module(*functions, main_function([("x", "int8"), ("y", "int8")], tensors, calls))


def test_segments_that_differ_in_one_operator():
    below = GRID + "Q[i * 4 + j] = P[i * 4 + j] + P[T.min(i + 1, 5) * 4 + j]"
    with shared_facts():
        plain, shifted = (segments_of(chain(middle)) for middle in (COPY, below))
    assert plain[0, 3, 1][2]["a"].places < shifted[0, 3, 1][2]["a"].places


def test_segments_of_random_networks(monkeypatch):
    """Found together with those of other networks, they are those that are found alone."""
    # Those of which operators can be alike.
    kinds = [getattr(random_streamed_graphs, f"_{kind}") for kind in KINDS]
    monkeypatch.setattr(random_streamed_graphs, "_KINDS", kinds)
    seeds = range(levels.number(30, 200))
    mods = [draw_streamed(Alike(seed), counted=False).mod for seed in seeds]
    with shared_facts():
        together = [segments_of(mod) for mod in mods]
    monkeypatch.setattr(operator_loop, "LoopAccesses", lambda: LoopAccesses(NotShared()))
    alone = [segments_of(mod) for mod in mods]
    assert together == alone
    assert sum(map(len, alone)) > 100
