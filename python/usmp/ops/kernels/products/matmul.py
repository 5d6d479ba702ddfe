"""Kernels of `batch_matmul` operators: products of two int8 matrices, by rows of the first one.

A transposed or constant second matrix has contiguous columns, so that each output is a dot product
of a row and a column. For any other second matrix, several columns are summed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.dot_products import Run, column_products, dot_products, weight_sums
from usmp.ops.kernels.call.limits import centered
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts, substituted
from usmp.ops.kernels.costs import Costs, costs_of
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.accumulators import Indices
from usmp.ops.kernels.loops.loops import counted, loop, loop_by_tiles, tile_counts
from usmp.ops.records.products import BatchMatmul
from usmp.tir.nodes import mentions

_TILES = ((2, (2, 1)), (1, (4, 2, 1)))
"""Alternative tiles if columns are contiguous: a number of rows, and numbers of columns."""

_COLUMNS = (4, 1)
"""Numbers of columns of tiles of one row, if columns are not contiguous."""

_MOST_SUM = 2**31
_MOST_PRODUCT = 255 * 256
"""An upper bound of |x * y| for elements x, y, with or without their zero points subtracted."""


def matmul_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a product of int8 matrices, the first of which is not transposed; None
    for unsupported operators."""
    if len(call.records) == 0 or not isinstance(call.records[0], BatchMatmul):
        return None
    matmul = None if call.parts is None else _matmul(call.parts)
    if matmul is None:
        return None
    costs, replaced = costs_of(core), {}
    constant = dict(zip(call.func.params, call.constants, strict=False)).get(matmul.right)
    if constant is not None and not matmul.is_transposed:
        transposed = np.ascontiguousarray(np.swapaxes(constant, -1, -2))
        right = tirx.decl_buffer(transposed.shape, "int8", "weight")
        replaced = {matmul.right: [(right, transposed)]}
        matmul = matmul.with_columns(right)
    if matmul.is_transposed:
        bodies = [matmul.tiled(rows, columns, costs) for rows, columns in _TILES]
    else:
        bodies = [matmul.tiled(1, _COLUMNS, costs)]
    return kernel(call, bodies, replaced)


def _matmul(parts: OperatorParts) -> _Matmul | None:
    """Return the product of matrices that a reduction computes; None if it is no product, or may
    overflow 32 bits."""
    if parts.reduction is not tirx.Add or not isinstance(parts.sum, tirx.Mul):
        return None
    first, second = centered(parts.sum.a), centered(parts.sum.b)
    if first is None or second is None or str(parts.accumulator.dtype) != "int32":
        return None
    (left, offset), (right, right_offset) = first, second
    if not isinstance(left, TensorLoad) or not isinstance(right, TensorLoad):
        return None
    *batch, row, column, k = parts.axes
    is_transposed = _ends_with(right, column, k)
    depth = parts.extents[-1]
    if not _ends_with(left, row, k) or not (is_transposed or _ends_with(right, k, column)):
        return None
    if any(mentions(load, axis) for load, axis in ((left, column), (right, row))):
        return None
    if left.source.same_as(right.source) or depth * _MOST_PRODUCT >= _MOST_SUM:
        return None
    return _Matmul(parts, left, right, (offset, right_offset), is_transposed, tuple(batch))


def _ends_with(load: TensorLoad, *axes: tirx.Var) -> bool:
    last = load.indices[-len(axes) :]
    return len(last) == len(axes) and all(a.same_as(b) for a, b in zip(last, axes, strict=True))


@dataclass(frozen=True)
class _Matmul:
    """A product of matrices.

    Parameters
    ----------
    first, second
        elements of the two matrices at `parts.axes`.
    offsets
        minus the zero points of the two matrices.
    is_transposed
        whether the second matrix has contiguous columns.
    batch
        the axes of the output without rows and columns.
    """

    parts: OperatorParts
    first: TensorLoad
    second: TensorLoad
    offsets: tuple[int, int]
    is_transposed: bool
    batch: tuple[tirx.Var, ...]

    @property
    def right(self) -> tirx.Var:
        """The second matrix."""
        buffer: tirx.Var = self.second.source
        return buffer

    def with_columns(self, buffer: tirx.Var) -> _Matmul:
        """Return the same product with the second matrix transposed in another buffer."""
        *batch, k, column = self.second.indices
        return _Matmul(
            self.parts,
            self.first,
            buffer[(*batch, column, k)],
            self.offsets,
            True,
            self.batch,
        )

    def tiled(self, rows: int, columns: Sequence[int], costs: Costs) -> TiledBody:
        """Return the loops by tiles, with their estimated instructions."""
        widest = next(size for size, _ in tile_counts(self.extents[-1], columns))
        tile = f"{counted(rows, 'row')} x {counted(widest, 'column')}"
        return TiledBody(
            self._loops(rows, columns), Schedule(tile, self._count(rows, columns, costs))
        )

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the output."""
        return self.parts.extents[:-1]

    @property
    def depth(self) -> int:
        """The number of products of a sum."""
        return self.parts.extents[-1]

    def _count(self, rows: int, columns: Sequence[int], costs: Costs) -> int:
        *batch, all_rows, all_columns = self.extents
        outputs = int(np.prod(batch)) * all_rows * all_columns
        sums = sum(
            count * (costs.pixel + costs.sums((rows, size), 1, self.depth))
            for size, count in tile_counts(all_columns, columns)
        )
        return int(outputs / rows / all_columns * sums + outputs * costs.output)

    def _loops(self, rows: int, columns: Sequence[int]) -> tirx.Stmt:
        def of_batch(known: Indices) -> tirx.Stmt:
            axis = len(known)
            if axis < len(self.batch):
                return loop("b", self.extents[axis], lambda b: of_batch((*known, b)))
            return loop_by_tiles(
                "row", self.extents[-2], (rows, 1), partial(self._rows, known, columns)
            )

        return of_batch(())

    def _rows(
        self, batch: Indices, columns: Sequence[int], row: tirx.Expr, number: int
    ) -> list[tirx.Stmt]:
        """Return the statements that compute all columns of a tile of rows."""
        data = Run(self.first.source, self._indices(self.first, batch, row, 0), self.depth)
        begun = tirx.decl_buffer((number,), "int32", "begun", scope="local")
        offset, right_offset = self.offsets
        first = tirx.IntImm("int32", offset * right_offset * self.depth)
        stmts: list[tirx.Stmt] = []
        if right_offset:
            stores = [tirx.BufferStore(begun, first, [p]) for p in range(number)]
            stmts = [
                tirx.AllocBuffer(begun),
                *stores,
                weight_sums(data, self.depth, right_offset, begun, number),
            ]

        def begin(p: int) -> tirx.Expr:
            return begun[p] if right_offset else first

        def tile(column: tirx.Expr, size: int) -> list[tirx.Stmt]:
            return self._tile((*batch, row), column, (number, size), data, begin)

        sizes = [size for size in columns if number == 1 or size <= 2]
        return [*stmts, loop_by_tiles("column", self.extents[-1], sizes, tile)]

    def _tile(
        self,
        outputs: Indices,
        column: tirx.Expr,
        tile: tuple[int, int],
        data: Run,
        begin: Callable[[int], tirx.Expr],
    ) -> list[tirx.Stmt]:
        """Return the statements that compute a tile of rows and columns."""
        *batch, row = outputs
        rows, columns = tile
        acc = tirx.decl_buffer((rows * columns,), "int32", "acc", scope="local")
        at = self._indices(self.second, tuple(batch), column, 1)
        if self.is_transposed:
            products = dot_products(
                data, Run(self.right, at, self.depth), self.depth, self.offsets[0], acc, tile
            )
        else:
            distance = int(self.right.shape[-1])
            products = column_products(
                data, Run(self.right, at, distance), self.depth, self.offsets[0], acc
            )
        indices = [(*batch, row + p, column + c) for p in range(rows) for c in range(columns)]
        return [
            tirx.AllocBuffer(acc),
            *(tirx.BufferStore(acc, begin(i // columns), [i]) for i in range(rows * columns)),
            products,
            *(self._store(acc[i], index) for i, index in enumerate(indices)),
        ]

    def _indices(self, load: TensorLoad, batch: Indices, place: tirx.Expr, side: int) -> Indices:
        """Return the indices of the first element of a row (`side` is 0) or a column (1)."""
        *_, row, column, k = self.parts.axes
        known = dict(zip(self.batch, batch, strict=True))
        known |= {(row, column)[side]: place, k: tirx.IntImm("int32", 0)}
        return tuple(substituted(index, known) for index in load.indices)

    def _store(self, accumulator: tirx.Expr, indices: Indices) -> tirx.Stmt:
        value = self.parts.element(accumulator, indices)
        return tirx.BufferStore(self.parts.output, value, list(indices))
