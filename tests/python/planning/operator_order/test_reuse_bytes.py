"""Bytes that a call saves if one tensor takes the place of another."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from usmp.planning.operator_order.graph import GraphTensor
from usmp.planning.operator_order.reuse_bytes import MemoryOfCallee, ReuseBytes


def reuse(sizes, memories, distances) -> ReuseBytes:
    """Tensors with the memories of a PrimFunc in which a written one may begin so far behind the
    begin of a dying one: (dying, written) -> bytes."""
    overlap = SimpleNamespace(relative_distance=lambda y, x: distances[y, x])
    return ReuseBytes(SimpleNamespace(overlap=overlap), memories, list(map(GraphTensor, sizes)))


def part(name: str, byte_offset: int = 0) -> MemoryOfCallee:
    return MemoryOfCallee(name, byte_offset)


@pytest.mark.parametrize(
    ("sizes", "distance", "expected"),
    [
        ((64, 64), 0, 64),
        ((64, 64), -10, 64),
        ((64, 64), 4, 60),
        ((64, 64), 64, 0),
        ((64, 64), 100, 0),
        ((100, 64), 4, 60),
        # No more than what dies.
        ((32, 64), 4, 32),
        ((32, 64), 40, 24),
    ],
)
def test_what_lies_over_a_dying_tensor_is_saved(sizes, distance, expected):
    shared = reuse(sizes, {0: [part("a")], 1: [part("b")]}, {("a", "b"): distance, ("b", "a"): 63})
    assert shared[0, 1] == expected
    assert shared[1, 0] == max(0, min(sizes[1], sizes[0] - 63))


@pytest.mark.parametrize(
    ("dying", "written", "expected"),
    [
        ([part("a")], [part("b", 8)], 100 - 13),
        ([part("a", 3)], [part("b")], 100 - 2),
        ([part("a", 3)], [part("b", 8)], 100 - 10),
        # The parts that must be farthest apart decide.
        ([part("a"), part("c")], [part("b")], 100 - 20),
        ([part("a"), part("c", 18)], [part("b")], 100 - 5),
    ],
)
def test_parts_of_tensors_have_offsets(dying, written, expected):
    shared = reuse((100, 100), {0: dying, 1: written}, {("a", "b"): 5, ("c", "b"): 20})
    assert shared[0, 1] == expected


def test_each_pair_of_different_tensors_is_there():
    distances = {(y, x): 0 for y in "abc" for x in "abc"}
    shared = reuse((1, 2, 3), {n: [part("abc"[n])] for n in range(3)}, distances)
    assert list(shared) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert len(shared) == 6
    assert shared.get((1, 1)) is None
    assert shared.get((0, 3)) is None
    assert dict(shared)[2, 1] == 2
