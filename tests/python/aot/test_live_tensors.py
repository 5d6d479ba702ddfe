"""How many bytes of tensors live through the calls of a main function."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import GlobalVar, PrimType

from usmp.aot.live_tensors import LiveBytes
from usmp.aot.main_calls import MainCalls

F = GlobalVar("f")
SIZES = {"a": 10, "b": 100, "c": 1000, "d": 10_000}


class Program:
    """Calls that take tensors by name, of int16 elements."""

    def __init__(self, *calls: str) -> None:
        self.tensors = {n: tirx.decl_buffer((size,), "int16", n) for n, size in SIZES.items()}
        n = tirx.Var("n", PrimType("int32"))
        self.tensors["s"] = tirx.decl_buffer((n,), "int16", "s")
        self.calls = MainCalls()
        self.tensors["v"] = self.calls.part("v", self.tensors["d"], 4, self.tensors["a"])
        for names in calls:
            self.calls.append(F, [self.tensors[name] for name in names], [])

    def live(self, counted: str, kept: str = "", throughout: str = "") -> LiveBytes:
        chosen = ({self.tensors[name] for name in names} for names in (counted, kept, throughout))
        return LiveBytes.of(self.calls, *chosen)


@pytest.mark.parametrize(
    ("calls", "counted", "kept", "throughout", "elements"),
    [
        (["a", "ab", "bc", "c"], "abc", "", "", 1100),
        (["a", "b", "a"], "ab", "", "", 110),
        (["a", "b", "c"], "abc", "", "", 1000),
        # Kept tensors live on, others live always.
        (["a", "b", "c"], "abc", "b", "", 1100),
        (["a", "b", "c"], "abc", "a", "", 1010),
        (["c", "b", "a"], "abc", "", "a", 1010),
        (["c", "b", "a"], "abc", "", "b", 1100),
        (["c", "b", "a"], "abc", "a", "", 1000),
        # Others do not count, nor do sizes that are symbolic.
        (["abc"], "b", "", "", 100),
        (["abc"], "", "abc", "", 0),
        (["as"], "as", "", "", 10),
        # A view is the tensor that it lies in.
        (["v", "a", "d"], "ad", "", "", 10_010),
        (["a", "v"], "av", "", "", 10),
        (["d", "a", "v", "c"], "acd", "", "", 10_010),
    ],
)
def test_the_most_bytes_that_live_through_a_call(calls, counted, kept, throughout, elements):
    assert Program(*calls).live(counted, kept, throughout).peak() == 2 * elements


def test_no_calls():
    assert Program().live("abc", "a", "b").peak() == 0


def test_changes_are_by_call():
    live = Program("a", "ab", "bc", "c").live("abc", kept="c")
    assert live.changes == [20, 200, 2000 - 20, -200, -2000]
    assert {b.name: positions for b, positions in live.mentions.items()} == {
        "a": {0, 1},
        "b": {1, 2},
        "c": {2, 3},
    }


def test_a_tensor_that_lies_in_another_one_is_as_long_as_both():
    """The call at which the one was copied to the other is not made any more."""
    program = Program("a", "b", "ab", "d", "b")
    live = program.live("abd")
    a, b = program.tensors["a"], program.tensors["b"]
    merged = live.merged(a, b, 2)
    assert merged.changes == [200, 0, 0, 20_000, -20_000, -200]
    assert (merged.peak(), live.peak()) == (20_200, 20_200)
    assert b in merged.mentions and a not in merged.mentions
    assert merged.mentions[b] == {0, 1, 4}
    # What was before is not changed.
    assert live.changes == [20, 200, 0, 20_000 - 20, -20_000, -200]
    assert live.mentions[b] == {1, 2, 4}


def test_at_the_gap_of_a_copy_no_more_is_live():
    program = Program("a", "ab", "b")
    merged = program.live("ab").merged(program.tensors["a"], program.tensors["b"], 1)
    assert merged.peak() == 200
