"""PrimFuncs whose output has rows that are computed alike, each from a few rows of the operands.

It is read from the blocks of the PrimFunc, so that nothing has to be known of the operator: the
rows of an operand that a row of the output needs follow from the indices of the loads, and rows
are computed alike where nothing but these indices depends on the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, Range, TensorLoad, Var
from tvm.sym import Analyzer

from usmp.tir.nodes import mentions, nodes_of

_MOST_ROWS = 4096
"""Of which it is looked at, one by one, where padding ends."""
_SPATIAL = 0
"""The type of an iteration variable whose iterations are independent: `kDataPar`."""


@dataclass(frozen=True)
class RowAccess:
    """Row `t` of the output reads rows `stride * t + first` up to `stride * t + first + count - 1`.

    Parameters
    ----------
    axis
        of the operand that has its rows.
    stride
        how many rows lie between what two neighboring rows of the output read first: at least 1.
    first
        of row 0: less than 0 if it reaches into padding.
    count
        at least 1.
    """

    axis: int
    stride: int
    first: int
    count: int

    def rows_read(self, rows: tuple[int, int], extent: int) -> tuple[int, int]:
        """What rows [begin, end) of the output read of an operand with `extent` rows."""
        begin, end = rows
        last = self.stride * (end - 1) + self.first + self.count
        return max(0, self.stride * begin + self.first), min(extent, last)


@dataclass(frozen=True, eq=False)
class RowBlock:
    """A block of the PrimFunc that computes rows.

    Parameters
    ----------
    block
        it.
    row
        its variable that is the row.
    axis
        of the buffer that it writes.
    """

    block: s_tir.SBlock
    row: Var
    axis: int


@dataclass(frozen=True, eq=False)
class RowFunction:
    """A PrimFunc that computes its output row by row.

    Parameters
    ----------
    func
        its last parameter is the output.
    axis
        of the output that has the rows.
    rows
        of the output.
    alike
        rows [begin, end) that are computed alike: those that padding has no part in.
    reads
        by index of the parameter: operands of which each row reads some rows.
    blocks
        those that compute rows.
    buffers
        between blocks, each with the axis that has its rows.
    """

    func: tirx.PrimFunc
    axis: int
    rows: int
    alike: tuple[int, int]
    reads: Mapping[int, RowAccess]
    blocks: tuple[RowBlock, ...]
    buffers: Mapping[Var, int]


def row_function(func: tirx.PrimFunc, axes: Mapping[int, int]) -> RowFunction | None:
    """Read a PrimFunc; None if its output has no such rows, or if that is not seen.

    Parameters
    ----------
    func
        in blocks, as tensor expressions give it; its last parameter is the output.
    axes
        by index of the parameter: the axis that has the rows of an operand.
    """
    realized = _realized(func)
    if realized is None or not all(tirx.is_buffer_var(param) for param in func.params):
        return None
    given = {func.params[index]: axis for index, axis in axes.items()}
    reader = _Reader(given)
    output = func.params[-1]
    if not all(reader.read(block) for block in realized) or output not in reader.axes:
        return None
    (axis, rows), accesses = (reader.axes[output], reader.rows), reader.accesses
    if rows is None or set(accesses) != set(given):
        return None
    reads = {index: accesses[func.params[index]] for index in axes}
    if not all(map(_is_dense, reader.axes)):
        return None
    between = {b: a for b, a in reader.axes.items() if b not in given and not b.same_as(output)}
    begin, end = reader.alike
    return RowFunction(func, axis, rows, (begin, end), reads, tuple(reader.blocks), between)


def _realized(func: tirx.PrimFunc) -> list[s_tir.SBlock] | None:
    """The blocks, in order, if they and loops over all of their variables are all there is."""
    root = func.body
    if not isinstance(root, s_tir.SBlockRealize) or root.block.iter_vars:
        return None
    if root.block.match_buffers or root.block.init is not None:
        return None
    found: list[s_tir.SBlock] = []
    for stmt in tirx.stmt_list(root.block.body):
        loops: dict[Var, int] = {}
        while isinstance(stmt, tirx.For) and _is_plain(stmt):
            loops[stmt.loop_var] = int(stmt.extent)
            stmt = stmt.body
        if not isinstance(stmt, s_tir.SBlockRealize) or not _takes_loops(stmt, loops):
            return None
        found.append(stmt.block)
    return found


def _is_plain(loop: tirx.For) -> bool:
    begins = isinstance(loop.min, tirx.IntImm) and int(loop.min) == 0
    is_known = isinstance(loop.extent, tirx.IntImm) and loop.step is None
    return begins and is_known and loop.kind == tirx.ForKind.SERIAL


def _takes_loops(realize: s_tir.SBlockRealize, loops: Mapping[Var, int]) -> bool:
    """Whether each variable of the block is one of the loops around it, as a whole."""
    block = realize.block
    is_always = isinstance(realize.predicate, tirx.IntImm) and int(realize.predicate) == 1
    if not is_always or block.alloc_buffers or block.match_buffers or block.annotations:
        return False
    left = dict(loops)
    for value, variable in zip(realize.iter_values, block.iter_vars, strict=True):
        extent = left.pop(value, None) if isinstance(value, Var) else None
        if extent is None or not _is_range(variable.dom, extent):
            return False
    return not left


def _is_range(dom: Range, extent: int) -> bool:
    values = (dom.min, dom.extent)
    return all(isinstance(v, tirx.IntImm) for v in values) and [*map(int, values)] == [0, extent]


def _is_dense(buffer: Var) -> bool:
    """Whether its elements lie one after the other, and nothing else is said of it."""
    ty = buffer.ty
    begins = isinstance(ty.elem_offset, tirx.IntImm) and int(ty.elem_offset) == 0
    return begins and not ty.strides and ty.layout is None and str(ty.storage_scope) == "global"


class _Reader:
    """What is known of the blocks so far.

    Parameters
    ----------
    given
        operands with the axes that have their rows.
    """

    def __init__(self, given: Mapping[Var, int]) -> None:
        self.given = given
        self.axes: dict[Var, int] = dict(given)
        self.accesses: dict[Var, RowAccess] = {}
        self.rows: int | None = None
        self.alike = (0, 0)
        self.blocks: list[RowBlock] = []
        self._written: set[Var] = set()

    def read(self, block: s_tir.SBlock) -> bool:
        """Read the next block; False if it is of another kind."""
        stores = _stores(block)
        if stores is None or stores[0].buffer in self._written | self.given.keys():
            return False
        target = stores[0].buffer
        self._written.add(target)
        value = stores[-1].value
        loads = [load for load in _loads(stores) if load.source in self.axes]
        if not loads:
            return True
        found = self._row_of(block, stores[0], loads)
        if found is None:
            return False
        row, rows = found
        axis = next(i for i, index in enumerate(stores[0].indices) if index.same_as(row))
        relative = self._relative(block, row, [*loads, *_own(stores, target)], value, target, axis)
        is_first = self.rows is None
        if relative is None or not (is_first or rows == self.rows):
            return False
        begin, end = _rows_alike(relative, block, row, rows)
        self.alike = (
            (begin, end) if is_first else (max(begin, self.alike[0]), min(end, self.alike[1]))
        )
        self.rows = rows
        self.axes[target] = axis
        self.blocks.append(RowBlock(block, row, axis))
        return True

    def _row_of(
        self, block: s_tir.SBlock, store: tirx.BufferStore, loads: list[TensorLoad]
    ) -> tuple[Var, int] | None:
        """The variable of the block that is the row, and how many rows there are."""
        analyzer = _bound(block)
        independent = {v.var: v for v in block.iter_vars if int(v.iter_type) == _SPATIAL}
        found: set[Var] = set()
        for load in loads:
            index = analyzer.simplify(load.indices[self.axes[load.source]])
            found |= {var for var in nodes_of(index, Var) if var in independent}
        if len(found) != 1:
            return None
        (row,) = found
        places = [index for index in store.indices if mentions(index, row)]
        if len(places) != 1 or not places[0].same_as(row):
            return None
        return row, int(independent[row].dom.extent)

    def _relative(
        self,
        block: s_tir.SBlock,
        row: Var,
        loads: list[TensorLoad],
        value: tirx.Expr,
        target: Var,
        axis: int,
    ) -> tirx.Expr | None:
        """What the block stores, with rows counted from the first one that it reads; None if it
        reads them in another way."""
        analyzer = _bound(block)
        replaced: dict[TensorLoad, tirx.Expr] = {}
        for load in loads:
            where = axis if load.source.same_as(target) else self.axes[load.source]
            index = load.indices[where]
            others = [i for place, i in enumerate(load.indices) if place != where]
            if any(mentions(analyzer.simplify(other), row) for other in others):
                return None
            found = _offset(analyzer, index, row)
            if found is None:
                return None
            stride, offset, first, count = found
            if load.source in self.given:
                if not self._widen(load.source, RowAccess(where, stride, first, count)):
                    return None
            elif (stride, first, count) != (1, 0, 1):
                return None
            indices = [offset if p == where else i for p, i in enumerate(load.indices)]
            replaced[load] = load.source[tuple(indices)]
        result = tvm_ffi.structural_map(value, (TensorLoad, lambda load: replaced.get(load, load)))
        return _checked(result, block)

    def _widen(self, operand: Var, access: RowAccess) -> bool:
        """Take in the rows of one more load."""
        known = self.accesses.get(operand, access)
        if known.stride != access.stride:
            return False
        first = min(known.first, access.first)
        end = max(known.first + known.count, access.first + access.count)
        self.accesses[operand] = RowAccess(access.axis, access.stride, first, end - first)
        return True


def _stores(block: s_tir.SBlock) -> list[tirx.BufferStore] | None:
    """Its initial store, if it has one, and the one that makes an element."""
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
    return stores


def _loads(stores: list[tirx.BufferStore]) -> Iterator[TensorLoad]:
    for store in stores:
        yield from nodes_of(store.value, TensorLoad)


def _own(stores: list[tirx.BufferStore], target: Var) -> list[TensorLoad]:
    """Where a sum is read that is added to."""
    return [load for load in _loads(stores) if load.source.same_as(target)]


def _checked(value: tirx.Expr, block: s_tir.SBlock) -> tirx.Expr | None:
    """The value, if it reads memory by its loads only."""
    sources = {load.source for load in nodes_of(value, TensorLoad)}
    variables = {v.var for v in block.iter_vars}
    if not sources | variables >= set(nodes_of(value, Var)):
        return None
    passed = {argument for call in nodes_of(value, Call) for argument in call.args}
    return None if sources & passed else value


def _offset(
    analyzer: Analyzer, index: tirx.Expr, row: Var
) -> tuple[int, tirx.Expr, int, int] | None:
    """An index as `stride * row + offset`: the stride, the offset, its least value and how many
    values it spans."""
    index = analyzer.simplify(index)
    following = _at(index, row, row + 1)
    stride = analyzer.simplify(following - index)
    if not isinstance(stride, tirx.IntImm) or int(stride) < 1:
        return None
    offset = analyzer.simplify(index - row * stride)
    if mentions(offset, row):
        return None
    bound = analyzer.const_int_bound(offset)
    least, greatest = int(bound.min_value), int(bound.max_value)
    if greatest - least >= 2**31:
        return None
    return int(stride), offset, least, greatest - least + 1


def _bound(block: s_tir.SBlock) -> Analyzer:
    """An analyzer that knows the variables of a block."""
    analyzer = Analyzer()
    for variable in block.iter_vars:
        analyzer.bind(variable.var, variable.dom)
    return analyzer


def _rows_alike(value: tirx.Expr, block: s_tir.SBlock, row: Var, rows: int) -> tuple[int, int]:
    """The most rows in a row, [begin, end), for which a value is one and the same expression."""
    if not mentions(value, row):
        return 0, rows
    if rows > _MOST_ROWS:
        return 0, 0
    analyzer = Analyzer()
    for variable in block.iter_vars:
        if not variable.var.same_as(row):
            analyzer.bind(variable.var, variable.dom)
    best, begin, before = (0, 0), 0, None
    for index in range(rows):
        at = tirx.IntImm(str(row.ty.dtype), index)
        here = analyzer.simplify(_at(value, row, at))
        if before is None or not tvm_ffi.structural_equal(before, here):
            begin, before = index, here
        if index + 1 - begin > best[1] - best[0]:
            best = begin, index + 1
    return best


def _at(expr: tirx.Expr, row: Var, value: tirx.Expr) -> tirx.Expr:
    """The expression in another row."""
    return tvm_ffi.structural_map(expr, (Var, lambda var: value if var.same_as(row) else var))
