"""Runs flat TIR on bytes, as the text says.

Slow and simple, so that it can be trusted: nothing of the planner is in here. `tir_memory.Memory`
says which accesses are errors.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from functools import partial
from operator import attrgetter

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, TensorLoad

from support.tir_arithmetic import (
    COMPARISONS,
    FUNCTIONS,
    OPERATIONS,
    Value,
    element_type,
    lanewise,
    wrap,
)
from support.tir_memory import Memory, Pointer, advance, allocate


class _Return(Exception):
    """Leaves a PrimFunc."""


class _Break(Exception):
    """Leaves a loop."""


class _Continue(Exception):
    """Leaves an iteration."""


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


class Interpreter(Memory):
    """Runs the PrimFuncs of a module.

    Parameters
    ----------
    mod
        the module.
    backwards
        evaluate operands and arguments from right to left, which C leaves open, and start
        with the last of the iterations that run at once.
    interleaved
        let the iterations of a parallel or vectorized loop each do one statement in turn;
        else they run one after the other.
    steps
        how many statements may run; a loop whose counter was overwritten may never end.
    """

    def __init__(
        self,
        mod: tvm.IRModule,
        backwards: bool = False,
        interleaved: bool = True,
        steps: int = 100_000,
    ) -> None:
        super().__init__()
        self.order = -1 if backwards else 1
        self.interleaved = interleaved
        self.steps = steps
        self.fields: dict[int, tuple[tvm.Object, list]] = {}
        """What `parts` has read of each node, by its address."""
        self.variables: dict[int, tirx.Var] = {}
        """One Python object for each variable, by its address."""
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
        params, body = self.parts(func, "params", "body")
        yield from self.run(body, dict(zip(params, arguments, strict=True)))

    # ---- nodes

    def parts(self, node: tvm.Object, *names: str) -> list:
        """Fields of a node, always the same ones, with arrays as lists.

        They are read once: TVM makes a Python object whenever a field is read, and two objects of
        one variable are slow to compare.
        """
        # Not the hash, which of an integer constant is its value: those of -1 and -2 are equal.
        address = node.__chandle__()
        if address not in self.fields:
            # The node is kept, so no other can come to lie at its address.
            self.fields[address] = node, [self.part(attrgetter(name)(node)) for name in names]
        return self.fields[address][1]

    def part(self, field: object) -> object:
        """A field as `parts` returns it."""
        if isinstance(field, tvm_ffi.Array):
            return [self.part(element) for element in field]
        if type(field) is not tirx.Var:
            return field
        return self.variables.setdefault(field.__chandle__(), field)

    # ---- statements

    def run(self, stmt: tirx.Stmt, variables: dict) -> Steps:
        """Run one statement; it may add to `variables`."""
        kind = type(stmt)
        if kind is tirx.SeqStmt:
            for child in self.parts(stmt, "seq")[0]:
                yield from self.run(child, variables)
            return
        if kind is tirx.IfThenElse:
            condition, *cases = self.parts(stmt, "condition", "then_case", "else_case")
            case = cases[0 if self.value(condition, variables) else 1]
            if case is not None:
                yield from self.run(case, dict(variables))
        elif kind is tirx.For:
            if stmt.kind in CONCURRENT:
                yield from self.run_at_once(stmt, variables)
            else:
                yield from self.run_in_turn(stmt, variables)
        elif kind is tirx.While:
            condition, body = self.parts(stmt, "condition", "body")
            while self.value(condition, variables):
                try:
                    with suppress(_Continue):
                        yield from self.run(body, dict(variables))
                except _Break:
                    break
        elif kind is tirx.Evaluate and (callee := self.callee(self.parts(stmt, "value")[0])):
            name, arguments = callee
            with suppress(_Return):
                yield from self.calling(name, self.values(arguments, variables))
        elif kind is tirx.AttrStmt:
            yield from self.run(self.parts(stmt, "body")[0], variables)
        else:
            self.execute(stmt, variables)
        self.steps -= 1
        assert self.steps > 0, "the program does not end"
        yield

    def run_in_turn(self, stmt: tirx.For, variables: dict) -> Steps:
        """A serial loop; the bounds are evaluated again before every iteration, as in C."""
        first, extent, step, variable, body = self.loop(stmt)
        index = self.value(first, variables)
        by = 1 if step is None else self.value(step, variables)
        while index < self.value(first, variables) + self.value(extent, variables):
            try:
                with suppress(_Continue):
                    yield from self.run(body, {**variables, variable: index})
            except _Break:
                break
            index += by

    def run_at_once(self, stmt: tirx.For, variables: dict) -> Steps:
        """A loop whose iterations run at the same time, each with variables of its own."""
        first, count, _, variable, body = self.loop(stmt)
        start, extent = self.values([first, count], variables)
        iterations = [
            self.run(body, {**variables, variable: index})
            for index in range(start, start + extent)[:: self.order]
        ]
        if not self.interleaved:
            for iteration in iterations:
                yield from iteration
            return
        while iterations:
            iterations = [steps for steps in iterations if next(steps, _ENDED) is not _ENDED]
            yield

    def loop(self, stmt: tirx.For) -> list:
        """Start, extent, step if there is one, variable and body of a loop."""
        return self.parts(stmt, "min", "extent", "step", "loop_var", "body")

    def execute(self, stmt: tirx.Stmt, variables: dict) -> None:
        """Run a statement that has no other statements in it."""
        kind = type(stmt)
        if kind is tirx.AllocBuffer:
            variables[self.parts(stmt, "buffer")[0]] = allocate(stmt)
        elif kind is tirx.DeclBuffer:
            buffer, data = self.parts(stmt, "buffer", "data")
            address = self.value(data, variables)
            assert address.offset % self.layout(buffer).itemsize == 0, "view is not aligned"
            variables[buffer] = address
        elif kind is tirx.Bind:
            variable, bound = self.parts(stmt, "var", "value")
            variables[variable] = self.value(bound, variables)
        elif kind is tirx.BufferStore:
            buffer, stored, places = self.parts(stmt, "buffer", "value", "indices")
            value, *indices = self.values([stored, *places], variables)
            index = self.index(buffer, indices)
            lanewise(partial(self.store_element, variables[buffer], buffer), index, value)
        elif kind is tirx.Evaluate:
            self.value(self.parts(stmt, "value")[0], variables)
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

    def value(self, expr: tirx.Expr, variables: dict) -> Value | Pointer | None:
        """The value of an expression."""
        kind = type(expr)
        if kind is TensorLoad:
            source, places = self.parts(expr, "source", "indices")
            address, *indices = self.values([source, *places], variables)
            index = self.index(source, indices)
            return lanewise(partial(self.load_element, address, source), index)
        if kind in OPERATIONS:
            *operands, dtype = self.parts(expr, "a", "b", "ty.dtype")
            return wrap(lanewise(OPERATIONS[kind], *self.values(operands, variables)), dtype)
        if kind in COMPARISONS:
            return lanewise(COMPARISONS[kind], *self.values(self.parts(expr, "a", "b"), variables))
        if kind in (tirx.IntImm, tirx.FloatImm):
            return self.parts(expr, "value")[0]
        if kind is tirx.Var:
            return variables[expr]
        if kind is tirx.Cast:
            operand, dtype = self.parts(expr, "value", "ty.dtype")
            return wrap(self.value(operand, variables), dtype)
        if kind is not Call:
            return self.compound(expr, variables)
        if callee := self.callee(expr):
            name, arguments = callee
            return self.call(name, self.values(arguments, variables))
        return self.operator(expr, variables)

    def compound(self, expr: tirx.Expr, variables: dict) -> Value:
        """The value of an expression of a rare kind; what it does not need is not evaluated, as in
        C."""
        kind = type(expr)
        if kind in (tirx.And, tirx.Or):
            left = self.value(expr.a, variables)
            return left if bool(left) == (kind is tirx.Or) else self.value(expr.b, variables)
        if kind is tirx.Not:
            return lanewise(lambda a: not a, self.value(expr.a, variables))
        if kind is tirx.BitwiseNot:
            return wrap(lanewise(lambda a: ~int(a), self.value(expr.a, variables)), expr.ty.dtype)
        if kind is tirx.Select:
            return self.choose([expr.condition, expr.true_value, expr.false_value], variables)
        if kind is tirx.Let:
            return self.value(expr.body, {**variables, expr.var: self.value(expr.value, variables)})
        if kind is tirx.Ramp:
            base, stride = self.values([expr.base, expr.stride], variables)
            return tuple(base + lane * stride for lane in range(int(expr.lanes)))
        assert kind is tirx.Broadcast, expr
        return (self.value(expr.value, variables),) * int(expr.lanes)

    def operator(self, call: Call, variables: dict) -> Value | Pointer:
        """The value of an operator."""
        name = call.op.name
        if name == "prim.if_then_else":
            return self.choose(self.parts(call, "args")[0], variables)
        if name == "prim.likely":
            return self.value(call.args[0], variables)
        if self.is_pure_extern(call):
            return self.extern(
                call.args[0].value, self.values(self.parts(call, "args")[0][1:], variables)
            )
        if name in FUNCTIONS:
            return wrap(FUNCTIONS[name](self.value(call.args[0], variables)), call.ty.dtype)
        return self.address(call, variables)

    def choose(self, parts: list[tirx.Expr], variables: dict) -> Value | Pointer | None:
        """One of two values, by a condition, or of each lane one of two."""
        condition = self.value(parts[0], variables)
        if isinstance(condition, tuple):
            values = self.values(parts[1:], variables)
            return lanewise(lambda c, a, b: a if c else b, condition, *values)
        return self.value(parts[1] if condition else parts[2], variables)

    def is_pure_extern(self, call: Call) -> bool:
        """Whether a function outside of the module is called, which accesses no memory."""
        is_pure = call.op.name == "tirx.call_pure_extern"
        return is_pure and call.args[0].value not in self.functions

    def extern(self, name: str, values: list[Value]) -> Value:
        """The value of a function outside of the module."""
        raise NotImplementedError(name)

    def address(self, call: Call, variables: dict) -> int | Pointer:
        """The value of an operator that computes an address."""
        name = call.op.name
        if name == "tirx.address_of":
            ((element,),) = self.parts(call, "args")
            source, places = self.parts(element, "source", "indices")
            address, *indices = self.values([source, *places], variables)
            index = self.index(source, indices)
            return advance(address, index * self.layout(source).itemsize)
        if name == "tirx.tvm_access_ptr":
            annotation, *parts = self.parts(call, "args")[0]
            address, offset, _extent, _mask = self.values(parts, variables)
            return advance(address, offset * element_type(str(annotation.ty.dtype))[1] // 8)
        if name in ("tirx.handle_add_byte_offset", "tirx.ptr_byte_offset"):
            return advance(*self.values(self.parts(call, "args")[0][:2], variables))
        assert name in ("tirx.buffer_data", "tirx.reinterpret"), call
        return self.value(call.args[0], variables)

    def callee(self, expr: tirx.Expr) -> tuple[str, list[tirx.Expr]] | None:
        """Name and arguments, if `expr` calls a PrimFunc; by name there may be a handle more."""
        if not isinstance(expr, Call):
            return None
        if isinstance(expr.op, GlobalVar):
            return expr.op.name_hint, self.parts(expr, "args")[0]
        if expr.op.name not in _CALLS_BY_NAME or self.is_pure_extern(expr):
            return None
        name, *arguments = self.parts(expr, "args")[0]
        count = len(self.functions[name.value].params)
        assert len(arguments) - count in (0, 1), f"{len(arguments)} arguments for {count}"
        return str(name.value), arguments[:count]
