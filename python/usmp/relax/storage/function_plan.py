"""The planned offsets of a Relax function's tensors in their shared storages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from usmp.analysis.relax_functions.function_memory import CallSite, FunctionMemory, ManagedTensor
from usmp.relax.storage.operator_memory import OperatorMemory, OperatorOverlap
from usmp.relax.storage.tensor_bytes import ALIGNMENT, SizeBounds, alignment_of
from usmp.tir.dtypes import item_bytes
from usmp_solver import Pool, Problem, Solution
from usmp_solver.check import check_columns
from usmp_solver.columns import column

_CLEARLY_SMALLER = 0.9
"""A plan may slow down operators (see `is_accumulated`) if its bytes shrink to this share."""

Solve = Callable[[Problem], Solution]
"""Places the buffers of a problem."""


class Memory(NamedTuple):
    """The memory of a storage."""

    device_index: int
    scope: str


@dataclass(frozen=True)
class MemoryPlan:
    """The storage of a function in one memory.

    Parameters
    ----------
    bytes
        size of the storage, in bytes.
    lower_bound
        lower bound of the bytes, given which tensors replace each other in place.
    is_optimal
        whether the bytes are proved to be minimal.
    offsets
        index of a tensor -> its offset, in bytes.
    """

    bytes: int
    lower_bound: int
    is_optimal: bool
    offsets: dict[int, int]


@dataclass(frozen=True)
class FunctionPlan:
    """The storage of a function.

    Parameters
    ----------
    plans
        memory -> its plan, in the order of allocations.
    sizes
        index of a placed tensor -> its maximum size in bytes.
    in_place
        indices of tensors that overlap an input of the operator that writes them.
    """

    plans: dict[Memory, MemoryPlan] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    in_place: frozenset[int] = frozenset()

    def place(self, tensor: int) -> tuple[Memory, int] | None:
        """Return the memory and the offset in bytes of a tensor; None if it is left to TVM."""
        for memory, plan in self.plans.items():
            if tensor in plan.offsets:
                return memory, plan.offsets[tensor]
        return None


class Overlap(NamedTuple):
    """A tensor `written` that may overlap another one, `dying` in the call that writes it."""

    written: int
    dying: int
    allowed: OperatorOverlap


def placed_tensors(
    memory: FunctionMemory, bounds: SizeBounds, operators: Mapping[str, OperatorMemory]
) -> dict[int, int]:
    """Return the tensors of a function that get an offset, with their sizes in bytes.

    The others are left to TVM: returned tensors, tensors passed to anything but PrimFuncs,
    unbounded ones, and those that a PrimFunc accesses other than element by element.
    """
    sizes = {}
    for number, tensor in enumerate(memory.tensors):
        size = None if tensor.is_output or tensor.is_given_away else bounds.bytes_of(tensor)
        if size is not None and _is_divisible(tensor):
            sizes[number] = size
    for call in memory.calls:
        for index, argument in enumerate(call.arguments):
            if argument.refers and not operators[call.callee].takes_offset(index):
                for number in argument.refers:
                    sizes.pop(number, None)
    return sizes


def _is_divisible(tensor: ManagedTensor) -> bool:
    return ALIGNMENT % item_bytes(tensor.dtype) == 0


def possible_overlaps(
    memory: FunctionMemory, sizes: Mapping[int, int], operators: Mapping[str, OperatorMemory]
) -> list[Overlap]:
    """Return the overlaps of placed tensors that operators allow, in call order."""
    overlaps = []
    for call in memory.calls:
        position = call.position
        touched = sorted({n for argument in call.arguments for n in argument.refers if n in sizes})
        dying = [n for n in touched if memory.tensors[n].stop == position + 1]
        written = [n for n in touched if memory.tensors[n].first_use == position]
        for output in written:
            for one in dying:
                allowed = _allowed(call, one, output, memory.tensors, operators[call.callee])
                if allowed is not None and allowed.distance < sizes[output]:
                    overlaps.append(Overlap(output, one, allowed))
    return overlaps


def _allowed(
    call: CallSite,
    dying: int,
    written: int,
    tensors: Sequence[ManagedTensor],
    operator: OperatorMemory,
) -> OperatorOverlap | None:
    """Return how `written` may overlap `dying` during a call, or None."""
    a, b = tensors[dying], tensors[written]
    if _memory_of(a) != _memory_of(b) or a.first_use == call.position:
        return None
    indices: tuple[list[int], list[int]] = ([], [])
    for number, of_number in ((dying, indices[0]), (written, indices[1])):
        for index, argument in enumerate(call.arguments):
            if number in argument.refers:
                if argument.whole != number:
                    return None
                of_number.append(index)
    overlaps = [operator.overlap(one, other) for one in indices[0] for other in indices[1]]
    known = [pair for pair in overlaps if pair is not None]
    if len(known) < len(overlaps) or not known:
        return None
    return OperatorOverlap(
        max(pair.distance for pair in known),
        any(pair.is_exact for pair in known),
        any(pair.is_accumulated for pair in known),
    )


def plan_function(
    memory: FunctionMemory,
    sizes: Mapping[int, int],
    overlaps: Sequence[Overlap],
    solve: Solve,
) -> FunctionPlan:
    """Plan offsets for the tensors of a function, and check the plan.

    Parameters
    ----------
    memory
        the tensors.
    sizes
        index of a placed tensor -> its size in bytes.
    overlaps
        allowed overlaps.
    solve
        places the buffers of a problem.

    Raises
    ------
    ValueError
        the plan is not sound.
    """
    numbers: dict[Memory, list[int]] = {}
    for number in sizes:
        numbers.setdefault(_memory_of(memory.tensors[number]), []).append(number)
    plans = {}
    in_place: set[int] = set()
    for where, members in numbers.items():
        inside = [pair for pair in overlaps if _memory_of(memory.tensors[pair.written]) == where]
        ranges = {number: _live_range(memory.tensors[number]) for number in members}
        plan = _plan(ranges, {n: sizes[n] for n in members}, inside, solve, memory.tensors)
        plans[where] = plan
        in_place |= {
            pair.written
            for pair in inside
            if _shares(plan.offsets, sizes, pair.written, pair.dying)
        }
    return FunctionPlan(plans, dict(sizes), frozenset(in_place))


def _memory_of(tensor: ManagedTensor) -> Memory:
    return Memory(tensor.device_index, tensor.scope)


def _live_range(tensor: ManagedTensor) -> tuple[int, int]:
    """Return the live range of a tensor, which begins at its first use, not at its allocation."""
    first = tensor.start if tensor.first_use < 0 else tensor.first_use
    return first, max(tensor.stop, first + 1)


def _shares(offsets: Mapping[int, int], sizes: Mapping[int, int], a: int, b: int) -> bool:
    end = min(offsets[a] + sizes[a], offsets[b] + sizes[b])
    return max(offsets[a], offsets[b]) < end


def _plan(
    ranges: Mapping[int, tuple[int, int]],
    sizes: Mapping[int, int],
    overlaps: Sequence[Overlap],
    solve: Solve,
    tensors: Sequence[ManagedTensor],
) -> MemoryPlan:
    """Return the plan without slowed-down operators, unless the other plan is clearly smaller."""
    costless = [pair for pair in overlaps if not pair.allowed.is_accumulated]
    fast = _solved(ranges, sizes, costless, solve, tensors)
    if len(costless) == len(overlaps):
        return fast
    smaller = _solved(ranges, sizes, overlaps, solve, tensors)
    return smaller if smaller.bytes < _CLEARLY_SMALLER * fast.bytes else fast


def _solved(
    ranges: Mapping[int, tuple[int, int]],
    sizes: Mapping[int, int],
    overlaps: Sequence[Overlap],
    solve: Solve,
    tensors: Sequence[ManagedTensor],
) -> MemoryPlan:
    slots = _slots(sizes, [pair for pair in overlaps if pair.allowed.is_exact])
    slot_of = {number: slot for slot, members in enumerate(slots) for number in members}
    between = {
        (slot_of[pair.written], slot_of[pair.dying]): pair.allowed.distance
        for pair in overlaps
        if not pair.allowed.is_exact
        # Then the two slots are live together only in the call that writes `written`.
        and slots[slot_of[pair.written]][0] == pair.written
        and slots[slot_of[pair.dying]][-1] == pair.dying
    }
    problem = _problem(
        [tensors[members[0]].name for members in slots],
        [max(sizes[n] for n in members) for members in slots],
        [(ranges[members[0]][0], ranges[members[-1]][1]) for members in slots],
        between,
    )
    solution = solve(problem)
    offsets = {number: int(solution.offsets[slot]) for number, slot in sorted(slot_of.items())}
    _check(ranges, sizes, overlaps, offsets, tensors)
    return MemoryPlan(solution.peak, solution.lower_bound, solution.is_optimal, offsets)


def _slots(sizes: Mapping[int, int], exact: Iterable[Overlap]) -> list[list[int]]:
    """Group tensors that share one offset in turn: with an exact overlap, the output may overlap
    the input only at an equal offset."""
    follows: dict[int, int] = {}
    is_taken: set[int] = set()
    for pair in exact:
        if pair.dying not in is_taken and pair.written not in follows:
            follows[pair.written] = pair.dying
            is_taken.add(pair.dying)
    slots: dict[int, list[int]] = {}
    slot_of: dict[int, int] = {}
    # Follow each chain to its start, because an output may be allocated before its dying input is.
    for number in sizes:
        chain = [number]
        while chain[-1] in follows:
            chain.append(follows[chain[-1]])
        for one in reversed(chain):
            if one not in slot_of:
                slot_of[one] = slot_of[follows[one]] if one in follows else one
                slots.setdefault(slot_of[one], []).append(one)
    return list(slots.values())


def _problem(
    names: Sequence[str],
    sizes: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    overlaps: Mapping[tuple[int, int], int],
) -> Problem:
    return Problem(
        names=names,
        pools=(Pool("storage"),),
        sizes=column(sizes),
        live_first=np.arange(len(sizes) + 1, dtype=np.int64),
        live_starts=column(start for start, _ in ranges),
        live_stops=column(stop for _, stop in ranges),
        alignments=column(map(alignment_of, sizes)),
        overlap_outputs=column(output for output, _ in overlaps),
        overlap_inputs=column(dying for _, dying in overlaps),
        overlap_distances=column(overlaps.values()),
    )


def _check(
    ranges: Mapping[int, tuple[int, int]],
    sizes: Mapping[int, int],
    overlaps: Sequence[Overlap],
    offsets: Mapping[int, int],
    tensors: Sequence[ManagedTensor],
) -> None:
    """Check the offsets tensor by tensor, independently of slots."""
    row = {number: index for index, number in enumerate(sizes)}
    problem = _problem(
        [tensors[number].name for number in sizes],
        list(sizes.values()),
        [ranges[number] for number in sizes],
        {(row[pair.written], row[pair.dying]): pair.allowed.distance for pair in overlaps},
    )
    check_columns(problem, column(offsets[n] for n in sizes), np.zeros(len(sizes), np.int64))
    for pair in overlaps:
        apart = offsets[pair.written] != offsets[pair.dying]
        if pair.allowed.is_exact and apart and _shares(offsets, sizes, pair.written, pair.dying):
            raise ValueError(
                f"plan check: {tensors[pair.written].name} shares bytes with "
                f"{tensors[pair.dying].name} and does not begin where it does"
            )
