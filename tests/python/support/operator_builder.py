"""Puts flat TIR operators together, statement by statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, PointerType, PrimType

from support.overlapped_runs import Operator

Body = tirx.Stmt | list[tirx.Stmt]
Index = tirx.Expr | int


class Builder:
    """Collects the parameters and allocations of a PrimFunc.

    Parameters
    ----------
    by_handle
        whether parameters are pointers, which the PrimFunc declares as buffers; else the
        parameters are buffers themselves.
    """

    def __init__(self, by_handle: bool = False) -> None:
        self.by_handle = by_handle
        self.params: list[tirx.Var] = []
        self.contents: list[bytes | int] = []
        self.head: list[tirx.Stmt] = []
        self.alignment = 1

    def input(self, elements: int, dtype: str = "int8", below: int | None = None) -> tirx.Var:
        """A parameter with some content: of any value, or from 0 to `below` - 1."""
        content = _content(elements, dtype, below, seed=len(self.params))
        return self._parameter(elements, dtype, content)

    def output(self, elements: int, dtype: str = "int8") -> tirx.Var:
        """A parameter without content."""
        return self._parameter(elements, dtype, elements * self._aligned(dtype))

    def scratch(self, elements: int, dtype: str = "int8", scope: str = "global") -> tirx.Var:
        """A buffer that the PrimFunc allocates at its start."""
        self._aligned(dtype)
        buffer = tirx.decl_buffer((elements,), dtype, f"scratch{len(self.head)}", scope=scope)
        self.head.append(tirx.AllocBuffer(buffer))
        return buffer

    def _parameter(self, elements: int, dtype: str, content: bytes | int) -> tirx.Var:
        self._aligned(dtype)
        name = f"p{len(self.params)}"
        buffer = tirx.decl_buffer((elements,), dtype, name)
        self.contents.append(content)
        if not self.by_handle:
            self.params.append(buffer)
            return buffer
        handle = tirx.Var(f"{name}_handle", PointerType(PrimType(dtype), "global"))
        self.params.append(handle)
        self.head.append(tirx.DeclBuffer(buffer, data=handle))
        return buffer

    def _aligned(self, dtype: str) -> int:
        itemsize = int(tvm.DataType(dtype).itemsize)
        self.alignment = max(self.alignment, itemsize)
        return itemsize

    def func(self, body: Body) -> tirx.PrimFunc:
        """The PrimFunc."""
        func = tirx.PrimFunc(self.params, block([*self.head, block(body)]))
        return func.with_attr("tirx.noalias", True)

    def operator(self, body: Body, others: Mapping[GlobalVar, tirx.PrimFunc] = {}) -> Operator:
        """The PrimFunc, with those that it calls."""
        functions = {GlobalVar("main"): self.func(body), **others}
        return Operator(IRModule(functions), self.contents, self.alignment)


def block(body: Body) -> tirx.Stmt:
    """One statement for all of them."""
    stmts = body if isinstance(body, list) else [body]
    flat = [child for stmt in stmts for child in tirx.stmt_list(stmt)]
    return tirx.SeqStmt(flat) if len(flat) != 1 else flat[0]


def loop(
    extent: Index,
    body: Callable[[tirx.Var], Body],
    start: Index = 0,
    step: int | None = None,
    kind: tirx.ForKind = tirx.ForKind.SERIAL,
) -> tirx.For:
    """A loop over `extent` indices."""
    index = tirx.Var("i", "int32")
    steps = None if step is None else tirx.IntImm("int32", step)
    return tirx.For(index, start, extent, kind, block(body(index)), step=steps)


def nest(extents: list[int], body: Callable[..., Body], *outer: tirx.Var) -> tirx.Stmt:
    """Loops inside of each other; `body` gets all their indices."""
    if not extents:
        return block(body(*outer))
    return loop(extents[0], lambda index: nest(extents[1:], body, *outer, index))


def store(buffer: tirx.Var, index: Index, value: tirx.Expr) -> tirx.BufferStore:
    """`buffer[index] = value`, cast to the type of the buffer."""
    return tirx.BufferStore(buffer, cast(str(buffer.dtype), value), [index])


def cast(dtype: str, value: tirx.Expr) -> tirx.Expr:
    """`value` as another type."""
    return value if str(value.ty.dtype) == dtype else tirx.Cast(dtype, value)


def wide(value: tirx.Expr) -> tirx.Expr:
    """`value` as the type in which sums are computed."""
    return cast("float32" if str(value.ty.dtype).startswith("float") else "int32", value)


def when(conditions: list[tirx.Expr], body: Body) -> tirx.Stmt:
    """The body where all conditions hold."""
    stmt = block(body)
    return tirx.IfThenElse(conjunction(conditions), stmt, None) if conditions else stmt


def conjunction(conditions: list[tirx.Expr]) -> tirx.Expr:
    """All of the conditions."""
    first, *others = conditions
    for condition in others:
        first = tirx.And(first, condition)
    return first


def _content(elements: int, dtype: str, below: int | None, seed: int) -> bytes:
    random = Random(seed)
    if below is not None:
        values = [random.randrange(below) for _ in range(elements)]
        return np.array(values, dtype).tobytes()
    if dtype.startswith("float"):
        return np.array([random.uniform(-100, 100) for _ in range(elements)], dtype).tobytes()
    return random.randbytes(elements * int(tvm.DataType(dtype).itemsize))
