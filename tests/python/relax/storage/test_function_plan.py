"""Places of the tensors of one function: which get one, what may overlap, and what plans take."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from tvm import relax

from usmp.analysis.relax_functions.function_memory import (
    CallSite,
    FunctionMemory,
    ManagedTensor,
    TensorArgument,
)
from usmp.relax.storage.function_plan import (
    FunctionPlan,
    Memory,
    Overlap,
    placed_tensors,
    plan_function,
    possible_overlaps,
)
from usmp.relax.storage.operator_memory import OperatorOverlap
from usmp_solver.solver import solve

HOST = Memory(0, "global")
FREE, EXACT, SUMS = (
    OperatorOverlap(0, False, False),
    OperatorOverlap(0, True, False),
    OperatorOverlap(0, False, True),
)


def tensor(start: int, stop: int, first_use: int | None = None, **fields) -> ManagedTensor:
    shape = relax.ShapeExpr([fields.pop("extent", 16)])
    first_use = start if first_use is None else first_use
    dtype = fields.pop("dtype", "float32")
    return ManagedTensor("main.a", shape, 1, dtype, start, stop, first_use=first_use, **fields)


def call(position: int, *arguments: int | TensorArgument | None) -> CallSite:
    """A call of `f`: whole tensors by number, None for what is no tensor of the function."""
    given = [
        each
        if isinstance(each, TensorArgument)
        else TensorArgument(frozenset() if each is None else frozenset([each]), each)
        for each in arguments
    ]
    return CallSite(position, relax.Var("_", relax.AnyType()), "f", tuple(given))


@dataclass
class Operator:
    """An operator that takes offsets, and lets tensors overlap, at these parameters."""

    overlaps: dict
    offsets: tuple[int, ...] = (0, 1, 2, 3)

    def overlap(self, dying: int, written: int) -> OperatorOverlap | None:
        return self.overlaps.get((dying, written))

    def takes_offset(self, index: int) -> bool:
        return index in self.offsets


def bytes_of(each: ManagedTensor) -> int | None:
    extent = int(each.shape.values[0])
    return None if extent == 99 else 4 * extent


BOUNDS = SimpleNamespace(bytes_of=bytes_of)


def test_tensors_that_stay_in_the_function_get_a_place():
    tensors = [
        tensor(0, 2),
        tensor(0, 2, is_output=True),
        tensor(0, 2, is_given_away=True),
        tensor(0, 2, extent=99),
        tensor(0, 2, dtype="float32x3"),
        tensor(0, 2, dtype="float32x2"),
    ]
    memory = FunctionMemory(tensors)
    assert placed_tensors(memory, BOUNDS, {}) == {0: 64, 5: 64}


def test_tensors_get_no_place_where_an_operator_needs_pointers():
    part = TensorArgument(frozenset([2, 3]))
    memory = FunctionMemory([tensor(0, 9)] * 5, calls=[call(1, 0, 1, None, part), call(2, 4)])
    assert placed_tensors(memory, BOUNDS, {"f": Operator({}, (0, 1, 2, 3))}).keys() == set(range(5))
    assert placed_tensors(memory, BOUNDS, {"f": Operator({}, (0, 1, 3))}).keys() == set(range(5))
    assert placed_tensors(memory, BOUNDS, {"f": Operator({}, (0, 3))}).keys() == {0, 2, 3, 4}
    assert placed_tensors(memory, BOUNDS, {"f": Operator({}, (0, 1))}).keys() == {0, 1, 4}
    assert placed_tensors(memory, BOUNDS, {"f": Operator({}, (1, 3))}).keys() == {1, 2, 3}


def overlaps(tensors, made, allowed, sizes=None) -> list[Overlap]:
    memory = FunctionMemory(tensors, calls=[made])
    sizes = dict.fromkeys(range(len(tensors)), 64) if sizes is None else sizes
    return possible_overlaps(memory, sizes, {"f": Operator(allowed)})


DYING, WRITTEN = tensor(1, 5), tensor(2, 9, first_use=4)


def test_what_a_call_writes_may_lie_over_what_dies_in_it():
    found = overlaps([DYING, WRITTEN], call(4, 0, 1), {(0, 1): FREE})
    assert found == [Overlap(1, 0, FREE)]


@pytest.mark.parametrize(
    ("tensors", "made"),
    [
        ([tensor(1, 6), WRITTEN], call(4, 0, 1)),
        ([tensor(1, 4), WRITTEN], call(4, 0, 1)),
        ([DYING, tensor(2, 9, first_use=3)], call(4, 0, 1)),
        # What is written and dies in one call is scratch.
        ([tensor(1, 5, first_use=4), WRITTEN], call(4, 0, 1)),
        ([tensor(1, 5, device_index=1), WRITTEN], call(4, 0, 1)),
        ([tensor(1, 5, scope="local"), WRITTEN], call(4, 0, 1)),
        # Views of a part.
        ([DYING, WRITTEN], call(4, TensorArgument(frozenset([0])), 1)),
        ([DYING, WRITTEN], call(4, 0, TensorArgument(frozenset([1])))),
        ([DYING, WRITTEN], call(4, 1, 0)),
        ([DYING, WRITTEN], call(4, None, 1)),
    ],
)
def test_nothing_else_may_overlap(tensors, made):
    assert overlaps(tensors, made, {(0, 1): FREE}) == []


def test_an_overlap_is_of_bytes():
    """A tensor that must lie below the other by its size or more shares none."""
    for distance in (0, 63, 64, 65):
        allowed = OperatorOverlap(distance, False, False)
        found = overlaps([DYING, WRITTEN], call(4, 0, 1), {(0, 1): allowed})
        assert [each.allowed.distance for each in found] == [distance] * (distance < 64)
    found = overlaps([DYING, WRITTEN], call(4, 0, 1), {(0, 1): FREE}, {1: 64})
    assert found == []


def test_a_tensor_that_is_given_twice_overlaps_as_the_strictest_allows():
    near, far = OperatorOverlap(4, True, False), OperatorOverlap(8, False, True)
    both = {(0, 2): near, (1, 2): far}
    [found] = overlaps([DYING, WRITTEN], call(4, 0, 0, 1), both)
    assert found == Overlap(1, 0, OperatorOverlap(8, True, True))
    assert overlaps([DYING, WRITTEN], call(4, 0, 0, 1), {(0, 2): near}) == []
    [found] = overlaps([DYING, WRITTEN], call(4, 0, 0, 1), {(0, 2): FREE, (1, 2): FREE})
    assert found == Overlap(1, 0, FREE)


def plan(tensors, sizes=None, allowed=(), solver=solve) -> FunctionPlan:
    sizes = dict.fromkeys(range(len(tensors)), 64) if sizes is None else sizes
    return plan_function(
        FunctionMemory(tensors), sizes, [Overlap(*each) for each in allowed], solver
    )


@pytest.mark.parametrize(
    ("tensors", "sizes", "expected"),
    [
        ([tensor(0, 2), tensor(1, 3)], {0: 64, 1: 64}, 128),
        ([tensor(0, 1), tensor(1, 3)], {0: 64, 1: 32}, 64),
        # Before its first use, a tensor has no content.
        ([tensor(0, 2), tensor(1, 4, first_use=2)], {0: 64, 1: 64}, 64),
        ([tensor(0, 3), tensor(1, 4, first_use=2)], {0: 64, 1: 64}, 128),
        # One that is never used is there at its allocation.
        ([tensor(0, 3), tensor(1, 1, first_use=-1)], {0: 64, 1: 64}, 128),
        ([tensor(0, 3), tensor(3, 3, first_use=-1)], {0: 64, 1: 64}, 64),
        ([tensor(0, 3), tensor(1, 1, first_use=0)], {0: 64, 1: 64}, 128),
        # The begins are aligned, the end is not.
        ([tensor(0, 2), tensor(0, 2)], {0: 100, 1: 100}, 228),
        ([tensor(0, 2), tensor(0, 2)], {0: 4, 1: 5}, 9),
        ([tensor(0, 2), tensor(0, 2)], {1: 5}, 5),
    ],
)
def test_tensors_that_are_live_at_once_are_apart(tensors, sizes, expected):
    found = plan(tensors, sizes)
    assert found.plans[HOST].bytes == found.plans[HOST].lower_bound == expected
    assert found.plans[HOST].is_optimal
    assert found.sizes == sizes
    assert found.in_place == frozenset()
    assert [found.place(n) is not None for n in range(2)] == [n in sizes for n in range(2)]


def test_each_memory_has_a_plan():
    tensors = [tensor(0, 2), tensor(0, 2, device_index=1), tensor(0, 2, scope="local")]
    found = plan([*tensors, tensor(1, 3, device_index=1)])
    places = {Memory(0, "global"): 64, Memory(1, "global"): 128, Memory(0, "local"): 64}
    assert {where: each.bytes for where, each in found.plans.items()} == places
    assert found.place(2) == (Memory(0, "local"), 0)
    assert {found.place(1), found.place(3)} == {(Memory(1, "global"), n) for n in (0, 64)}
    assert plan([]) == FunctionPlan()


PAIR = [tensor(0, 2), tensor(1, 3)]


@pytest.mark.parametrize("allowed", [FREE, EXACT, SUMS])
def test_tensors_that_overlap_are_in_place(allowed):
    found = plan(PAIR, allowed=[(1, 0, allowed)])
    assert (found.plans[HOST].bytes, found.in_place) == (64, {1})
    assert found.place(0) == found.place(1) == (HOST, 0)


@pytest.mark.parametrize(("distance", "expected"), [(4, 128), (64, 128)])
def test_an_overlap_by_a_distance_begins_below(distance, expected):
    found = plan(PAIR, {0: 64, 1: 68}, [(1, 0, OperatorOverlap(distance, False, False))])
    assert found.plans[HOST].bytes == expected
    assert found.in_place == {1}
    assert found.place(1)[1] + distance <= found.place(0)[1]


def test_sums_are_slowed_down_for_clearly_fewer_bytes_only():
    """With the third tensor, the overlap saves a tenth of the bytes, and a little more."""
    for size, saved in ((512, 0), (448, 64)):
        tensors = [*PAIR, tensor(0, 3)]
        found = plan(tensors, {0: 64, 1: 64, 2: size}, [(1, 0, SUMS)])
        assert found.plans[HOST].bytes == size + 128 - saved
        assert found.in_place == ({1} if saved else set())
        assert plan(tensors, {0: 64, 1: 64, 2: size}, [(1, 0, FREE)]).in_place == {1}


def test_a_chain_of_exact_overlaps_takes_one_place():
    tensors = [tensor(n, n + 2) for n in range(4)]
    sizes = {3: 16, 0: 32, 1: 128, 2: 64}
    found = plan(tensors, sizes, [(n + 1, n, EXACT) for n in range(3)])
    assert (found.plans[HOST].bytes, found.in_place) == (128, {1, 2, 3})
    assert {found.place(n) for n in range(4)} == {(HOST, 0)}


def test_one_output_takes_the_place_of_an_input_exactly():
    two_outputs = [tensor(0, 2), tensor(1, 3), tensor(1, 3)]
    found = plan(two_outputs, allowed=[(1, 0, EXACT), (2, 0, EXACT)])
    assert (found.plans[HOST].bytes, found.in_place) == (128, {1})
    two_inputs = [tensor(0, 2), tensor(0, 2), tensor(1, 3)]
    found = plan(two_inputs, allowed=[(2, 0, EXACT), (2, 1, EXACT)])
    assert (found.plans[HOST].bytes, found.in_place) == (128, {2})
    assert found.place(2) == found.place(0)


@pytest.mark.parametrize(
    ("tensors", "allowed"),
    [
        ([tensor(0, 2), tensor(1, 3), tensor(1, 3)], [(1, 0, EXACT), (2, 0, FREE)]),
        ([tensor(0, 2), tensor(0, 2), tensor(1, 3)], [(2, 0, EXACT), (2, 1, FREE)]),
    ],
)
def test_what_shares_a_place_exactly_overlaps_nothing_else_there(tensors, allowed):
    assert plan(tensors, allowed=allowed).plans[HOST].bytes == 128


def test_a_place_that_two_share_can_be_below_another():
    """0 -> 1 exactly, then 1 -> 2 at any byte below."""
    tensors = [tensor(0, 2), tensor(1, 3), tensor(2, 4), tensor(3, 5)]
    allowed = [(1, 0, EXACT), (2, 1, FREE), (3, 2, EXACT)]
    found = plan(tensors, allowed=allowed)
    assert (found.plans[HOST].bytes, found.in_place) == (64, {1, 2, 3})


def placed_at(*offsets: int):
    """What a wrong algorithm finds."""
    return lambda problem: SimpleNamespace(
        offsets=np.array(offsets), peak=max(offsets) + 64, lower_bound=0, is_optimal=False
    )


def test_a_plan_that_is_not_sound_is_refused():
    with pytest.raises(ValueError):
        plan(PAIR, solver=placed_at(0, 0))
    with pytest.raises(ValueError):
        plan(PAIR, solver=placed_at(0, 63))
    assert plan(PAIR, solver=placed_at(0, 64)).plans[HOST].bytes == 128
    two_outputs = [tensor(0, 2), tensor(1, 3), tensor(1, 3)]
    exact = [(1, 0, EXACT), (2, 0, EXACT)]
    assert plan(two_outputs, None, exact, placed_at(64, 0)).in_place == {1}
    two_inputs = [tensor(0, 2), tensor(0, 2), tensor(1, 3)]
    sizes = {0: 64, 1: 64, 2: 128}
    with pytest.raises(ValueError, match="does not begin where it does"):
        plan(two_inputs, sizes, [(2, 0, EXACT), (2, 1, EXACT)], placed_at(0, 64))
