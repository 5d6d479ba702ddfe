"""The statements of a main function, as operators that may run interleaved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import may_share_bytes
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.memory.memories import Memory
from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    FIXED_OFFSET_ATTR,
    INPUT_TENSOR_ATTR,
    OUTPUT_TENSOR_ATTR,
    STREAMED_TENSOR_ATTR,
)
from usmp.objects.attributes.attribute import Annotation
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.planning.streaming.by_columns import by_columns, fewest_bytes
from usmp.planning.streaming.interleaving import interleave
from usmp.planning.streaming.live_ends import LiveEnds
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.reading import Maker, Reading
from usmp.planning.streaming.scheduler import Scheduler, what_is_scheduled
from usmp.planning.streaming.segment import MainOperator, Segment, interleaving_instructions

_STAYS = (INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR, FIXED_OFFSET_ATTR, ALIGNMENT_ATTR)
"""Annotations of allocations that no segment may replace by its own."""

_INSTRUCTIONS_BY_BYTE = (7, 14, 28, 56)
"""Instructions of a segment for each byte that its rings by columns may copy in addition to the
largest rings; tried in this order until `is_fast`."""

_MOST_PERCENT = 5
"""Most instructions that columns may add, in percent of those of the segment's operators."""

_MOST_PERCENT_OF_ALL = 2
"""Most instructions that columns may add, in percent of all operators; the larger limit applies."""

_MOST_PERCENT_IO = 8
"""Most instructions that columns may add with streamed inputs or outputs, in percent of all
operators; also the maximum of `StreamedMain.more_percent` that is used."""


@dataclass(frozen=True, eq=False)
class StreamedMain:
    """The operators of a main function in their order.

    Parameters
    ----------
    mod
        the module.
    operators
        its statements without declarations.
    allocations
        the memories of main, with their allocations.
    more_percent
        most instructions that columns may add, in percent of all operators.
    """

    mod: IRModule
    facts: ModuleFacts
    operators: Sequence[MainOperator]
    allocations: Mapping[Memory, tirx.AllocBuffer | None]
    preserve_inputs: bool = False
    more_percent: float = 0.0
    _segments: dict[tuple[int, int], Segment | None] = field(default_factory=dict)
    _by_columns: dict[tuple[int, int], Segment | None] = field(default_factory=dict)

    @cached_property
    def users(self) -> Mapping[Memory, list[int]]:
        """The positions of the operators that access each memory."""
        users: dict[Memory, list[int]] = {}
        for index, operator in enumerate(self.operators):
            for memory in operator.statement.ranges:
                users.setdefault(memory, []).append(index)
        return users

    @cached_property
    def sizes(self) -> Mapping[Memory, int]:
        """Sizes in bytes of the memories that may share bytes with others."""
        return {
            memory: size_bytes(memory)
            for memory, allocation in self.allocations.items()
            if allocation is not None and may_share_bytes(allocation)
        }

    @cached_property
    def _between(self) -> frozenset[Memory]:
        """Tensors between operators: memories without an annotation of `_STAYS`."""
        return frozenset(
            memory for memory in self.sizes if not any(self._has(memory, name) for name in _STAYS)
        )

    @cached_property
    def by_rows(self) -> Mapping[Memory, str]:
        """The streamed inputs and outputs, with their names in errors."""
        return {
            memory: STREAMED_TENSOR_ATTR.required(allocation)
            for memory, allocation in self.allocations.items()
            if allocation is not None and STREAMED_TENSOR_ATTR.is_on(allocation)
        }

    @cached_property
    def ranges(self) -> Mapping[Memory, tuple[int, int]]:
        """The live range of each memory: the position of its first user, or -1 for inputs, and the
        position after its last user, which is beyond all operators if it is live at the end."""
        ranges = {}
        for memory, users in self.users.items():
            if memory in self.sizes:
                is_input = self._has(memory, INPUT_TENSOR_ATTR)
                is_output = self._has(memory, OUTPUT_TENSOR_ATTR)
                kept = is_output or (is_input and self.preserve_inputs)
                end = len(self.operators) + 1 if kept else users[-1] + 1
                ranges[memory] = -1 if is_input else users[0], end
        return ranges

    @cached_property
    def ends(self) -> LiveEnds:
        """The live bytes of memories between operators."""
        statements = [operator.statement for operator in self.operators]
        return LiveEnds(statements, self.facts, self.sizes, self.ranges)

    def live_through(self, start: int, stop: int) -> list[Memory]:
        """Return the memories that are live before and after some operators but unused by them."""
        return [
            memory
            for memory, (first, end) in self.ranges.items()
            if first < start
            and end > stop
            and not any(start <= user < stop for user in self.users[memory])
        ]

    def _has(self, memory: Memory, annotation: Annotation[Any]) -> bool:
        allocation = self.allocations.get(memory)
        return allocation is not None and annotation.is_on(allocation)

    def segment(self, start: int, stop: int) -> Segment | None:
        """Return the operators from `start` to before `stop` as a segment, if they can be one."""
        if (start, stop) not in self._segments:
            self._segments[start, stop] = self._segment(start, stop)
        return self._segments[start, stop]

    def _segment(self, start: int, stop: int) -> Segment | None:
        if self.apart[stop - 1] > start:
            return None
        readings = [
            r for i in range(start, stop) for r in self.readings[i] if r.maker.operator >= start
        ]
        if not readings:
            return None
        operators = self.operators[start:stop]
        if len({*self._targets[start:stop]}) > 1:
            return None
        tensors = dict.fromkeys(r.tensor for r in readings)
        inside = [m for m in self.made_in(start, stop) if self._is_inside(m, start, stop)]
        sizes = {m: self.sizes[m] for m in inside if m in tensors}
        loops = [operator.loop for operator in operators if operator.loop is not None]
        key = *(loop.accesses for loop in loops), *what_is_scheduled(readings, start, sizes)
        interleaving = loops[-1].accesses.found.once(
            key, lambda: interleave(Scheduler(loops, readings, start, sizes))
        )
        makers = {r.tensor: r.maker.operator - start for r in readings}
        annotations = {m: self._annotations(m) for m in inside}
        work = sum(self._works[start:stop])
        return Segment(operators, annotations, [*sizes], interleaving, makers, work)

    def _annotations(self, memory: Memory) -> Mapping[str, object]:
        allocation = self.allocations[memory]
        return {} if allocation is None else allocation.annotations

    def with_columns(self, start: int, stop: int) -> Segment | None:
        """Return the segment by columns, with the smallest rings that are fast, or else with the
        fewest copied bytes; None if there is no schedule by columns."""
        if (start, stop) not in self._by_columns:
            segment = self.segment(start, stop)
            self._by_columns[start, stop] = segment and self._with_columns(start, stop, segment)
        return self._by_columns[start, stop]

    def _with_columns(self, start: int, stop: int, segment: Segment) -> Segment | None:
        all_readings = (r for i in range(start, stop) for r in self.readings[i])
        readings = [r for r in all_readings if r.maker.operator >= start]
        loops = [operator.loop for operator in segment.operators if operator.loop is not None]
        sizes = {m: self.sizes[m] for m in segment.tensors}
        if max(loop.columns for loop in loops) == 1:
            return None
        accesses = [loop.accesses_by_columns for loop in loops]
        cache, key = accesses[-1].found, (*accesses, *what_is_scheduled(readings, start, sizes))
        ways = cache.once(key, lambda: by_columns(Scheduler(loops, readings, start, sizes)))
        if not ways:
            return None
        for number in _INSTRUCTIONS_BY_BYTE:
            spare_bytes = segment.work // number
            fewest = partial(fewest_bytes, ways, spare_bytes)
            interleaving = cache.once((*key, "spare bytes", spare_bytes), fewest)
            way = replace(segment, interleaving=interleaving)
            if self.is_fast(way, segment):
                break
        return way

    def is_fast(self, by_columns: Segment, by_rows: Segment) -> bool:
        """Return whether columns add at most the permitted instructions to a segment by rows."""
        slower = interleaving_instructions(by_columns) - interleaving_instructions(by_rows)
        has_io = any(memory in self.by_rows for memory in by_rows.inside)
        permitted = min(self.more_percent, _MOST_PERCENT_IO)
        of_all = _MOST_PERCENT_IO if has_io else max(_MOST_PERCENT_OF_ALL, permitted)
        most = max(_MOST_PERCENT * by_rows.work, of_all * self._all_work)
        return slower * 100 <= most

    @cached_property
    def _all_work(self) -> int:
        return sum(self._works)

    @cached_property
    def _targets(self) -> list[str | None]:
        """Targets of the operators; None for those that are no calls."""
        return [None if o.func is None else _target(o.func) for o in self.operators]

    @cached_property
    def _works(self) -> list[int]:
        return [self._work(operator) for operator in self.operators]

    def work(self, index: int) -> int:
        """Return the approximate number of instructions of an operator."""
        return self._works[index]

    def _work(self, operator: MainOperator) -> int:
        if operator.func is None:
            return 0
        schedule = SCHEDULE_ATTR.of(operator.func)
        if schedule is not None and schedule.instructions is not None:
            return schedule.instructions
        uses = self.facts.of(str(operator.statement.callee)).liveness.parameter_use.values()
        return sum(count for use in uses for count in use.movements.values()) // 2

    def shared_bytes(self, index: int, dying: Memory, written: Memory) -> int:
        """Return the bytes that a result of an operator may share with an input that dies there."""
        statement = self.operators[index].statement
        if statement.callee is None:
            return 0
        places = {a.memory: a for a in statement.arguments if a.byte_offset == 0}
        if dying not in places or written not in places:
            return 0
        overlap = self.facts.of(statement.callee).overlap
        # Sizes come from the buffers in main, because parameters in C have none.
        parameters = places[dying].parameter, places[written].parameter
        distance = min(max(overlap.relative_distance(*parameters), 0), self.sizes[written])
        apart = self.sizes[dying] + self.sizes[written]
        return apart - max(self.sizes[written], min(distance + self.sizes[dying], apart))

    def made_in(self, start: int, stop: int) -> list[Memory]:
        """Return the memories whose first user is one of these operators."""
        return [m for i in range(start, stop) for m in self._first_used[i]]

    @cached_property
    def _first_used(self) -> list[list[Memory]]:
        memories: list[list[Memory]] = [[] for _ in self.operators]
        for memory, users in self.users.items():
            memories[users[0]].append(memory)
        return memories

    @cached_property
    def _flow(self) -> tuple[list[list[Reading]], list[int]]:
        """For each operator, its reads of other operators' tensors, and the first operator that may
        be in a segment with it."""
        readings: list[list[Reading]] = [[] for _ in self.operators]
        apart = [0 if operator.loop else index + 1 for index, operator in enumerate(self.operators)]
        for memory, users in self.users.items():
            written = [i for i in users if _may_write(self.operators[i], memory)]
            if not written or len(users) == 1:
                continue
            maker = self._maker(memory, users, written)
            for before, index in pairwise(users):
                # Without a single maker, users around a write cannot share a segment.
                if maker is None and any(before <= i <= index for i in written):
                    apart[index] = max(apart[index], before + 1)
            if maker is None:
                continue
            for index in users[1:]:
                loop = self.operators[index].loop
                if loop is None:
                    continue
                for parameter, passed in self.operators[index].memories.items():
                    if passed.same_as(memory) and parameter in loop.reads:
                        readings[index].append(_reading(maker, index, parameter, memory, loop))
        for index in range(1, len(apart)):
            apart[index] = max(apart[index], apart[index - 1])
        return readings, apart

    def _maker(self, memory: Memory, users: list[int], written: list[int]) -> Maker | None:
        """Return the maker of a tensor, if one operator writes it in steps before all reads."""
        first = users[0]
        loop = self.operators[first].loop
        size = self._size(memory)
        if written != [first] or loop is None or size is None:
            return None
        parameter = self.operators[first].written_by(memory)
        others = (self.operators[i] for i in users)
        if parameter is None or not all(o.loop is None or _knows(o, memory) for o in others):
            return None
        # Modules that differ in where inputs and outputs lie share the object and its results.
        maker = Maker(first, parameter, loop.steps, loop.step_bytes(parameter, size))
        return loop.found.once(("maker", first, parameter, maker.step_bytes), lambda: maker)

    def _size(self, memory: Memory) -> int | None:
        """Return the bytes of a memory; None for a dynamic size or an unknown pointer."""
        if isinstance(memory.ty, tirx.BufferType):
            return size_bytes(memory) if has_static_size(memory) else None
        main = self.mod[MAIN_FUNCTION_NAME]
        tensors = [*(INPUT_TENSORS_ATTR.of(main) or ()), *(OUTPUT_TENSORS_ATTR.of(main) or ())]
        matches = (t for p, t in zip(main.params, tensors, strict=False) if p.same_as(memory))
        tensor = next(matches, None)
        return None if tensor is None else int(tensor.size_bytes)

    @property
    def readings(self) -> list[list[Reading]]:
        """For each operator, its reads of other operators' tensors."""
        return self._flow[0]

    @property
    def apart(self) -> list[int]:
        """For each operator, the first one that may be in a segment with it."""
        return self._flow[1]

    def _is_inside(self, memory: Memory, start: int, stop: int) -> bool:
        """Return whether only these operators use a tensor, and all accesses to it are known."""
        if memory not in self._between:
            return False
        # Operators that are called with the tensor need it, even if they do not read it.
        called_with = self._called_with[memory]
        is_inside = start <= called_with[0] and called_with[-1] < stop
        return is_inside and all(_knows(self.operators[i], memory) for i in self.users[memory])

    @cached_property
    def _called_with(self) -> Mapping[Memory, list[int]]:
        """The positions of the operators that access a memory or are called with it."""
        positions: dict[Memory, list[int]] = {}
        for index, operator in enumerate(self.operators):
            passed = (argument.memory for argument in operator.statement.arguments)
            for memory in dict.fromkeys([*operator.statement.ranges, *passed]):
                positions.setdefault(memory, []).append(index)
        return positions


def _reading(
    maker: Maker, reader: int, parameter: int, tensor: Memory, loop: OperatorLoop
) -> Reading:
    """Return a read, the same object in modules that differ in where inputs and outputs lie."""
    return loop.found.once(
        ("reading", maker, reader, parameter, tensor),
        lambda: Reading(maker, reader, loop, parameter, tensor),
    )


def _target(func: tirx.PrimFunc) -> str:
    """Return the target of an operator, as text."""
    return str((func.attrs or {}).get("target"))


def _may_write(operator: MainOperator, memory: Memory) -> bool:
    return any(a.may_write and a.memory.same_as(memory) for a in operator.statement.accesses)


def _knows(operator: MainOperator, memory: Memory) -> bool:
    """Return whether all accesses to a memory are known, by parameters that point to its start."""
    assert operator.loop is not None
    passed = [a for a in operator.statement.arguments if a.memory.same_as(memory)]
    return bool(passed) and all(
        a.byte_offset == 0 and a.index not in operator.loop.unknown for a in passed
    )
