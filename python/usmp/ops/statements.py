"""Operators written as statements: loops in a fixed order, which may update arguments in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import relax, tirx
from tvm.s_tir import SBlock, SBlockRealize

from usmp.ops.emit import OPAQUE, add_prim_func, constant
from usmp.ops.records import QuantizedOp
from usmp.tir.nodes import sequence


def call_in_place(
    builder: relax.BlockBuilder,
    name: str,
    body: Callable[..., tirx.Stmt],
    arguments: Sequence[tuple[str, relax.Expr | np.ndarray]],
    overwritten: Sequence[int],
    written: Sequence[tuple[str, relax.TensorType]] = (),
    record: QuantizedOp | None = None,
    attributes: Mapping[str, object] | None = None,
) -> list[relax.Expr]:
    """Append a call of a PrimFunc; `body` returns its body, from buffers of arguments and results.

    Parameters
    ----------
    name
        name of the PrimFunc in the emitted C.
    arguments
        names and tensors; arrays become constants.
    overwritten
        indices of the arguments that `body` updates in place; may be empty.
    written
        names and types of results in memory of their own; their buffers come last.
    record
        the record of an integer operator, else None.
    attributes
        attributes of the PrimFunc.

    Returns
    -------
    list[relax.Expr]
        The updated arguments, then the other results.
    """
    if not overwritten:
        return call_statements(builder, name, body, arguments, written, record, attributes)
    tensors, func = _function(body, arguments, written)
    func = func.with_attrs(attributes) if attributes else func
    callee = add_prim_func(builder, func, name, record)
    results = [*(tensors[index].ty for index in overwritten), *(ty for _, ty in written)]
    indices = [*overwritten, *(-1 for _ in written)]
    call = relax.op.call_tir_inplace(callee, relax.Tuple(tensors), indices, results)
    return _results(builder, call, len(results))


def call_statements(
    builder: relax.BlockBuilder,
    name: str,
    body: Callable[..., tirx.Stmt],
    arguments: Sequence[tuple[str, relax.Expr | np.ndarray]],
    written: Sequence[tuple[str, relax.TensorType]],
    record: QuantizedOp | None = None,
    attributes: Mapping[str, object] | None = None,
) -> list[relax.Expr]:
    """Append a call of a PrimFunc that updates no argument, and is not fused.

    Returns
    -------
    list[relax.Expr]
        The results.
    """
    tensors, func = _function(body, arguments, written)
    # TVM expects operators in blocks, and assumes nothing about an opaque block.
    block = SBlock([], [], [], "root", func.body)
    func = func.with_body(SBlockRealize([], True, block))
    func = func.with_attrs({**(attributes or {}), "op_pattern": OPAQUE})
    callee = add_prim_func(builder, func, name, record)
    types = [ty for _, ty in written]
    call = relax.call_tir(callee, tensors, out_ty=types if len(types) > 1 else types[0])
    return _results(builder, call, len(types))


def _function(
    body: Callable[..., tirx.Stmt],
    arguments: Sequence[tuple[str, relax.Expr | np.ndarray]],
    written: Sequence[tuple[str, relax.TensorType]],
) -> tuple[list[relax.Expr], tirx.PrimFunc]:
    """Return the arguments as tensors, and the PrimFunc on buffers for them and the results."""
    tensors = [constant(v) if isinstance(v, np.ndarray) else v for _, v in arguments]
    names = [argument for argument, _ in [*arguments, *written]]
    types = [*(tensor.ty for tensor in tensors), *(ty for _, ty in written)]
    buffers = [
        tirx.decl_buffer([int(extent) for extent in ty.shape], str(ty.dtype), buffer)
        for buffer, ty in zip(names, types, strict=True)
    ]
    return tensors, tirx.PrimFunc(buffers, body(*buffers))


def _results(builder: relax.BlockBuilder, call: relax.Call, number: int) -> list[relax.Expr]:
    """Append a call, and return each of its results."""
    value = builder.emit(call)
    if number == 1:
        return [value]
    return [builder.emit(relax.TupleGetItem(value, index)) for index in range(number)]


@dataclass(frozen=True)
class Local:
    """A variable of an operator: one element outside of all memory pools."""

    buffer: tirx.Buffer

    @classmethod
    def of(cls, name: str, dtype: str) -> Local:
        """Return a variable that is not declared yet."""
        return cls(tirx.decl_buffer((1,), dtype, name, scope="local"))

    def declared(self, value: tirx.Expr) -> list[tirx.Stmt]:
        """Return statements that declare the variable and set its first value."""
        return [tirx.AllocBuffer(self.buffer), self.set(value)]

    def set(self, value: tirx.Expr) -> tirx.Stmt:
        """Return a statement that sets the variable."""
        return tirx.BufferStore(self.buffer, value, [0])

    def get(self) -> tirx.Expr:
        """Return the value of the variable."""
        return self.buffer[0]

    def add(self, value: tirx.Expr) -> tirx.Stmt:
        """Return a statement that adds to the variable."""
        return self.set(self.get() + value)


def loop(
    name: str, extent: int, body: Callable[[tirx.Var], tirx.Stmt | Iterable[tirx.Stmt]]
) -> tirx.Stmt:
    """Return a loop that runs `body(index)` from 0 to `extent` - 1."""
    index = tirx.Var(name, "int32")
    inner = body(index)
    return tirx.For(index, 0, extent, tirx.ForKind.SERIAL, sequence(inner))


def loops(extents: Sequence[int], body: Callable[[tuple[tirx.Var, ...]], tirx.Stmt]) -> tirx.Stmt:
    """Return loops that run `body` for every position, the last axis innermost."""

    def over(*outer: tirx.Var) -> tirx.Stmt:
        axis = len(outer)
        if axis == len(extents):
            return body(outer)
        return loop(f"i{axis}", extents[axis], lambda index: over(*outer, index))

    return over()


def fill(buffer: tirx.Buffer, value: tirx.Expr) -> tirx.Stmt:
    """Return loops that set all elements of a buffer."""
    extents = [int(extent) for extent in buffer.shape]
    return loops(extents, lambda place: tirx.BufferStore(buffer, value, list(place)))
