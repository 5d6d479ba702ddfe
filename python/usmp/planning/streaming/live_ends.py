"""The bytes of a memory that are live between two operators of a main function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.memory.main_statements import MainStatement
from usmp.analysis.memory.memories import UNBOUNDED, Memory


@dataclass(frozen=True)
class _Use:
    """The bytes of a memory that an operator accesses.

    Parameters
    ----------
    operator
        position of the operator.
    first
        first byte that it accesses; the size of the memory if it accesses none or if unknown.
    end
        end of the bytes that it writes; 0 if it writes none, or if they are unknown.
    again
        first byte that it may write; the size of the memory if it writes none.
    """

    operator: int
    first: int
    end: int
    again: int


@dataclass(frozen=True, eq=False)
class LiveEnds:
    """The first and the last live byte of memories; bytes before and behind may be reused.

    A plan may let a memory begin below another one whose lower bytes are dead, such as parts of a
    concatenation that are not written yet. So a plan takes at least the sum, over memories, of the
    bytes between the first one that is still to be accessed and the end of those that are written.

    Parameters
    ----------
    statements
        statements of the operators.
    facts
        facts of the PrimFuncs that they call.
    sizes
        bytes of the memories.
    ranges
        live range of each memory in positions of operators, see `StreamedMain.ranges`.
    """

    statements: Sequence[MainStatement]
    facts: ModuleFacts
    sizes: Mapping[Memory, int]
    ranges: Mapping[Memory, tuple[int, int]]

    def first(self, memory: Memory, index: int) -> int:
        """Return the first byte that operators from `index` on access: the size of the memory if
        there is none, 0 if it stays live at the end."""
        if self.ranges[memory][1] > len(self.statements):
            return 0
        uses = (use.first for use in self._uses.get(memory, ()) if use.operator >= index)
        return min(uses, default=self.sizes[memory])

    def end(self, memory: Memory, index: int) -> int:
        """Return the end of the bytes that operators before `index` write; for an input, its size.
        It is at most the first byte that operators from `index` on write again."""
        uses = self._uses.get(memory, ())
        written = max((use.end for use in uses if use.operator < index), default=0)
        if self.ranges[memory][0] < 0:
            written = self.sizes[memory]
        again = (use.again for use in uses if use.operator >= index)
        return min([written, *again])

    def live(self, memory: Memory, start: int, stop: int | None = None) -> int:
        """Return the number of live bytes: from the first byte that operators from `stop` on (by
        default `start`) access to the end of the bytes that operators before `start` write."""
        return max(self.end(memory, start) - self.first(memory, stop or start), 0)

    @cached_property
    def cuts(self) -> Sequence[int]:
        """Live bytes of all memories before each operator, and at the end."""
        cuts = [0] * (len(self.statements) + 1)
        for memory, (first, end) in self.ranges.items():
            for index in range(first + 1, end):
                cuts[index] += self.live(memory, index)
        return cuts

    @cached_property
    def _uses(self) -> Mapping[Memory, list[_Use]]:
        uses: dict[Memory, list[_Use]] = {}
        for index, statement in enumerate(self.statements):
            for memory in statement.ranges:
                if memory in self.sizes:
                    uses.setdefault(memory, []).append(self._use(index, statement, memory))
        return uses

    def _use(self, index: int, statement: MainStatement, memory: Memory) -> _Use:
        size = self.sizes[memory]
        passed = [a for a in statement.arguments if a.memory.same_as(memory)]
        if statement.callee is None or not passed:
            return _Use(index, size, 0, 0)
        first, end, again = size, 0, size
        reach = self.facts.of(statement.callee).overlap.reach.reach
        for argument in passed:
            argument_reach = reach.get(argument.parameter)
            if argument_reach is None:
                continue
            first = min(first, max(argument.byte_offset + argument_reach.first, 0))
            if argument_reach.written_end > -UNBOUNDED:
                end = max(end, min(argument.byte_offset + argument_reach.written_end, size))
                again = first
        return _Use(index, first, end, again)
