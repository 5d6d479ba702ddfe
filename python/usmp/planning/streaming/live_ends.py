"""Which bytes of a memory are live between two operators of a main function?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.memory.main_statements import MainStatement
from usmp.analysis.memory.memories import UNBOUNDED, Memory


@dataclass(frozen=True)
class _Use:
    """What an operator accesses of a memory.

    Parameters
    ----------
    operator
        its position.
    first
        the first byte; the size of the memory if that is not known.
    end
        of what it writes; 0 if it writes nothing, or if that is not known.
    again
        the first byte that it may write; the size of the memory if it writes nothing.
    """

    operator: int
    first: int
    end: int
    again: int


@dataclass(frozen=True, eq=False)
class LiveEnds:
    """The ends of what is live of memories; what is before and behind may be that of others.

    A plan may let a memory begin below another one whose lower bytes are dead, such as parts of a
    concatenation that are not written yet. So no plan takes less than the bytes between the first
    one that is still to be accessed and the end of those that are written, of all memories.

    Parameters
    ----------
    statements
        the operators.
    facts
        of the PrimFuncs that they call.
    sizes
        bytes of the memories.
    ranges
        the operator that first has content of them, -1 for inputs, and the one after the last.
    """

    statements: Sequence[MainStatement]
    facts: ModuleFacts
    sizes: Mapping[Memory, int]
    ranges: Mapping[Memory, tuple[int, int]]

    def first(self, memory: Memory, index: int) -> int:
        """The first byte that operators from `index` on access; the size if they do not."""
        if self.ranges[memory][1] > len(self.statements):
            return 0
        uses = (use.first for use in self._uses.get(memory, ()) if use.operator >= index)
        return min(uses, default=self.sizes[memory])

    def end(self, memory: Memory, index: int) -> int:
        """The end of what those before `index` write, up to what is written again."""
        uses = self._uses.get(memory, ())
        written = max((use.end for use in uses if use.operator < index), default=0)
        if self.ranges[memory][0] < 0:
            written = self.sizes[memory]
        again = (use.again for use in uses if use.operator >= index)
        return min([written, *again])

    def live(self, memory: Memory, start: int, stop: int | None = None) -> int:
        """Bytes that are live before `start` and up to `stop`, if that is another operator."""
        return max(self.end(memory, start) - self.first(memory, stop or start), 0)

    @cached_property
    def cuts(self) -> Sequence[int]:
        """By operator, and at the end, the bytes of all memories that are live before it."""
        found = [0] * (len(self.statements) + 1)
        for memory, (first, end) in self.ranges.items():
            for index in range(first + 1, end):
                found[index] += self.live(memory, index)
        return found

    @cached_property
    def _uses(self) -> Mapping[Memory, list[_Use]]:
        found: dict[Memory, list[_Use]] = {}
        for index, statement in enumerate(self.statements):
            for memory in statement.ranges:
                if memory in self.sizes:
                    found.setdefault(memory, []).append(self._use(index, statement, memory))
        return found

    def _use(self, index: int, statement: MainStatement, memory: Memory) -> _Use:
        size = self.sizes[memory]
        passed = [a for a in statement.arguments if a.memory.same_as(memory)]
        if statement.callee is None or not passed:
            return _Use(index, size, 0, 0)
        first, end, again = size, 0, size
        reach = self.facts.of(statement.callee).overlap.reach.reach
        for argument in passed:
            found = reach.get(argument.parameter)
            if found is None:
                continue
            first = min(first, max(argument.byte_offset + found.first, 0))
            if found.written_end > -UNBOUNDED:
                end = max(end, min(argument.byte_offset + found.written_end, size))
                again = first
        return _Use(index, first, end, again)
