"""Random bodies of PrimFuncs, statement by statement, in flat TIR.

Every program has one meaning: only memory that holds a value is read, and iterations that run at
once neither write what another one reads nor what another one writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, PrimType, StringImm

ELEMENTS = 4
"""Elements of the memory behind every parameter, and the fewest of any buffer."""
DTYPES = ("int8", "int16", "int32")
MOST_STEPS = 1500
"""Statements that one call of a PrimFunc may run, about."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A buffer, or a view of one; two may share bytes only if their `memory` is the same."""

    buffer: tirx.Var
    memory: object
    writable: bool = True

    @property
    def dtype(self) -> str:
        return str(self.buffer.dtype)

    @property
    def elements(self) -> int:
        return int(self.buffer.shape[0])


@dataclass(frozen=True)
class Parameter:
    """A parameter: ELEMENTS elements that the PrimFunc reads (`in`), changes (`inout`), or writes
    all of before it reads any (`out`)."""

    name: str
    dtype: str
    mode: str


@dataclass(frozen=True)
class Callee:
    """A PrimFunc that can be called: its parameters, and the type of what it returns, if it does,
    in which case it takes a number of that type too; `steps` is about how long it runs."""

    variable: GlobalVar
    symbol: str
    parameters: list[Parameter]
    steps: int
    returns: str | None = None


@dataclass
class Scope:
    """What a statement can use.

    Parameters
    ----------
    ready, fresh
        buffers that hold values, and those that were never written.
    numbers
        int32 variables.
    element
        in a loop whose iterations run at once, the one element outside that this may write.
    jumps
        ways to leave the iteration of the innermost loop.
    """

    ready: list[Piece]
    fresh: list[Piece] = field(default_factory=list)
    numbers: list[tirx.Var] = field(default_factory=list)
    element: tuple[Piece, tirx.Var] | None = None
    jumps: tuple[type, ...] = ()

    def nested(self, **changes) -> Scope:
        """A scope inside of this one: what is allocated or written there does not count here."""
        copies = {"ready": [*self.ready], "fresh": [*self.fresh], "numbers": [*self.numbers]}
        return replace(self, **{**copies, **changes})


class Memories(Protocol):
    """Where buffers may be, and what constants there are."""

    def workspace(self) -> dict:
        """Annotations of an AllocBuffer."""

    def constant(self, dtype: str) -> tuple[int, dict]:
        """Elements and annotations of the AllocBuffer of a constant."""


class Body:
    """Draws the body of one PrimFunc.

    Parameters
    ----------
    random
        the source of all choices.
    prefix
        how all names begin.
    memories, callees
        what it may use.
    budget
        how many statements it may have, about.
    returns
        the type of what it returns, if it does.

    `sinks` are buffers through which values reach the result.
    """

    def __init__(
        self,
        random: Random,
        prefix: str,
        memories: Memories,
        callees: list[Callee],
        budget: int,
        returns: str | None = None,
    ) -> None:
        self.random = random
        self.prefix = prefix
        self.memories = memories
        self.callees = callees
        self.budget = budget
        self.returns = returns
        self.sinks: list[Piece] = []
        self.handle: tirx.Expr = tirx.reinterpret("handle", tirx.const(0, "uint64"))
        self.count = 0
        self.steps = 0
        self.trips = 1

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{self.prefix}_{kind}{self.count}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def some(self, pieces: list[Piece]) -> Piece:
        """One of them, most often a late one, so that the others may be dead."""
        return self.random.choice(pieces[-3:] if self.chance(0.7) else pieces)

    def index_variable(self) -> tirx.Var:
        return tirx.Var(self.name("i"), "int32")

    # ---- expressions

    def value(self, stmts: list, scope: Scope, dtype: str, depth: int = 2) -> tirx.Expr:
        """An expression; statements that must come before it are added to `stmts`."""
        kind = self.random.randint(0, 9)
        if kind < 4 and depth:
            a, b = (self.value(stmts, scope, dtype, depth - 1) for _ in range(2))
            return a * tirx.const(3, dtype) + b
        if kind == 4 and scope.numbers:
            return cast(dtype, self.random.choice(scope.numbers))
        callees = self.affordable(returning=True)
        if kind == 5 and callees:
            return cast(dtype, self.result(stmts, scope, self.pick(callees), depth))
        if kind == 6 or not scope.ready:
            return tirx.const(self.random.randint(-9, 9), dtype)
        return cast(dtype, self.load(scope))

    def load(self, scope: Scope) -> tirx.Expr:
        piece = self.some(scope.ready)
        return piece.buffer[self.index(scope, piece)]

    def index(self, scope: Scope, piece: Piece) -> tirx.Expr | int:
        """The index of some element."""
        if scope.numbers and self.chance(0.3):
            return tirx.floormod(self.random.choice(scope.numbers), piece.elements)
        if scope.ready and self.chance(0.2):
            return tirx.floormod(cast("int32", self.load(scope)), piece.elements)
        return self.random.randint(0, piece.elements - 1)

    def condition(self, stmts: list, scope: Scope) -> tirx.Expr:
        return self.value(stmts, scope, "int8") > tirx.const(self.random.randint(-30, 30), "int8")

    def result(self, stmts: list, scope: Scope, callee: Callee, depth: int) -> tirx.Expr:
        """A call of a function that returns a value."""
        arguments = self.arguments(stmts, scope, callee)
        arguments.append(self.value(stmts, scope, callee.returns, max(depth - 1, 0)))
        self.steps += self.trips * callee.steps
        if self.chance(0.5):
            return Call(callee.variable, arguments, ret_ty=PrimType(callee.returns))
        call = self.random.choice([tirx.call_extern, tirx.call_pure_extern])
        return call(callee.returns, callee.symbol, *arguments)

    # ---- addresses

    def pointer(
        self, stmts: list, piece: Piece, dtype: str, mode: str, at_start: bool = False
    ) -> tirx.Expr:
        """The address of ELEMENTS elements of `dtype` in the piece, in one of the ways to say it;
        `mode` is what happens to them, as for a parameter."""
        buffer, itemsize = piece.buffer, size_of(piece.dtype)
        last = piece.elements - ELEMENTS if piece.dtype == dtype and not at_start else 0
        offset = self.random.randint(0, last)
        base = buffer.data
        if self.chance(0.3):
            base = tirx.Var(self.name("p"), buffer.data.ty)
            stmts.append(tirx.Bind(base, buffer.data))
        mask = {"in": 1, "out": 2, "inout": 3}[mode]
        ways = [
            lambda: tirx.address_of(buffer[offset]),
            lambda: tirx.tvm_access_ptr(piece.dtype, base, offset, ELEMENTS, mask),
            lambda: tirx.tvm_access_ptr(
                dtype, base, offset * itemsize // size_of(dtype), ELEMENTS, mask
            ),
            lambda: tirx.ptr_byte_offset(base, offset * itemsize, dtype),
            lambda: tirx.handle_add_byte_offset(base, offset * itemsize),
            *[lambda: base] * (3 if offset == 0 else 0),
        ]
        address = self.random.choice(ways)()
        if self.chance(0.1):
            variable = tirx.Var(self.name("p"), address.ty)
            stmts.append(tirx.Bind(variable, address))
            return variable
        return address

    def arguments(self, stmts: list, scope: Scope, callee: Callee) -> list[tirx.Expr]:
        """Addresses for the parameters; one piece may be passed twice, whatever is written must be
        writable, and what none has yet is allocated."""
        passed: list[tirx.Expr] = []
        read: list[Piece] = []
        for parameter in callee.parameters:
            pieces = [p for p in scope.ready if fits(p, parameter.dtype)]
            again = [p for p in read if fits(p, parameter.dtype)]
            if parameter.mode != "in":
                pieces = [p for p in pieces if p.writable]
            elif again and self.chance(0.3):
                pieces = again
            if parameter.mode == "out":
                whole = (p for p in scope.fresh if p.elements == ELEMENTS)
                pieces = [*[p for p in whole if p.dtype == parameter.dtype] * 2, *pieces]
            if pieces:
                piece = self.some(pieces)
            else:
                piece = self.allocate(stmts, scope, parameter.dtype, ELEMENTS)
                if parameter.mode != "out":
                    self.fill(stmts, scope, piece)
            if parameter.mode == "in":
                read.append(piece)
            is_fresh = piece in scope.fresh
            if is_fresh:
                scope.fresh.remove(piece)
                scope.ready.append(piece)
            address = self.pointer(stmts, piece, parameter.dtype, parameter.mode, is_fresh)
            passed.append(address)
        return passed

    # ---- pieces of memory

    def allocate(self, stmts: list, scope: Scope, dtype: str, elements: int) -> Piece:
        """A new buffer, which is fresh."""
        piece = Piece(tirx.decl_buffer((elements,), dtype, self.name("t")), object())
        stmts.append(tirx.AllocBuffer(piece.buffer, self.memories.workspace()))
        scope.fresh.append(piece)
        return piece

    def fill(self, stmts: list, scope: Scope, piece: Piece) -> None:
        """Write every element, after which the piece is ready."""
        index = self.index_variable()
        self.trips *= piece.elements
        self.steps += self.trips
        value = self.value(stmts, scope, piece.dtype, 1)
        if scope.ready:
            source = self.some(scope.ready)
            element = source.buffer[tirx.floormod(index, source.elements)]
            value = value + cast(piece.dtype, element)
        self.trips //= piece.elements
        store = tirx.BufferStore(piece.buffer, value + cast(piece.dtype, index), [index])
        stmts.append(tirx.For(index, 0, piece.elements, tirx.ForKind.SERIAL, store))
        if piece in scope.fresh:
            scope.fresh.remove(piece)
            scope.ready.append(piece)

    def fold(self, stmts: list, source: Piece, piece: Piece) -> None:
        """Let every element of `source` count for `piece`; both have ELEMENTS of them."""
        index = self.index_variable()
        old = piece.buffer[index] * tirx.const(3, piece.dtype)
        value = old + cast(piece.dtype, source.buffer[index])
        store = tirx.BufferStore(piece.buffer, value, [index])
        stmts.append(tirx.For(index, 0, ELEMENTS, tirx.ForKind.SERIAL, store))

    def observe(self, stmts: list, scope: Scope) -> None:
        """Let a value count for the result."""
        if scope.element:
            piece, index = scope.element
        else:
            piece = self.random.choice(self.sinks)
            index = self.random.randint(0, piece.elements - 1)
        old = piece.buffer[index] * tirx.const(3, piece.dtype)
        if scope.ready:
            read = self.random.choice(scope.ready)
            value = read.buffer[self.index(scope, read)]
        else:
            value = self.value(stmts, scope, piece.dtype)
        stmts.append(tirx.BufferStore(piece.buffer, old + cast(piece.dtype, value), [index]))

    # ---- calls

    def affordable(self, returning: bool) -> list[Callee]:
        return [
            callee
            for callee in self.callees
            if bool(callee.returns) == returning
            and self.steps + self.trips * callee.steps < MOST_STEPS
        ]

    def pick(self, callees: list[Callee]) -> Callee:
        """One of them, with a preference for those that may call others."""
        return self.random.choice(callees[-2:] if self.chance(0.6) else callees)

    def call(self, stmts: list, scope: Scope, callee: Callee) -> None:
        """A statement that calls a procedure, by GlobalVar or by name."""
        arguments = self.arguments(stmts, scope, callee)
        self.steps += self.trips * callee.steps
        name = StringImm(callee.symbol)
        ways = [
            *[lambda: Call(callee.variable, arguments, ret_ty=tvm.ir.TupleType([]))] * 3,
            lambda: tirx.call_extern("int32", name, *arguments),
            lambda: tirx.call_packed(name, *arguments),
            lambda: tirx.call_cpacked(name, *arguments, self.handle),
        ]
        stmts.append(tirx.Evaluate(self.random.choice(ways)()))


def cast(dtype: str, value: tirx.Expr) -> tirx.Expr:
    return value if str(value.ty.dtype) == dtype else tirx.Cast(dtype, value)


def size_of(dtype: str) -> int:
    return tvm.DataType(dtype).itemsize


def fits(piece: Piece, dtype: str) -> bool:
    """Whether ELEMENTS elements of `dtype` can be seen in the piece; bytes always can."""
    return piece.dtype == dtype or dtype == "int8"


def block(stmts: list[tirx.Stmt]) -> tirx.Stmt:
    """One statement for all of them."""
    flat = [child for stmt in stmts for child in tirx.stmt_list(stmt)]
    return tirx.SeqStmt(flat) if len(flat) != 1 else flat[0]
