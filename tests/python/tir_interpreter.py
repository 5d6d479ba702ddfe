"""Runs flat TIR on bytes, as the text says.

Slow and simple, so that it can be trusted: nothing of the planner is in here. Memory that was never
written has no value, and reading it is an error, as is writing a constant, an access that is not
aligned, or one outside of its memory.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, TensorLoad

CONSTANT_DATA = "constant_data"
"""The annotation of an AllocBuffer that holds a constant: its content."""


@dataclass(frozen=True)
class Pointer:
    """A byte of some memory, which starts aligned for every type.

    A `None` in the memory is a byte that was never written; a tuple is memory that nobody may
    write.
    """

    memory: list[int | None] | tuple[int, ...]
    offset: int = 0


class _Return(Exception):
    """Leaves a PrimFunc."""


class _Break(Exception):
    """Leaves a loop."""


class _Continue(Exception):
    """Leaves an iteration."""


_ARITHMETIC = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.FloorMod: operator.mod,
}
_COMPARISONS = {
    tirx.LT: operator.lt,
    tirx.GT: operator.gt,
    tirx.EQ: operator.eq,
    tirx.NE: operator.ne,
}
_CALLS_BY_NAME = (
    "tirx.call_extern",
    "tirx.call_pure_extern",
    "tirx.tvm_call_cpacked",
    "tirx.tvm_call_packed",
)
CONCURRENT = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED)
_ENDED = object()

Steps = Generator[None, None, None]
"""A run that pauses after each statement that it completes."""


class Interpreter:
    """Runs the PrimFuncs of a module.

    Parameters
    ----------
    mod: the module.
    backwards: evaluate operands and arguments from right to left, which C leaves open, and start
        with the last of the iterations that run at once.
    interleaved: let the iterations of a parallel or vectorized loop each do one statement in turn;
        else they run one after the other.
    steps: how many statements may run; a loop whose counter was overwritten may never end.
    """

    def __init__(
        self,
        mod: tvm.IRModule,
        backwards: bool = False,
        interleaved: bool = True,
        steps: int = 100_000,
    ) -> None:
        self.order = -1 if backwards else 1
        self.interleaved = interleaved
        self.steps = steps
        self.functions: dict[str, tirx.PrimFunc] = {}
        for variable, func in mod.functions.items():
            self.functions[variable.name_hint] = func
            if func.attrs and "global_symbol" in func.attrs:
                self.functions[str(func.attrs["global_symbol"])] = func

    def call(self, name: str, arguments: list) -> int | None:
        """Run one PrimFunc; returns what it returns."""
        try:
            for _ in self.calling(name, arguments):
                pass
        except _Return as result:
            return result.args[0]
        return None

    def calling(self, name: str, arguments: list) -> Steps:
        """Run one PrimFunc step by step; it may end with `_Return`."""
        func = self.functions[name]
        yield from self.run(func.body, dict(zip(func.params, arguments, strict=True)))

    # ---- statements

    def run(self, stmt: tirx.Stmt, variables: dict) -> Steps:
        """Run one statement; it may add to `variables`."""
        kind = type(stmt)
        if kind is tirx.SeqStmt:
            for child in stmt.seq:
                yield from self.run(child, variables)
            return
        if kind is tirx.IfThenElse:
            if self.value(stmt.condition, variables):
                yield from self.run(stmt.then_case, dict(variables))
            elif stmt.else_case is not None:
                yield from self.run(stmt.else_case, dict(variables))
        elif kind is tirx.For:
            if stmt.kind in CONCURRENT:
                yield from self.run_at_once(stmt, variables)
            else:
                yield from self.run_in_turn(stmt, variables)
        elif kind is tirx.While:
            while self.value(stmt.condition, variables):
                try:
                    with suppress(_Continue):
                        yield from self.run(stmt.body, dict(variables))
                except _Break:
                    break
        elif kind is tirx.Evaluate and (callee := self.callee(stmt.value)):
            name, arguments = callee
            with suppress(_Return):
                yield from self.calling(name, self.values(arguments, variables))
        else:
            self.execute(stmt, variables)
        self.steps -= 1
        assert self.steps > 0, "the program does not end"
        yield

    def run_in_turn(self, stmt: tirx.For, variables: dict) -> Steps:
        """A serial loop; the bounds are evaluated again before every iteration, as in C."""
        index = self.value(stmt.min, variables)
        assert stmt.step is None
        while index < self.value(stmt.min, variables) + self.value(stmt.extent, variables):
            try:
                with suppress(_Continue):
                    yield from self.run(stmt.body, {**variables, stmt.loop_var: index})
            except _Break:
                break
            index += 1

    def run_at_once(self, stmt: tirx.For, variables: dict) -> Steps:
        """A loop whose iterations run at the same time, each with variables of its own."""
        start, extent = self.values([stmt.min, stmt.extent], variables)
        iterations = [
            self.run(stmt.body, {**variables, stmt.loop_var: index})
            for index in range(start, start + extent)[:: self.order]
        ]
        if not self.interleaved:
            for iteration in iterations:
                yield from iteration
            return
        while iterations:
            iterations = [steps for steps in iterations if next(steps, _ENDED) is not _ENDED]
            yield

    def execute(self, stmt: tirx.Stmt, variables: dict) -> None:
        """Run a statement that has no other statements in it."""
        kind = type(stmt)
        if kind is tirx.AllocBuffer:
            variables[stmt.buffer] = _allocate(stmt)
        elif kind is tirx.DeclBuffer:
            address = self.value(stmt.data, variables)
            assert address.offset % _itemsize(stmt.buffer.dtype) == 0, "view is not aligned"
            variables[stmt.buffer] = address
        elif kind is tirx.Bind:
            variables[stmt.var] = self.value(stmt.value, variables)
        elif kind is tirx.BufferStore:
            value, index = self.values([stmt.value, *stmt.indices], variables)
            self.store(variables[stmt.buffer], index, _itemsize(stmt.buffer.dtype), value)
        elif kind is tirx.Evaluate:
            self.value(stmt.value, variables)
        elif kind is tirx.Return:
            raise _Return(self.value(stmt.value, variables))
        elif kind is tirx.Break:
            raise _Break
        elif kind is tirx.Continue:
            raise _Continue
        else:
            raise NotImplementedError(kind)

    # ---- expressions

    def values(self, exprs: list[tirx.Expr], variables: dict) -> list:
        """The values of several expressions, evaluated in the order of this interpreter."""
        return [self.value(e, variables) for e in exprs[:: self.order]][:: self.order]

    def value(self, expr: tirx.Expr, variables: dict) -> int | Pointer | None:
        """The value of an expression."""
        kind = type(expr)
        if kind is TensorLoad:
            address, index = self.values([expr.source, expr.indices[0]], variables)
            return self.load(address, index, _itemsize(expr.source.dtype))
        if kind in _ARITHMETIC:
            a, b = self.values([expr.a, expr.b], variables)
            return _wrap(_ARITHMETIC[kind](a, b), expr.ty.dtype)
        if kind in _COMPARISONS:
            return _COMPARISONS[kind](*self.values([expr.a, expr.b], variables))
        if kind is tirx.IntImm:
            return int(expr.value)
        if kind is tirx.Cast:
            return _wrap(self.value(expr.value, variables), expr.ty.dtype)
        if kind is tirx.Var:
            return variables[expr]
        assert kind is Call, expr
        if callee := self.callee(expr):
            name, arguments = callee
            return self.call(name, self.values(arguments, variables))
        return self.address(expr, variables)

    def address(self, call: Call, variables: dict) -> int | Pointer:
        """The value of an operator; all of them compute addresses."""
        name = call.op.name
        if name == "tirx.address_of":
            (element,) = call.args
            address, index = self.values([element.source, element.indices[0]], variables)
            return _advance(address, index * _itemsize(element.source.dtype))
        if name == "tirx.tvm_access_ptr":
            annotation, *parts = call.args
            address, offset, _extent, _mask = self.values(parts, variables)
            return _advance(address, offset * _itemsize(annotation.ty.dtype))
        if name in ("tirx.handle_add_byte_offset", "tirx.ptr_byte_offset"):
            return _advance(*self.values(list(call.args)[:2], variables))
        assert name in ("tirx.buffer_data", "tirx.reinterpret"), call
        return self.value(call.args[0], variables)

    def callee(self, expr: tirx.Expr) -> tuple[str, list[tirx.Expr]] | None:
        """Name and arguments, if `expr` calls a PrimFunc; by name there may be a handle more."""
        if not isinstance(expr, Call):
            return None
        if isinstance(expr.op, GlobalVar):
            return expr.op.name_hint, list(expr.args)
        if expr.op.name not in _CALLS_BY_NAME:
            return None
        name, *arguments = expr.args
        count = len(self.functions[name.value].params)
        assert len(arguments) - count in (0, 1), f"{len(arguments)} arguments for {count}"
        return str(name.value), arguments[:count]

    # ---- memory

    def store(self, address: Pointer, index: int, itemsize: int, value: int) -> None:
        """Write an element."""
        assert isinstance(address.memory, list), "write to a constant"
        span = _span(address, index, itemsize)
        wrapped = value % (1 << (8 * itemsize))
        address.memory[span] = wrapped.to_bytes(itemsize, "little")

    def load(self, address: Pointer, index: int, itemsize: int) -> int:
        """Read an element."""
        found = address.memory[_span(address, index, itemsize)]
        assert None not in found, "read of memory that was never written"
        return int.from_bytes(bytes(found), "little", signed=True)


def _allocate(stmt: tirx.AllocBuffer) -> Pointer:
    if CONSTANT_DATA in stmt.annotations:
        return Pointer(tuple(stmt.annotations[CONSTANT_DATA].numpy().tobytes()))
    count = 1
    for extent in stmt.buffer.shape:
        count *= int(extent)
    return Pointer([None] * (count * _itemsize(stmt.buffer.dtype)))


def _span(address: Pointer, index: int, itemsize: int) -> slice:
    start = address.offset + index * itemsize
    assert 0 <= start <= len(address.memory) - itemsize, "access outside of memory"
    assert start % itemsize == 0, "access is not aligned"
    return slice(start, start + itemsize)


def _advance(address: Pointer, count: int) -> Pointer:
    return Pointer(address.memory, address.offset + count)


def _itemsize(dtype: object) -> int:
    return _bits(str(dtype)) // 8


def _wrap(value: int, dtype: object) -> int:
    """`value` in two's complement."""
    half = 1 << (_bits(str(dtype)) - 1)
    return (value + half) % (2 * half) - half


@functools.cache
def _bits(dtype: str) -> int:
    return tvm.DataType(dtype).itemsize * 8
