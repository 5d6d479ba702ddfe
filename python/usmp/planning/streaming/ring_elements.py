"""The statements of an operator, rewritten to access rings in place of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.sym import Analyzer

from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.timing import Ring, Timing
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import is_const_int, nodes_of


class NotStreamed(Exception):
    """The error of an operator that accesses a ring's tensor other than by loads and stores."""


@dataclass(frozen=True, eq=False)
class Kept:
    """The buffer that holds a tensor of a segment, or a ring of it.

    Parameters
    ----------
    buffer
        the buffer, of shape (elements,).
    ring
        the ring, unless the buffer holds the whole tensor.
    maker
        timing of the operator that writes the tensor.
    made, late
        in a segment by columns, variables that each tick of rows binds: the number of parts in all
        runs before the latest one, and the ticks of columns since that run began.
    """

    buffer: tirx.Var
    ring: Ring | None = None
    maker: Timing | None = None
    made: tirx.Var | None = None
    late: tirx.Var | None = None

    @property
    def part(self) -> int:
        """Number of elements in a part."""
        assert self.ring is not None
        return self.ring.part_bytes // item_bytes(str(self.buffer.dtype))


@dataclass(frozen=True)
class Fronts:
    """The tensor index of each ring's first element while an operator runs, by `id` of the `Kept`.

    Parameters
    ----------
    variables
        first elements as variables that are bound at run time.
    known
        first elements as expressions of the step, so that indices become simpler.
    steps
        values of the operator's loop variables in the tick.
    """

    variables: Mapping[int, tirx.Var]
    known: Mapping[int, tirx.Expr]
    steps: Mapping[tirx.Var, tirx.Expr]

    def moved(self, place: Kept, index: tirx.Expr) -> tirx.Expr:
        """Return the index in a ring for an index in the tensor."""
        if id(place) in self.variables:
            return index - self.variables[id(place)]
        if id(place) not in self.known:
            return index
        at = tvm_ffi.structural_map(index, (tirx.Var, lambda var: self.steps.get(var, var)))
        return Analyzer().simplify(at - self.known[id(place)])


class Elements:
    """The statements of an operator on the buffers of a segment, with renamed variables.

    Parameters
    ----------
    loop
        the operator.
    places
        the buffers of parameters, by index of a parameter.
    outside
        the other parameters, and the variables that replace them.
    fronts
        the first elements of the rings.
    """

    def __init__(
        self,
        loop: OperatorLoop,
        places: Mapping[int, Kept],
        outside: Mapping[tirx.Var, tirx.Var],
        fronts: Fronts,
    ) -> None:
        renamed: dict[tirx.Var, tirx.Var] = dict(outside)
        kept: dict[tirx.Var, Kept] = {}
        stays = []
        by_param = {loop.func.params[index]: place for index, place in places.items()}
        for stmt in loop.declarations:
            param = stmt.data
            if param in by_param:
                if not _is_plain(stmt.buffer, by_param[param]):
                    raise NotStreamed
                kept[stmt.buffer] = by_param[param]
            else:
                stays.append(stmt)
        statements = [*stays, *loop.allocations, *loop.before, loop.loop, *loop.after]
        for stmt in statements:
            for var in _defined(stmt):
                renamed[var] = tirx.Var(var.name, var.ty)

        def own(stmt: tirx.Stmt) -> tirx.Stmt:
            moved = _on_rings(stmt, kept, fronts)
            if any(var in by_param or var in kept for var in nodes_of(moved, tirx.Var)):
                raise NotStreamed
            return tvm_ffi.structural_map(moved, (tirx.Var, lambda var: renamed.get(var, var)))

        # Allocations come first, because some declarations are views of them.
        self.declarations = [own(stmt) for stmt in (*loop.allocations, *stays)]
        self.before = [own(stmt) for stmt in loop.before]
        self.loop_var = renamed[loop.loop.loop_var]
        self.body = own(loop.loop.body)
        self.after = [own(stmt) for stmt in loop.after]


def _on_rings(stmt: tirx.Stmt, kept: Mapping[tirx.Var, Kept], fronts: Fronts) -> tirx.Stmt:
    """Return a statement that accesses the buffers of a segment in place of its tensors."""

    def moved(place: Kept, indices: Sequence[tirx.Expr]) -> list[tirx.Expr]:
        (index,) = indices
        return [fronts.moved(place, index)]

    def load(node: TensorLoad) -> TensorLoad:
        place = kept.get(node.source)
        if place is None:
            return node
        return tirx.BufferLoad(place.buffer, moved(place, node.indices))

    def store(node: tirx.BufferStore) -> tirx.BufferStore:
        place = kept.get(node.buffer)
        if place is None:
            return node
        return tirx.BufferStore(place.buffer, node.value, moved(place, node.indices))

    return tvm_ffi.structural_map(stmt, [(TensorLoad, load), (tirx.BufferStore, store)])


def _is_plain(buffer: tirx.Var, place: Kept) -> bool:
    """Return whether a view indexes all elements of a tensor in order, from the first."""
    offset = buffer.ty.elem_offset
    is_at_start = offset is None or is_const_int(offset, 0)
    has_strides = bool(buffer.ty.strides)
    is_flat = len(buffer.shape) == 1 and is_at_start and not has_strides
    return is_flat and buffer.dtype == place.buffer.dtype


def _defined(stmt: tirx.Stmt) -> Iterator[tirx.Var]:
    """Yield the variables that a statement defines."""
    for kind, name in (
        (tirx.For, "loop_var"),
        (tirx.Bind, "var"),
        (tirx.Let, "var"),
        (tirx.AllocBuffer, "buffer"),
        (tirx.DeclBuffer, "buffer"),
    ):
        for node in nodes_of(stmt, kind):
            yield getattr(node, name)
