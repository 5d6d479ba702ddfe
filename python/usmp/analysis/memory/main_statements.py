"""The memory accesses of each statement of a main function.

The accesses come from the fold that computes live ranges (see `liveness`), so that accesses and
live ranges agree, also through views, pointers and calls of any depth.
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
from usmp.objects.attributes.annotations import LIVE_THROUGHOUT_ATTR, STATE_TENSOR_ATTR
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME

DECLARATIONS = tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind
"""Kinds of statements that declare a buffer or variable, and usually access no memory."""


@dataclass(frozen=True)
class MemoryAccess:
    """Bytes of a memory that a statement accesses.

    Parameters
    ----------
    memory
        the memory.
    may_write
        whether the access may write.
    start, stop
        half-open range of bytes; a `stop` of None is the end of the memory.
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
        index of the parameter.
    parameter
        the parameter.
    memory, byte_offset
        the memory, and the offset in it.
    """

    index: int
    parameter: tirx.Var
    memory: Memory
    byte_offset: int


@dataclass(frozen=True, eq=False)
class MainStatement:
    """A statement that is not a declaration.

    Parameters
    ----------
    stmt
        the statement.
    ranges
        the positions in the statement between first and last access of each memory of main.
    accesses
        accesses to memories of main, and to memories that callees keep from call to call.
    scratch
        allocations within the statement and its callees, with their live ranges.
    callee
        the called PrimFunc, if the statement is only a call.
    arguments
        arguments of the call with known addresses.
    effect
        side effects besides these accesses.
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
        the other statements, in program order.
    memories
        all accessed memories, with their allocations; None for a parameter.
    """

    declarations: list[tirx.Stmt]
    statements: list[MainStatement]
    memories: dict[Memory, tirx.AllocBuffer | None]


def main_statements(facts: ModuleFacts) -> MainStatements | None:
    """Return the statements of `__tvm_main__`; None if the address of a memory escapes, or if a
    declaration accesses memory, has a side effect, or repeats another one.

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
    """A reader of the statements of a main function, one after the other."""

    def __init__(self, main: FunctionFacts) -> None:
        self.main = main
        self.points = main.points_to
        params = [param for param in main.func.params if _may_be_memory(param)]
        self.known = set(params)
        """The parameters of main, and its allocations that were already declared."""
        self.declared: set[tirx.Var] = set()
        self.found = MainStatements([], [], dict.fromkeys(params))

    def declare(
        self,
        statement: StatementLiveness,
        stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind,
    ) -> bool:
        """Record a declaration; return False if it accesses memory or repeats a declaration."""
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
        """Record the accesses of a statement."""
        start = statement.start
        # Follow the order of declarations, so that the order of accesses does not matter.
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
        """Return the call of a PrimFunc if the statement is only this call; None also if loads or
        calls compute an argument, or if a layout depends on memory."""
        if not (isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, Call)):
            return None
        call = self.main.calls.resolve(stmt.value)
        if call is None or self.points.layouts:
            return None
        is_plain = not any(address_of(argument).computed for argument in call.arguments)
        return call if is_plain else None

    def _arguments(self, call: PrimFuncCall) -> list[Argument]:
        """Return the arguments with known addresses, except where another argument has an unknown
        address in the same memory."""
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
        """Return the accesses of a statement to a memory: all of it unless arguments limit them."""
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
        """Return the bytes of a memory; None for parameters and for sizes that are not static."""
        is_known = self.found.memories[memory] is not None and has_static_size(memory)
        return size_bytes(memory) if is_known else None

    def _kept_by_callees(self, statement: StatementLiveness) -> list[MemoryAccess]:
        """Return accesses to memories of callees that are always live, such as states."""
        accesses = []
        for stmt in statement.allocations:
            if STATE_TENSOR_ATTR.is_on(stmt) or LIVE_THROUGHOUT_ATTR.is_on(stmt):
                self.found.memories[stmt.buffer] = stmt
                accesses.append(MemoryAccess(stmt.buffer, may_write=True))
        return accesses

    def _scratch(
        self, statement: StatementLiveness
    ) -> list[tuple[tirx.AllocBuffer, PositionRange]]:
        """Return the allocations in a statement and in its callees, with their live ranges."""
        ranges = [(stmt, s) for stmt, positions in statement.allocations.items() for s in positions]
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
    """Return whether a parameter is not a number."""
    return not isinstance(param.ty, PrimType) or "handle" in str(param.ty)
