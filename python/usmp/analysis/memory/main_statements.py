"""What each statement of a main function does to memory.

All is taken from the walk that finds live ranges (see `liveness`), so that both agree on who may
access what through views, pointers and calls of any depth.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import Call, PrimType

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.calls import PrimFuncCall
from usmp.analysis.memory.facts import FunctionFacts, ModuleFacts
from usmp.analysis.memory.function_liveness import PositionRange, StatementLiveness
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.side_effects import Effect
from usmp.objects.annotations import LIVE_THROUGHOUT_ATTR, STATE_TENSOR_ATTR
from usmp.objects.attributes import MAIN_FUNCTION_NAME

DECLARATIONS = tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind
"""Statements that access no memory."""


@dataclass(frozen=True)
class MemoryAccess:
    """Bytes of a memory that a statement accesses.

    Parameters
    ----------
    memory
        the memory.
    may_write
        whether their content may change.
    start, stop
        the bytes; a `stop` of None is the end, wherever that is.
    """

    memory: Memory
    may_write: bool
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True)
class Argument:
    """An address that is passed to a PrimFunc.

    Parameters
    ----------
    index
        of the parameter.
    parameter
        the parameter itself.
    memory, byte_offset
        where it points to.
    """

    index: int
    parameter: tirx.Var
    memory: Memory
    byte_offset: int


@dataclass(frozen=True, eq=False)
class MainStatement:
    """A statement that is no declaration.

    Parameters
    ----------
    stmt
        the statement.
    ranges
        the positions in the statement between first and last access of each memory of main.
    accesses
        to these memories, and to those that callees keep from one call to the next.
    scratch
        allocations within the statement and what it calls, with their positions.
    callee
        the PrimFunc, if the statement does nothing but call it.
    arguments
        what it is called with, as far as the addresses are known.
    effect
        what it does beside that.
    """

    stmt: tirx.Stmt
    ranges: dict[Memory, PositionRange]
    accesses: list[MemoryAccess]
    scratch: list[tuple[tirx.AllocBuffer, PositionRange]]
    callee: str | None
    arguments: list[Argument]
    effect: Effect


@dataclass(frozen=True, eq=False)
class MainStatements:
    """The body of a main function.

    Parameters
    ----------
    declarations
        allocations, views and bound values; they access no memory.
    statements
        the others, in the order of the text.
    memories
        all that are accessed, with their allocations; None for a parameter.
    """

    declarations: list[tirx.Stmt]
    statements: list[MainStatement]
    memories: dict[Memory, tirx.AllocBuffer | None]


def main_statements(facts: ModuleFacts) -> MainStatements | None:
    """The statements of `__tvm_main__`; None if it is not known what they do, because a pointer to
    some memory is kept, or a declaration needs the content of memory.

    Raises
    ------
    ValueError
        a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    main = facts.of(MAIN_FUNCTION_NAME)
    reader = _Reader(main)
    declarations = [s.stmt for s in main.liveness.statements if isinstance(s.stmt, DECLARATIONS)]
    if main.effect_of_main_statement(declarations):
        return None
    for statement in main.liveness.statements:
        if not isinstance(statement.stmt, DECLARATIONS):
            reader.read(statement)
        elif not reader.declare(statement, statement.stmt):
            return None
    memories = {*reader.found.memories, *main.points_to.memories[len(main.func.params) :]}
    return None if memories & main.liveness.escaping else reader.found


class _Reader:
    """Reads one statement after the other."""

    def __init__(self, main: FunctionFacts) -> None:
        self.main = main
        self.points = main.points_to
        params = [param for param in main.func.params if _may_be_memory(param)]
        self.known = set(params)
        """The memories of main, which are declared so far."""
        self.declared: set[tirx.Var] = set()
        self.found = MainStatements([], [], dict.fromkeys(params))

    def declare(
        self,
        statement: StatementLiveness,
        stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind,
    ) -> bool:
        """Note a declaration; False if it does more, or declares again."""
        var = stmt.var if isinstance(stmt, tirx.Bind) else stmt.buffer
        if var in self.declared:
            return False
        if not self.known.isdisjoint(statement.ranges):
            return False
        self.declared.add(var)
        self.found.declarations.append(stmt)
        if isinstance(stmt, tirx.AllocBuffer):
            self.known.add(stmt.buffer)
            self.found.memories[stmt.buffer] = stmt
        return True

    def read(self, statement: StatementLiveness) -> None:
        """Note what a statement does."""
        start = statement.start
        # In the order of their declarations, not of the accesses.
        accessed = [memory for memory in self.found.memories if memory in statement.ranges]
        ranges = {
            memory: (first - start, stop - start)
            for memory, (first, stop) in ((m, statement.ranges[m]) for m in accessed)
            if memory in self.known
        }
        call = self._call_of(statement.stmt)
        arguments = [] if call is None else self._arguments(call)
        accesses = [
            access
            for memory in ranges
            for access in self._accesses(memory, statement, call, arguments)
        ]
        self.found.statements.append(
            MainStatement(
                statement.stmt,
                ranges,
                accesses + self._kept_by_callees(statement),
                self._scratch(statement),
                None if call is None else call.callee,
                arguments,
                self.main.effect_of_main_statement(statement.stmt),
            )
        )

    def _call_of(self, stmt: tirx.Stmt) -> PrimFuncCall | None:
        """The call of a PrimFunc, if the statement is nothing else."""
        if not (isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, Call)):
            return None
        call = self.main.calls.resolve(stmt.value)
        if call is None or self.points.layouts:
            return None
        is_plain = not any(address_of(argument).computed for argument in call.arguments)
        return call if is_plain else None

    def _arguments(self, call: PrimFuncCall) -> list[Argument]:
        """Where arguments point to; all of those that point to a memory, or none."""
        arguments: list[Argument] = []
        unknown: set[Memory] = set()
        params = self.main.callees[call.callee].func.params
        for index, expr in enumerate(call.arguments):
            addresses = [p for p in self.points.addresses_of(expr) if p.memory in self.known]
            byte_offset = addresses[0].byte_offset if len(addresses) == 1 else None
            if byte_offset is None or index >= len(params):
                unknown.update(address.memory for address in addresses)
            else:
                arguments.append(Argument(index, params[index], addresses[0].memory, byte_offset))
        return [argument for argument in arguments if argument.memory not in unknown]

    def _accesses(
        self,
        memory: Memory,
        statement: StatementLiveness,
        call: PrimFuncCall | None,
        arguments: list[Argument],
    ) -> list[MemoryAccess]:
        """What a statement accesses of a memory; all of it unless the arguments limit it."""
        use = statement.accesses.get(memory, Access.NONE)
        passed = [argument for argument in arguments if argument.memory.same_as(memory)]
        if not use:
            return []
        if call is None or not passed:
            return [MemoryAccess(memory, use.may_write)]
        callee = self.main.callees[call.callee]
        accesses = []
        for argument in passed:
            access = callee.liveness.parameter_use[argument.index].access
            if access:
                used = callee.used_bytes(argument.index)
                start = argument.byte_offset
                stop = None if used is None else start + used
                if start == 0 and stop == self._size_bytes(memory):
                    stop = None
                accesses.append(MemoryAccess(memory, access.may_write, start, stop))
        return accesses

    def _size_bytes(self, memory: Memory) -> int | None:
        """Of an allocation; None if it is not known."""
        is_known = self.found.memories[memory] is not None and has_static_size(memory)
        return size_bytes(memory) if is_known else None

    def _kept_by_callees(self, statement: StatementLiveness) -> list[MemoryAccess]:
        """Accesses to memory that lives throughout, in what the statement calls."""
        accesses = []
        for stmt in statement.allocations:
            if STATE_TENSOR_ATTR.is_on(stmt) or LIVE_THROUGHOUT_ATTR.is_on(stmt):
                self.found.memories[stmt.buffer] = stmt
                accesses.append(MemoryAccess(stmt.buffer, may_write=True))
        return accesses

    def _scratch(
        self, statement: StatementLiveness
    ) -> list[tuple[tirx.AllocBuffer, PositionRange]]:
        """Allocations in the statement, and in what it calls."""
        ranges = [(stmt, s) for stmt, found in statement.allocations.items() for s in found]
        ranges += [
            (stmt, statement.ranges[stmt.buffer])
            for stmt in statement.allocations
            if stmt.buffer in statement.allocated and stmt.buffer in statement.ranges
        ]
        return [
            (stmt, (first - statement.start, stop - statement.start))
            for stmt, (first, stop) in ranges
            if stmt not in self.main.liveness.unplannable
        ]


def _may_be_memory(param: tirx.Var) -> bool:
    """Not a number."""
    return not isinstance(param.ty, PrimType) or "handle" in str(param.ty)
