"""What metadata.json says of operators: their memory, and the model file's operators."""

from __future__ import annotations

import pytest

from usmp.codegen.interface.emitted_calls import EmittedCall
from usmp.codegen.metadata.operators import operators_metadata, peak_operator
from usmp.objects import (
    BufferInfoKind,
    LiveRange,
    MemoryPlan,
    PlacedBuffer,
    PlannedOperator,
)
from usmp.tir.model_operator import ModelOperator


def buffer(name, *live, size=4, pool="sram"):
    ranges = [LiveRange(*one) for one in live]
    kind = int(BufferInfoKind.INTERMEDIATE)
    return PlacedBuffer(name, "main", kind, pool, 0, size, 4, ranges, [])


def plan(buffers=(), operators=()):
    planned = [PlannedOperator("main", *o, *([[], []] if len(o) == 2 else [])) for o in operators]
    return MemoryPlan("auto", 0, list(buffers), operators=planned)


def call(*origins, entry="main", name="f"):
    return EmittedCall(entry, [name], [], [], [], model_operators=origins)


@pytest.mark.parametrize(
    ("operators", "live", "expected"),
    [
        # Without buffers there is no peak.
        ([(0, 2)], [], None),
        # Positions are half-open: what ends at 2 is not live in the operator from 2 on.
        ([(0, 2), (2, 4)], [[(1, 2)]], 0),
        ([(0, 2), (2, 4)], [[(2, 3)]], 1),
        ([(0, 2), (2, 4)], [[(4, 5)]], None),
        # All are live together only at 3.
        ([(0, 2), (2, 4), (4, 6)], [[(0, 4)], [(3, 6)]], 1),
        # They meet nowhere.
        ([(0, 2), (2, 4)], [[(0, 2)], [(2, 4)]], None),
        # The first operator of those that run then.
        ([(0, 2), (2, 4), (4, 6)], [[(0, 6)]], 0),
        ([(0, 2), (2, 4), (4, 6)], [[(0, 1), (5, 6)], [(4, 6)]], 2),
        # A buffer that is live after all operators.
        ([(0, 1)], [[(0, 9)]], 0),
        # Positions may begin behind zero.
        ([(5, 9)], [[(0, 6)]], 0),
        ([(8, 9)], [[(8, 9)]], 0),
        ([], [[(0, 9)]], None),
    ],
)
def test_the_operator_at_the_peak_is_the_first_in_which_all_are_live(operators, live, expected):
    buffers = [buffer(str(n), *ranges) for n, ranges in enumerate(live)]
    assert peak_operator(plan(buffers, operators), buffers) == expected


def test_operators_are_said_with_their_memory():
    buffers = [
        buffer("x", (0, 2), size=3),
        buffer("y", (1, 4), size=5),
        buffer("z", (3, 4), size=7, pool="fast"),
        buffer("w", (0, 4), size=11, pool="flash"),
        buffer("v", (0, 4), size=13, pool="flash"),
    ]
    operators = [
        (0, 2, ["x", "w", "v", "gone"], ["y", "gone"]),
        (2, 4, ["y"], ["z"]),
    ]
    said = operators_metadata([call(), call()], {}, plan(buffers, operators), ["flash"])
    first, second = said["operators"]
    assert (first["start"], first["stop"]) == (0, 2)
    assert first["live_bytes"] == {"fast": 0, "sram": 8}
    assert list(first["live_bytes"]) == ["fast", "sram"]
    assert first["weights_size_bytes"] == 24
    assert first["buffers"] == {"read": ["x", "w", "v"], "written": ["y"]}
    assert second["live_bytes"] == {"fast": 7, "sram": 5}
    assert second["weights_size_bytes"] == 0


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [(0, 1, 0), (0, 3, 2), (1, 3, 2), (2, 3, 2), (3, 4, 6), (4, 5, 2), (2, 9, 6), (5, 9, 0)],
)
def test_live_bytes_are_the_most_at_a_position_of_the_operator(start, stop, expected):
    buffers = [buffer("a", (2, 5), size=2), buffer("b", (3, 4), size=4)]
    said = operators_metadata([call()], {}, plan(buffers, [(start, stop)]), [])
    assert said["operators"][0]["live_bytes"] == {"sram": expected}


def test_operators_without_a_plan_are_said_without_memory():
    said = operators_metadata([call(), call()], {}, plan([], [(0, 1)]), [])
    assert [set(operator) & {"start", "live_bytes"} for operator in said["operators"]] == [
        set(),
        set(),
    ]


def test_operators_of_the_file_are_in_its_order_entry_by_entry():
    def operator(index, graph=0):
        return ModelOperator(index, f"T{graph}{index}", (), (), graph=graph)

    of_models = {"b": (operator(1), operator(0, 1)), "a": (operator(0),)}
    # The second call computes an operator that the table of the file lacks.
    calls = [
        call(operator(0, 1), operator(1), entry="b"),
        call(operator(2), operator(0), entry="a"),
        call(entry="a"),
    ]
    said = operators_metadata(calls, of_models, plan(), [])
    listed = [(each["entry"], each["type"]) for each in said["model_operators"]]
    assert listed == [("b", "T01"), ("b", "T10"), ("a", "T00"), ("a", "T02")]
    assert [each["model_operators"] for each in said["operators"]] == [[1, 0], [3, 2], []]
