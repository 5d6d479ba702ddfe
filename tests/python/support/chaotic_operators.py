"""Random PrimFuncs without any purpose: every kind of index, loop, branch and call, mixed.

Every parameter has content, so that everything may be read at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import Call, GlobalVar, TupleType

from support.operator_builder import Builder, block, cast, loop, store, wide
from support.overlapped_runs import Operator

DTYPES = ["int8", "int8", "uint8", "int16", "int32", "float32", "bool"]
VIEW = 6
"""Elements that a called PrimFunc sees of each of its parameters."""
MOST_STEPS = 800
"""Iterations of the innermost loops, about."""


@dataclass(frozen=True)
class Term:
    """An int32 expression, and its least and greatest value."""

    expr: tirx.Expr
    low: int
    high: int


@dataclass
class Scope:
    """What a statement can use: variables, and whether it can leave a loop."""

    terms: list[Term] = field(default_factory=list)
    in_loop: bool = False
    trips: int = 1

    def nested(self, trips: int = 1, *terms: Term, in_loop: bool | None = None) -> Scope:
        """A scope inside of this one."""
        inside = self.in_loop if in_loop is None else in_loop
        return Scope([*self.terms, *terms], inside, self.trips * trips)


@dataclass(frozen=True)
class Callee:
    """A PrimFunc that can be called, and the types of its parameters."""

    variable: GlobalVar
    dtypes: list[str]
    steps: int


class Chaos:
    """Draws the body of one PrimFunc.

    Parameters
    ----------
    is_calm
        whether nothing depends on what is in memory, so that the text tells all accesses.
    """

    def __init__(
        self, random: Random, buffers: list[tirx.Var], callees: list[Callee], is_calm: bool
    ) -> None:
        self.random = random
        self.is_calm = is_calm
        self.buffers = buffers
        known = {str(buffer.dtype) for buffer in buffers}
        self.callees = [callee for callee in callees if known.issuperset(callee.dtypes)]
        self.steps = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # ---- statements

    def statements(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        """A few statements."""
        stmts: list[tirx.Stmt] = []
        scope = scope.nested()
        for _ in range(self.random.randint(1, 3)):
            kinds = ["store"] * 3 + ["bind", "view"]
            if depth and scope.trips < 60:
                kinds += ["loop"] * 5 + ["branch"] * 2 + ["while"] * (not self.is_calm)
            if scope.in_loop and not self.is_calm:
                kinds.append("leave")
            if self.callees:
                kinds += ["call"] * 2
            self.steps += scope.trips
            stmts += getattr(self, f"add_{self.random.choice(kinds)}")(scope, depth)
        return stmts

    def add_store(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        buffer = self.random.choice(self.buffers)
        index = self.index(scope, buffer)
        value = self.value(scope)
        if self.chance(0.2):  # the same element, read and written
            value = cast("int32", buffer[index]) + value
        return [store(buffer, index, value)]

    def add_bind(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        variable = tirx.Var("v", "int32")
        term = self.term(scope)
        scope.terms.append(Term(variable, term.low, term.high))
        return [tirx.Bind(variable, term.expr)]

    def add_view(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        """The bytes of a buffer under another name, and perhaps of another type."""
        source = self.random.choice(self.buffers)
        dtype = str(source.dtype) if self.chance(0.5) else self.random.choice(["int8", "uint8"])
        view = tirx.decl_buffer((VIEW,), dtype, "view")
        pointer = self.pointer(scope, source)
        index = self.index(scope, view)
        other = self.random.choice(self.buffers)
        if self.chance(0.5):
            use = store(view, index, self.value(scope))
        else:
            use = store(other, self.index(scope, other), wide(view[index]))
        return [tirx.DeclBuffer(view, data=pointer), use]

    def add_loop(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        """A loop from any start, in steps; its extent may depend on outer loops, and be 0."""
        most = self.random.randint(1, 5)
        start = Term(tirx.IntImm("int32", 0), 0, 0)
        extent: tirx.Expr | int = most
        small = [term for term in scope.terms if term.low >= 0 and term.high <= 6]
        if small and self.chance(0.3):
            outer = self.random.choice(small)
            extent, most = self.random.choice(
                [
                    (outer.expr, max(outer.high, 1)),
                    (outer.expr + 1, outer.high + 1),
                    (outer.high - outer.expr, max(outer.high, 1)),
                ]
            )
        if self.chance(0.2):
            offset = self.random.randint(-2, 3)
            start = Term(tirx.IntImm("int32", offset), offset, offset)
        elif small and self.chance(0.2):
            start = self.random.choice(small)
        step = self.random.randint(1, 3) if self.chance(0.2) else None
        kind = self.random.choice([tirx.ForKind.SERIAL, tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED])

        def body(index):
            term = Term(index, start.low, max(start.high + most - 1, start.low))
            return self.statements(scope.nested(most, term, in_loop=True), depth - 1)

        return [loop(extent, body, start.expr, step, kind)]

    def add_branch(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        yes = block(self.statements(scope, depth - 1))
        no = block(self.statements(scope, depth - 1)) if self.chance(0.4) else None
        return [tirx.IfThenElse(self.condition(scope), yes, no)]

    def add_while(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        count = tirx.decl_buffer((1,), "int32", "count", scope="local")
        times = self.random.randint(1, 3)
        counted = Term(count[0], 0, times - 1)
        inner = scope.nested(times, counted, in_loop=False)
        advance = store(count, 0, count[0] + 1)
        body = [*self.statements(inner, depth - 1), advance]
        head = [tirx.AllocBuffer(count), store(count, 0, tirx.IntImm("int32", 0))]
        return [*head, tirx.While(count[0] < times, block(body))]

    def add_leave(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        leave = self.random.choice([tirx.Break, tirx.Continue])()
        return [tirx.IfThenElse(self.condition(scope), leave, None)]

    def add_call(self, scope: Scope, depth: int) -> list[tirx.Stmt]:
        """A call on views; several parameters may see the same bytes."""
        callee = self.random.choice(self.callees)
        if self.steps + scope.trips * callee.steps > MOST_STEPS:
            return self.add_store(scope, depth)
        self.steps += scope.trips * callee.steps
        arguments = []
        for dtype in callee.dtypes:
            fitting = [b for b in self.buffers if str(b.dtype) == dtype]
            arguments.append(self.pointer(scope, self.random.choice(fitting)))
        return [tirx.Evaluate(Call(callee.variable, arguments, ret_ty=TupleType([])))]

    # ---- addresses and indices

    def pointer(self, scope: Scope, buffer: tirx.Var) -> tirx.Expr:
        """The address of `VIEW` elements of the buffer."""
        offset = self.fitted(scope, int(buffer.shape[0]) - VIEW + 1)
        itemsize = tirx.IntImm("int32", {"int16": 2, "int32": 4, "float32": 4}.get(buffer.dtype, 1))
        ways = [
            lambda: tirx.address_of(buffer[offset]),
            lambda: tirx.tvm_access_ptr(str(buffer.dtype), buffer.data, offset, VIEW, 3),
            lambda: tirx.handle_add_byte_offset(buffer.data, offset * itemsize),
        ]
        return self.random.choice(ways[: 1 if self.is_calm else None])()

    def index(self, scope: Scope, buffer: tirx.Var) -> tirx.Expr:
        return self.fitted(scope, int(buffer.shape[0]))

    def fitted(self, scope: Scope, size: int) -> tirx.Expr:
        """An expression from 0 to `size` - 1."""
        term = self.term(scope)
        if term.low >= 0 and term.high < size:
            return term.expr
        if term.high - term.low < size:
            return term.expr + self.random.randint(-term.low, size - 1 - term.high)
        zero, last = tirx.IntImm("int32", 0), tirx.IntImm("int32", size - 1)
        inside = tirx.And(term.expr >= 0, term.expr < size)
        ways = [
            lambda: tirx.floormod(term.expr, size),
            lambda: tirx.Max(tirx.Min(term.expr, last), zero),
            lambda: tirx.if_then_else(inside, term.expr, zero),
            lambda: tirx.Select(inside, term.expr, last),
            lambda: tirx.truncmod(tirx.truncmod(term.expr, size) + size, size),
        ]
        return self.random.choice(ways)()

    def term(self, scope: Scope, depth: int = 2) -> Term:
        """An expression of variables; now and then one of something that was loaded."""
        kind = self.random.randint(0, 13)
        if kind <= 2 and depth:
            a, b = self.term(scope, depth - 1), self.term(scope, depth - 1)
            return Term(a.expr + b.expr, a.low + b.low, a.high + b.high)
        if kind <= 4 and depth:
            a, factor = self.term(scope, depth - 1), self.random.choice([-3, -1, 2, 3, 5])
            ends = sorted([a.low * factor, a.high * factor])
            return Term(a.expr * factor, *ends)
        if kind <= 6 and depth:
            return self.rounded(self.term(scope, depth - 1))
        if kind == 7 and depth:
            return self.narrowed(self.term(scope, depth - 1))
        if kind == 8 and not self.is_calm:
            buffer = self.random.choice(self.buffers)
            loaded = tirx.Cast("int8", wide(buffer[self.index(scope, buffer)]))
            return Term(cast("int32", loaded), -128, 127)
        if scope.terms and kind < 13:
            return self.random.choice(scope.terms)
        number = self.random.randint(0, 9)
        return Term(tirx.IntImm("int32", number), number, number)

    def rounded(self, a: Term) -> Term:
        """A quotient, remainder, shift, least or greatest."""
        number = self.random.randint(2, 4)
        other = tirx.IntImm("int32", number)
        ways = [
            lambda: Term(tirx.floordiv(a.expr, number), a.low // number, a.high // number),
            lambda: Term(tirx.floormod(a.expr, number), 0, number - 1),
            lambda: Term(tirx.truncdiv(a.expr, number), min(a.low, 0), max(a.high, 0)),
            lambda: Term(tirx.truncmod(a.expr, number), 1 - number, number - 1),
            lambda: Term(tirx.Min(a.expr, other), min(a.low, number), min(a.high, number)),
            lambda: Term(tirx.Max(a.expr, other), max(a.low, number), max(a.high, number)),
            lambda: Term(a.expr >> 1, a.low >> 1, a.high >> 1),
            lambda: Term(a.expr & 3, 0, 3),
        ]
        return self.random.choice(ways)()

    def narrowed(self, a: Term) -> Term:
        """A narrow type, which may wrap."""
        dtype, low, high = self.random.choice([("int8", -128, 127), ("uint8", 0, 255)])
        if self.chance(0.5):
            a = Term(a.expr * 50, a.low * 50, a.high * 50)
        narrow = tirx.Cast(dtype, a.expr)
        fits = low <= min(a.low, a.high) and max(a.low, a.high) <= high
        bounds = (a.low, a.high) if fits else (low, high)
        return Term(cast("int32", narrow), *bounds)

    # ---- values

    def value(self, scope: Scope, depth: int = 2) -> tirx.Expr:
        kind = self.random.randint(0, 9)
        if kind < 2 and depth:
            return cast("int32", self.value(scope, depth - 1) + self.value(scope, depth - 1))
        if kind == 2 and depth:
            choose = self.random.choice([tirx.Select, tirx.if_then_else])
            parts = self.value(scope, depth - 1), self.value(scope, depth - 1)
            return choose(self.condition(scope), *parts)
        if kind == 3:
            return self.term(scope).expr
        if kind == 4 and depth:
            variable = tirx.Var("l", "int32")
            body = tirx.Add(variable, self.value(scope, depth - 1))
            return tirx.Let(variable, self.value(scope, depth - 1), body)
        buffer = self.random.choice(self.buffers)
        return cast("int32", buffer[self.index(scope, buffer)])

    def condition(self, scope: Scope) -> tirx.Expr:
        """One on variables, or on what is in memory, or both."""
        a, b = self.term(scope).expr, self.term(scope).expr
        compare = self.random.choice([tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE])
        condition = compare(a, b)
        if self.chance(0.3) and not self.is_calm:
            both = self.random.choice([tirx.And, tirx.Or])
            return both(condition, self.value(scope, 0) > 0)
        return tirx.Not(condition) if self.chance(0.1) else condition


def draw_chaos(random: Random) -> Operator:
    """A random PrimFunc, with those that it calls."""
    callees: list[Callee] = []
    functions = {}
    is_calm = random.random() < 0.5
    dtypes = random.sample(DTYPES, 3)
    for number in range(random.choice([0, 0, 1, 2])):
        inner = Builder(by_handle=True)
        types = random.choices(dtypes, k=random.randint(1, 3))
        buffers = [inner.input(VIEW, dtype) for dtype in types]
        if random.random() < 0.3:
            buffers.append(filled_scratch(inner, VIEW, random.choice(dtypes)))
        chaos = Chaos(random, buffers, [*callees], is_calm)
        body = chaos.statements(Scope(), 2)
        variable = GlobalVar(f"inner{number}")
        functions[variable] = inner.func(body)
        callees.append(Callee(variable, types, chaos.steps))
    outer = Builder(random.random() < 0.5)
    buffers = [outer.input(random.randint(8, 20), dtype) for dtype in dtypes]
    if random.random() < 0.3:
        buffers.append(filled_scratch(outer, random.randint(8, 20), random.choice(dtypes)))
    chaos = Chaos(random, buffers, callees, is_calm)
    body = [stmt for _ in range(random.randint(1, 2)) for stmt in chaos.statements(Scope(), 3)]
    return outer.operator(body, functions)


def filled_scratch(builder: Builder, elements: int, dtype: str) -> tirx.Var:
    """A buffer that is allocated and filled at the start."""
    scratch = builder.scratch(elements, dtype)
    builder.head.append(loop(elements, lambda i: store(scratch, i, i)))
    return scratch


CHAOS = st.randoms(use_true_random=False).map(draw_chaos)
