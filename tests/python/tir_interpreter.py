"""Runs flat TIR on bytes, one after the other, as the text says.

Slow and simple, so that it can be trusted: nothing of the planner is in here. Memory that was never
written has no value, and reading it is an error.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, PointerType, TensorLoad


@dataclass(frozen=True)
class Pointer:
    """A byte of some memory; `None` is a byte that was never written."""

    memory: list[int | None]
    offset: int = 0


class _Return(Exception):
    """Leaves a PrimFunc."""


_BINARY = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.LT: operator.lt,
    tirx.GT: operator.gt,
    tirx.EQ: operator.eq,
    tirx.NE: operator.ne,
}


class Interpreter:
    """Runs the PrimFuncs of a module.

    Parameters
    ----------
    mod: the module.
    right_to_left: the order in which operands and arguments are evaluated; C leaves it open.
    steps: how many statements may run; a loop whose counter was overwritten may never end.
    """

    def __init__(
        self, mod: tvm.IRModule, right_to_left: bool = False, steps: int = 1_000_000
    ) -> None:
        self.mod = mod
        self.steps = steps
        self.order = -1 if right_to_left else 1

    def call(self, name: str, arguments: list) -> int | None:
        """Run one PrimFunc; returns what it returns."""
        func = self.mod[name]
        variables = dict(zip(func.params, arguments, strict=True))
        try:
            self.run(func.body, variables)
        except _Return as result:
            return result.args[0]
        return None

    def run(self, stmt: tirx.Stmt, variables: dict) -> None:
        """Run one statement; it may add to `variables`."""
        self.steps -= 1
        assert self.steps > 0, "the program does not end"
        if isinstance(stmt, tirx.SeqStmt):
            for child in stmt.seq:
                self.run(child, variables)
        elif isinstance(stmt, tirx.AllocBuffer):
            count = 1
            for extent in stmt.buffer.shape:
                count *= int(extent)
            variables[stmt.buffer] = Pointer([None] * (count * _itemsize(stmt.buffer)))
        elif isinstance(stmt, tirx.DeclBuffer):
            variables[stmt.buffer] = self.value(stmt.data, variables)
        elif isinstance(stmt, tirx.Bind):
            variables[stmt.var] = self.value(stmt.value, variables)
        elif isinstance(stmt, tirx.BufferStore):
            parts = [stmt.value, *stmt.indices]
            value, index = self.values(parts, variables)
            self.store(variables[stmt.buffer], index, _itemsize(stmt.buffer), value)
        elif isinstance(stmt, tirx.Evaluate):
            self.value(stmt.value, variables)
        elif isinstance(stmt, tirx.IfThenElse):
            if self.value(stmt.condition, variables):
                self.run(stmt.then_case, dict(variables))
            elif stmt.else_case is not None:
                self.run(stmt.else_case, dict(variables))
        elif isinstance(stmt, tirx.For):
            index = self.value(stmt.min, variables)
            stop = index + self.value(stmt.extent, variables)
            while index < stop:
                self.run(stmt.body, {**variables, stmt.loop_var: index})
                index += 1
        elif isinstance(stmt, tirx.While):
            while self.value(stmt.condition, variables):
                self.run(stmt.body, dict(variables))
        elif isinstance(stmt, tirx.Return):
            raise _Return(self.value(stmt.value, variables))
        else:
            raise NotImplementedError(type(stmt))

    def values(self, exprs: list[tirx.Expr], variables: dict) -> list:
        """The values of several expressions, evaluated in the order of this interpreter."""
        return [self.value(e, variables) for e in exprs[:: self.order]][:: self.order]

    def value(self, expr: tirx.Expr, variables: dict) -> int | Pointer | None:
        """The value of an expression."""
        if isinstance(expr, tirx.IntImm):
            return int(expr)
        if isinstance(expr, tirx.Var):
            return variables[expr]
        if isinstance(expr, tirx.Cast):
            return self.value(expr.value, variables)
        if type(expr) in _BINARY:
            return _BINARY[type(expr)](*self.values([expr.a, expr.b], variables))
        if isinstance(expr, TensorLoad):
            address, index = self.values([expr.source, expr.indices[0]], variables)
            return self.load(address, index, _itemsize(expr.source))
        assert isinstance(expr, Call), expr
        if isinstance(expr.op, GlobalVar):
            return self.call(expr.op.name_hint, self.values(list(expr.args), variables))
        (argument,) = expr.args
        if expr.op.name == "tirx.buffer_data":
            return variables[argument]
        assert expr.op.name == "tirx.address_of", expr
        address, index = self.values([argument.source, argument.indices[0]], variables)
        return Pointer(address.memory, address.offset + index * _itemsize(argument.source))

    def store(self, address: Pointer, index: int, itemsize: int, value: int) -> None:
        start = address.offset + index * itemsize
        assert 0 <= start <= len(address.memory) - itemsize, "write outside of memory"
        wrapped = value % (1 << (8 * itemsize))
        address.memory[start : start + itemsize] = wrapped.to_bytes(itemsize, "little")

    def load(self, address: Pointer, index: int, itemsize: int) -> int:
        start = address.offset + index * itemsize
        assert 0 <= start <= len(address.memory) - itemsize, "read outside of memory"
        found = address.memory[start : start + itemsize]
        assert None not in found, "read of memory that was never written"
        return int.from_bytes(bytes(found), "little", signed=True)


def _itemsize(var: tirx.Var) -> int:
    ty = var.ty.element_type if isinstance(var.ty, PointerType) else var.ty
    return tvm.DataType(str(ty.dtype)).itemsize
