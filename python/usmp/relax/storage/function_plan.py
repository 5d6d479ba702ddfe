"""Where the tensors of one Relax function are in the storage that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from usmp.analysis.function_memory import CallSite, FunctionMemory, ManagedTensor
from usmp.analysis.memory.access import item_bytes
from usmp.relax.storage.operator_memory import OperatorMemory, OperatorOverlap
from usmp.relax.storage.tensor_bytes import ALIGNMENT, SizeBounds, alignment_of
from usmp_solver import Pool, Problem, Solution
from usmp_solver.check import check_columns
from usmp_solver.columns import column

_CLEARLY_SMALLER = 0.9
"""The part of the bytes at which operators may be slowed down: see `is_accumulated`."""

Solve = Callable[[Problem], Solution]
"""What places the buffers of a problem."""


class Memory(NamedTuple):
    """The memory that one storage is in."""

    device_index: int
    scope: str


@dataclass(frozen=True)
class MemoryPlan:
    """The storage of a function in one memory.

    Parameters
    ----------
    bytes
        of the storage.
    lower_bound
        no plan takes less, given which tensors take the place of which.
    is_optimal
        that is proved to be the bytes.
    offsets
        number of a tensor -> its first byte.
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
        by memory, in the order in which the function allocates in them.
    sizes
        number of a tensor that has a place -> its bytes, at the most.
    in_place
        numbers of the tensors that begin in bytes of an input of the operator that writes them.
    """

    plans: dict[Memory, MemoryPlan] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    in_place: frozenset[int] = frozenset()

    def place(self, tensor: int) -> tuple[Memory, int] | None:
        """The memory of a tensor and its first byte there; None if it is left to TVM."""
        for memory, plan in self.plans.items():
            if tensor in plan.offsets:
                return memory, plan.offsets[tensor]
        return None


class Overlap(NamedTuple):
    """A tensor that may take bytes of another one, which dies in the call that writes it."""

    written: int
    dying: int
    allowed: OperatorOverlap


def placed_tensors(
    memory: FunctionMemory, bounds: SizeBounds, operators: Mapping[str, OperatorMemory]
) -> dict[int, int]:
    """The tensors of a function that get a place, with their bytes.

    The others are left to TVM: what is returned, what something beside PrimFuncs gets, what has no
    bound, and what a PrimFunc accesses in another way than element by element.
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
    """What the operators allow of the tensors that have a place, in the order of the calls."""
    found = []
    for call in memory.calls:
        position = call.position
        touched = sorted({n for argument in call.arguments for n in argument.refers if n in sizes})
        dying = [n for n in touched if memory.tensors[n].stop == position + 1]
        written = [n for n in touched if memory.tensors[n].first_use == position]
        for output in written:
            for one in dying:
                allowed = _allowed(call, one, output, memory.tensors, operators[call.callee])
                if allowed is not None and allowed.distance < sizes[output]:
                    found.append(Overlap(output, one, allowed))
    return found


def _allowed(
    call: CallSite,
    dying: int,
    written: int,
    tensors: Sequence[ManagedTensor],
    operator: OperatorMemory,
) -> OperatorOverlap | None:
    """How the one may lie over the other during a call."""
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
    found = [operator.overlap(one, other) for one in indices[0] for other in indices[1]]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or not known:
        return None
    return OperatorOverlap(
        max(each.distance for each in known),
        any(each.is_exact for each in known),
        any(each.is_accumulated for each in known),
    )


def plan_function(
    memory: FunctionMemory,
    sizes: Mapping[int, int],
    overlaps: Sequence[Overlap],
    solve: Solve,
) -> FunctionPlan:
    """Places for the tensors of a function, checked.

    Parameters
    ----------
    memory
        the tensors.
    sizes
        of those that get a place, in bytes.
    overlaps
        that are allowed.
    solve
        finds the places.

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
        inside = [each for each in overlaps if _memory_of(memory.tensors[each.written]) == where]
        ranges = {number: _live_range(memory.tensors[number]) for number in members}
        plan = _plan(ranges, {n: sizes[n] for n in members}, inside, solve, memory.tensors)
        plans[where] = plan
        in_place |= {
            each.written
            for each in inside
            if _shares(plan.offsets, sizes, each.written, each.dying)
        }
    return FunctionPlan(plans, dict(sizes), frozenset(in_place))


def _memory_of(tensor: ManagedTensor) -> Memory:
    return Memory(tensor.device_index, tensor.scope)


def _live_range(tensor: ManagedTensor) -> tuple[int, int]:
    """When its bytes are in use: not yet when it is allocated."""
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
    """The plan that costs no time, unless another one is clearly smaller."""
    free = [each for each in overlaps if not each.allowed.is_accumulated]
    found = _solved(ranges, sizes, free, solve, tensors)
    if len(free) == len(overlaps):
        return found
    smaller = _solved(ranges, sizes, overlaps, solve, tensors)
    return smaller if smaller.bytes < _CLEARLY_SMALLER * found.bytes else found


def _solved(
    ranges: Mapping[int, tuple[int, int]],
    sizes: Mapping[int, int],
    overlaps: Sequence[Overlap],
    solve: Solve,
    tensors: Sequence[ManagedTensor],
) -> MemoryPlan:
    slots = _slots(sizes, [each for each in overlaps if each.allowed.is_exact])
    slot_of = {number: slot for slot, members in enumerate(slots) for number in members}
    between = {
        (slot_of[each.written], slot_of[each.dying]): each.allowed.distance
        for each in overlaps
        if not each.allowed.is_exact
        # What else is in the slots does not meet then.
        and slots[slot_of[each.written]][0] == each.written
        and slots[slot_of[each.dying]][-1] == each.dying
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
    """Tensors that take one place, one after the other: each output that may begin exactly where an
    input does, and nowhere else in it."""
    follows: dict[int, int] = {}
    is_taken: set[int] = set()
    for each in exact:
        if each.dying not in is_taken and each.written not in follows:
            follows[each.written] = each.dying
            is_taken.add(each.dying)
    slots: dict[int, list[int]] = {}
    slot_of: dict[int, int] = {}
    # What dies in a call was allocated before what it writes is used, though perhaps not before
    # that is allocated.
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
    """Check the places tensor by tensor, whatever slots they were put in."""
    row = {number: index for index, number in enumerate(sizes)}
    problem = _problem(
        [tensors[number].name for number in sizes],
        list(sizes.values()),
        [ranges[number] for number in sizes],
        {(row[each.written], row[each.dying]): each.allowed.distance for each in overlaps},
    )
    check_columns(problem, column(offsets[n] for n in sizes), np.zeros(len(sizes), np.int64))
    for each in overlaps:
        apart = offsets[each.written] != offsets[each.dying]
        if each.allowed.is_exact and apart and _shares(offsets, sizes, each.written, each.dying):
            raise ValueError(
                f"plan check: {tensors[each.written].name} shares bytes with "
                f"{tensors[each.dying].name} and does not begin where it does"
            )
