"""Offsets as expressions of the symbolic sizes, so that smaller sizes take less memory.

A plan at the largest sizes orders the buffers from low to high; `stacking` changes the order where
other sizes then need fewer bytes. Each buffer begins at the highest end of the conflicting buffers
below, or before this end if a safe overlap permits it. These ends are expressions of the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from graphlib import TopologicalSorter

import numpy as np
from tvm import tirx
from tvm.ir import IRModule, Range, Var
from tvm.sym import Analyzer

from usmp.analysis import check_plan
from usmp.analysis.symbolic.all_sizes import MOST_SIZES, are_few
from usmp.analysis.symbolic.extents import value_of
from usmp.analysis.symbolic.instances import InstanceStore, combinations_of
from usmp.analysis.symbolic.separations import BytesBySize, Values, bytes_by_size
from usmp.objects import BufferInfo, PoolAllocation
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.pool_places import line_bytes, rounded_up
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.planning.distance_expressions import distance_expression
from usmp.planning.plan import Plan, workspace_buffers
from usmp.planning.stacking import StackingProblem, least_at_all_sizes
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.size_expressions import in_int32


@dataclass(frozen=True, eq=False)
class OffsetExpressions:
    """The offsets of buffers and the peaks of workspace pools, as expressions of type `int32`.

    Parameters
    ----------
    parameters
        the variables of the symbolic sizes, by name.
    variables
        variables to compute on entry, in this order, from the sizes and earlier variables.
    offsets
        byte offset of each allocation in its pool: a constant, or one of the variables.
    peaks
        by name of a pool, the highest end address of a buffer, as an expression.
    most_bytes
        the largest value of each peak, in bytes.
    plan
        the plan with the offsets at the largest sizes.
    """

    parameters: dict[str, Var]
    variables: list[tuple[Var, tirx.Expr]]
    offsets: dict[tirx.AllocBuffer, tirx.Expr]
    peaks: dict[str, tirx.Expr]
    most_bytes: dict[str, int]
    plan: Plan


def offset_expressions(mod: IRModule, found: Plan, store: InstanceStore) -> OffsetExpressions:
    """Return the plan of a module as expressions of its symbolic sizes; check it for each size.

    Parameters
    ----------
    mod
        a module whose allocations have candidate pools.
    found
        its plan at the largest sizes.
    store
        instances of PrimFuncs at fixed sizes; the function adds new ones.

    Raises
    ------
    ValueError
        a size has no upper bound, or there are too many sizes to check; a buffer is pinned;
        the checker refuses the plan at a size; or a pool takes 2 GiB.
    """
    sizes = symbolic_sizes(mod[MAIN_FUNCTION_NAME])
    if not are_few(sizes):
        count = combinations_of(sizes)
        are = "have no bound" if count is None else f"have {count} combinations"
        raise ValueError(
            f"offsets that depend on sizes are checked for each size, of which there may be "
            f"{MOST_SIZES}; {', '.join(str(s.name) for s in sizes)} {are}: give smaller largest "
            "values, or leave out tir.usmp.dynamic=expression"
        )
    buffers = workspace_buffers(found.buffers)
    for buffer in buffers:
        if buffer.fixed_offset is not None:
            raise ValueError(
                f'buffer "{buffer.name_hint}" is pinned to offset {buffer.fixed_offset}, so that '
                "it cannot move with the sizes; leave out the pin, or tir.usmp.dynamic=expression"
            )
    stmts = {buffer: found.analysis.buffer_info_stmts[buffer] for buffer in buffers}
    known = bytes_by_size(MAIN_FUNCTION_NAME, mod, stmts, store)
    stack = _Stack(known, found)
    by_pool: dict[str, list[BufferInfo]] = {}
    for buffer in buffers:
        by_pool.setdefault(str(found.allocations[buffer].pool_info.pool_name), []).append(buffer)
    peaks, most = {}, {}
    for pool, members in by_pool.items():
        peaks[pool], most[pool] = stack.place(members)
    _check(found, known, stack.places)
    return OffsetExpressions(
        stack.parameters,
        stack.variables,
        {stmts[buffer]: stack.offsets[buffer] for buffer in buffers},
        peaks,
        most,
        replace(found, allocations=_at_largest(found, stack.places)),
    )


def _at_largest(
    plan: Plan, places: Mapping[BufferInfo, Values]
) -> dict[BufferInfo, PoolAllocation]:
    """Return the allocations at the largest sizes, which are the first values of each place."""
    moved = {
        buffer: PoolAllocation(plan.allocations[buffer].pool_info, int(values[0]))
        for buffer, values in places.items()
    }
    return {**plan.allocations, **moved}


_LARGEST = 2**31 - 1

Term = tuple[Values, tirx.Expr]


class _Stack:
    """Buffers that are placed one after the other, the lowest first."""

    def __init__(self, known: BytesBySize, plan: Plan) -> None:
        self.known = known
        self.plan = plan
        self.parameters = {str(size.name): Var(str(size.name), "int32") for size in known.sizes}
        self.variables: list[tuple[Var, tirx.Expr]] = []
        self._names = UniqueNames(self.parameters)
        self._numbers: dict[str, Values] = dict(known.values)
        """Values of the sizes and variables, by name, for each combination of sizes."""
        self.offsets: dict[BufferInfo, tirx.Expr] = {}
        self.places: dict[BufferInfo, Values] = {}
        self._by_values: dict[bytes, tirx.Expr] = {}

    def place(self, members: Sequence[BufferInfo]) -> tuple[tirx.Expr, int]:
        """Place the buffers of a pool, and return its peak and the largest value of the peak."""
        below = self._relations(members)
        ends: list[Term] = []
        for buffer in TopologicalSorter(below).static_order():
            terms = [self._end(other, buffer) for other in below[buffer]]
            values, offset = self._variable(*_aligned(*_largest(terms), int(buffer.alignment)))
            self.places[buffer], self.offsets[buffer] = values, offset
            size = self.known.bytes[buffer]
            end_values = np.where(size > 0, values + size, 0)
            end = offset + self._own(self.known.extents[buffer])
            ends.append(_aligned(end_values, end, line_bytes(buffer.pool_candidates)))
        values, peak = _largest(ends)
        if int(values.max()) >= _LARGEST:
            raise ValueError(
                f"a workspace pool takes {int(values.max())} bytes, but offsets that depend on "
                "sizes are of 32 bits; leave out tir.usmp.dynamic=expression"
            )
        return self._simplified(peak, values), int(values.max())

    def _simplified(self, value: tirx.Expr, numbers: Values) -> tirx.Expr:
        """Return an expression in simplified form, and check that its values are `numbers`."""
        analyzer = Analyzer()
        for size in self.known.sizes:
            bounds = (size.lower_bound, (size.upper_bound or 0) + 1)
            analyzer.bind(self.parameters[str(size.name)], Range(*bounds))
        for variable, _ in self.variables:
            analyzer.bind(variable, Range(0, _LARGEST))
        simplified = analyzer.simplify(value)
        # The check of the plan uses the numbers, so the expression must have them.
        if (np.asarray(value_of(simplified, self._numbers)) != numbers).any():
            raise ArithmeticError(f"{simplified} has other values than it was planned with")
        return simplified

    def _relations(self, members: Sequence[BufferInfo]) -> dict[BufferInfo, list[BufferInfo]]:
        """Return, for each buffer, the conflicting buffers below it."""
        known = self.known
        index = {buffer: number for number, buffer in enumerate(members)}
        conflicts = [(a, b) for a in members for b in a.conflicts if index.get(b, -1) > index[a]]
        separations = {
            (index[low], index[high]): known.distances.get((high, low), known.bytes[low])
            for pair in conflicts
            for low, high in (pair, pair[::-1])
        }
        problem = StackingProblem(
            np.array([known.bytes[buffer] for buffer in members]),
            separations,
            [int(buffer.alignment) for buffer in members],
        )
        planned: list[set[int]] = [set() for _ in members]
        for pair in conflicts:
            low, high = pair if _fits(*pair, self.plan.allocations) else pair[::-1]
            planned[index[high]].add(index[low])
        below = least_at_all_sizes(problem, planned)
        return {
            buffer: [members[other] for other in sorted(below[index[buffer]])] for buffer in members
        }

    def _end(self, below: BufferInfo, above: BufferInfo) -> Term:
        """Return the lowest offset at which the upper buffer may begin."""
        size = self.known.bytes[below], self._own(self.known.extents[below])
        distance = self.known.distances.get((above, below))
        if distance is not None:
            values = {name: (self.known.values[name], var) for name, var in self.parameters.items()}
            size = distance_expression(distance, size, values)
        return self.places[below] + size[0], self.offsets[below] + size[1]

    def _own(self, extent: tirx.Expr) -> tirx.Expr:
        return in_int32(extent, self.parameters)

    def _variable(self, values: Values, offset: tirx.Expr) -> Term:
        """Return a constant or variable with these values; equal values share one variable."""
        key = values.tobytes()
        if key not in self._by_values:
            if (values == values[0]).all():
                self._by_values[key] = tirx.IntImm("int32", int(values[0]))
            else:
                variable = Var(self._names.unique(f"offset_{len(self.variables)}"), "int32")
                self.variables.append((variable, self._simplified(offset, values)))
                self._numbers[str(variable.name)] = values
                self._by_values[key] = variable
        return values, self._by_values[key]


def _fits(
    low: BufferInfo, high: BufferInfo, allocations: Mapping[BufferInfo, PoolAllocation]
) -> bool:
    """Return whether the first of two buffers is the lower one in a plan.

    Of two buffers at one offset, the one that overwrites the other in place is below.
    """
    starts = [int(allocations[buffer].byte_offset) for buffer in (low, high)]
    if starts[0] == starts[1]:
        return high in low.overlaps or not int(low.size_bytes)
    return starts[0] < starts[1]


def _largest(terms: Sequence[Term]) -> Term:
    """Return the maximum of some terms, without the terms that are never the largest."""
    if not terms:
        return np.zeros(1, dtype=np.int64), tirx.IntImm("int32", 0)
    most = reduce(np.maximum, (values for values, _ in terms))
    open_at = np.ones(len(most), dtype=bool)
    chosen: list[tirx.Expr] = []
    while open_at.any():
        values, expression = max(terms, key=lambda term: int((open_at & (term[0] == most)).sum()))
        open_at &= values != most
        chosen.append(expression)
    return most, reduce(tirx.max, chosen)


def _aligned(values: Values, offset: tirx.Expr, alignment: int) -> Term:
    if not (values % alignment).any():
        return values, offset
    rounded = -(-values // alignment) * alignment
    return rounded, tirx.floordiv(offset + (alignment - 1), alignment) * alignment


def _check(plan: Plan, known: BytesBySize, places: Mapping[BufferInfo, Values]) -> None:
    """Check the plan at each size, with buffers that have the bytes of that size."""
    count = len(next(iter(known.values.values())))
    for index in range(count):
        copies = {
            buffer: BufferInfo(
                str(buffer.name_hint),
                rounded_up(int(known.bytes[buffer][index]), line_bytes(buffer.pool_candidates)),
                buffer.pool_candidates,
                int(buffer.alignment),
                buffer.live_ranges,
                buffer.kind,
            )
            for buffer in places
        }
        for buffer, instance in copies.items():
            instance.set_conflicts(copies[other] for other in buffer.conflicts if other in copies)
            instance.set_overlaps(
                {
                    copies[dying]: int(known.distances[dying, buffer][index])
                    for dying in buffer.overlaps
                    if dying in copies
                }
            )
        allocations = {
            copies[buffer]: PoolAllocation(
                plan.allocations[buffer].pool_info, int(np.broadcast_to(values, count)[index])
            )
            for buffer, values in places.items()
        }
        check_plan(copies.values(), allocations)
