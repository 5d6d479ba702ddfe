"""The loop nests of an operator, read from the blocks of its PrimFunc."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tvm import s_tir, tirx
from tvm.ir import Call, Range, TensorLoad, Var
from tvm.sym import Analyzer

from usmp.tir.nodes import is_const_int, nodes_of

_SPATIAL = 0
"""The type of an iterator whose iterations are independent: `kDataPar`."""


@dataclass(frozen=True, eq=False)
class Nest:
    """A block and the loops around it, which store each element of one buffer.

    Parameters
    ----------
    block
        the block; its iterators are the loops, each from 0 to its extent.
    stores
        the initial store, for a reduction, and the store of an element, with the same indices.
    """

    block: s_tir.SBlock
    stores: tuple[tirx.BufferStore, ...]

    @property
    def buffer(self) -> Var:
        """The buffer that is written."""
        return self.stores[-1].buffer

    @property
    def value(self) -> tirx.Expr:
        """The value of an element."""
        return self.stores[-1].value

    @property
    def indices(self) -> list[tirx.Expr]:
        """The indices of an element, one for each axis."""
        return list(self.stores[-1].indices)

    @cached_property
    def loads(self) -> list[TensorLoad]:
        """The loads of all stored values, with repetitions."""
        return [load for store in self.stores for load in nodes_of(store.value, TensorLoad)]

    @cached_property
    def extents(self) -> dict[Var, int]:
        """The extent of each iterator."""
        return {v.var: int(v.dom.extent) for v in self.block.iter_vars}

    @cached_property
    def spatial(self) -> frozenset[Var]:
        """The iterators whose iterations are independent."""
        return frozenset(v.var for v in self.block.iter_vars if int(v.iter_type) == _SPATIAL)

    def analyzer(self, *without: Var) -> Analyzer:
        """Return an analyzer that knows the ranges of all iterators except some."""
        analyzer = Analyzer()
        for variable in self.block.iter_vars:
            if not any(variable.var.same_as(excluded) for excluded in without):
                analyzer.bind(variable.var, variable.dom)
        return analyzer


@dataclass(frozen=True, eq=False)
class Form:
    """The loop nests of an operator: its reads, writes and values.

    Parameters
    ----------
    func
        the PrimFunc in blocks. Its last parameter is the output.
    nests
        one for each block, in order. Each writes a buffer of its own; none writes an operand.
    """

    func: tirx.PrimFunc
    nests: tuple[Nest, ...]

    @property
    def output(self) -> Var:
        """The parameter that is written."""
        return self.func.params[-1]


def form_of(func: tirx.PrimFunc) -> Form | None:
    """Extract the form of a PrimFunc.

    Parameters
    ----------
    func
        a PrimFunc in blocks of tensor expressions, fused or not; its last parameter is the output.

    Returns
    -------
    Form | None
        None if it has other statements than nests with constant bounds, if it accesses memory by
        other means than loads and stores, or if a buffer is not dense or is written by two blocks.
    """
    blocks = _blocks(func)
    if blocks is None or not all(tirx.is_buffer_var(param) for param in func.params):
        return None
    stores = [_stores(block) for block in blocks]
    nests = [Nest(block, own) for block, own in zip(blocks, stores, strict=True) if own is not None]
    written = {nest.buffer for nest in nests}
    if len(written) < len(blocks) or written & {*func.params[:-1]}:
        return None
    buffers = {*written, *func.params}
    buffers |= {load.source for nest in nests for load in nest.loads}
    if func.params[-1] not in written or not all(map(_is_dense, buffers)):
        return None
    return Form(func, tuple(nests)) if all(map(_loads_only, nests)) else None


def _blocks(func: tirx.PrimFunc) -> list[s_tir.SBlock] | None:
    """Return the blocks in order; None if there are other statements than blocks in loops."""
    root = func.body
    if not isinstance(root, s_tir.SBlockRealize) or root.block.iter_vars:
        return None
    if root.block.match_buffers or root.block.init is not None:
        return None
    blocks: list[s_tir.SBlock] = []
    for stmt in tirx.stmt_list(root.block.body):
        loops: dict[Var, int] = {}
        while isinstance(stmt, tirx.For) and _is_plain(stmt):
            loops[stmt.loop_var] = int(stmt.extent)
            stmt = stmt.body
        if not isinstance(stmt, s_tir.SBlockRealize) or not _takes_loops(stmt, loops):
            return None
        blocks.append(stmt.block)
    return blocks


def _is_plain(loop: tirx.For) -> bool:
    is_known = isinstance(loop.extent, tirx.IntImm) and loop.step is None
    return is_const_int(loop.min, 0) and is_known and loop.kind == tirx.ForKind.SERIAL


def _takes_loops(realize: s_tir.SBlockRealize, loops: Mapping[Var, int]) -> bool:
    """Return whether the iterators of the block are exactly the loops around it."""
    block = realize.block
    if (
        not is_const_int(realize.predicate, 1)
        or block.alloc_buffers
        or block.match_buffers
        or block.annotations
    ):
        return False
    remaining = dict(loops)
    for value, variable in zip(realize.iter_values, block.iter_vars, strict=True):
        extent = remaining.pop(value, None) if isinstance(value, Var) else None
        if extent is None or not _is_range(variable.dom, extent):
            return False
    return not remaining


def _is_range(dom: Range, extent: int) -> bool:
    values = (dom.min, dom.extent)
    return all(isinstance(v, tirx.IntImm) for v in values) and [*map(int, values)] == [0, extent]


def _is_dense(buffer: Var) -> bool:
    """Return whether a buffer is contiguous in global memory."""
    ty = buffer.ty
    is_whole = is_const_int(ty.elem_offset, 0) and not ty.strides and ty.layout is None
    return is_whole and str(ty.storage_scope) == "global"


def _stores(block: s_tir.SBlock) -> tuple[tirx.BufferStore, ...] | None:
    """Return the stores of a block, all at the same indices; None for other blocks."""
    stores = [*([] if block.init is None else [block.init]), block.body]
    if not all(isinstance(store, tirx.BufferStore) for store in stores):
        return None
    first = stores[0]
    for store in stores:
        same = store.buffer.same_as(first.buffer) and len(store.indices) == len(first.indices)
        if not same or not all(
            a.same_as(b) for a, b in zip(store.indices, first.indices, strict=True)
        ):
            return None
    if block.init is not None and nodes_of(block.init.value, Var):
        return None
    return tuple(stores)


def _loads_only(nest: Nest) -> bool:
    """Return whether the value depends only on iterators and loads."""
    sources = {load.source for load in nest.loads}
    if not sources | nest.extents.keys() >= set(nodes_of(nest.value, Var)):
        return False
    passed = {argument for call in nodes_of(nest.value, Call) for argument in call.args}
    return not sources & passed
