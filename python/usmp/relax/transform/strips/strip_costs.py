"""An estimate of the bytes of a streamed chain of operators, with and without strips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tvm

from usmp.ops.form import AxisRead, Interval
from usmp.relax.transform.strips.strip_chain import StripChain, StripMain
from usmp.relax.transform.strips.strip_operator import COLUMNS, ROWS


@dataclass(frozen=True)
class ChainBytes:
    """Bytes that a chain takes.

    Parameters
    ----------
    by_rows
        bytes if ring buffers hold rows.
    by_columns
        bytes if ring buffers hold pixels.
    """

    by_rows: int
    by_columns: int


@dataclass(frozen=True, eq=False)
class ChainCosts:
    """Bytes that consecutive operators take.

    Parameters
    ----------
    main
        all operators.
    start, stop
        indices of the first operator, and after the last one.
    """

    main: StripMain
    start: int
    stop: int

    def of(self, chain: StripChain) -> ChainBytes:
        """Return the bytes of a chain: ring buffers inside of it, and all other live tensors."""
        by_rows, by_columns = _rings(self.main, chain, self._rows)
        beside = self._beside_strips if len(chain.strips) > 1 else self._beside_one
        return ChainBytes(beside + by_rows, beside + min(by_columns, by_rows))

    @cached_property
    def _rows(self) -> dict[tvm.ir.Var, tuple[int, int]]:
        return _rows_kept(self.main, self.start, self.stop)

    @cached_property
    def _beside_strips(self) -> int:
        return _beside(self.main, self.start, self.stop, True)

    @cached_property
    def _beside_one(self) -> int:
        return _beside(self.main, self.start, self.stop, False)


def operator_bytes(main: StripMain, index: int) -> int:
    """Return the bytes of an operator that does not support strips."""
    return _beside(main, index, index + 1, True)


def _beside(main: StripMain, start: int, stop: int, keeps_data: bool) -> int:
    """Return the bytes of live tensors that a chain does not compute, and of its outputs.

    Parameters
    ----------
    keeps_data
        whether inputs that die in the chain stay live to its end, because every strip reads them.
        Otherwise outputs can overwrite them.
    """
    kept = dying = outputs = 0
    for tensor in main.tensors.values():
        if tensor.is_application:
            continue
        if tensor.made < start and tensor.last >= start:
            if tensor.last >= stop:
                kept += tensor.size_bytes
            else:
                dying += tensor.size_bytes
        elif start <= tensor.made < stop and tensor.last >= stop:
            outputs += tensor.size_bytes
    return kept + (dying + outputs if keeps_data else max(dying, outputs))


def _rings(
    main: StripMain, chain: StripChain, rows: Mapping[tvm.ir.Var, tuple[int, int]]
) -> tuple[int, int]:
    """Return the bytes of ring buffers in the largest strip, if they hold rows, and if they hold
    pixels.

    Parameters
    ----------
    rows
        the result of `_rows_kept`.
    """
    strip_bytes = [(0, 0)]
    for ranges in chain.strips:
        by_rows = by_columns = 0
        for var, (count, reach) in rows.items():
            width, pixel = _width(ranges[var]), _pixel_bytes(main, var)
            by_rows += count * width * pixel
            by_columns += ((count - 1) * width + min(reach, width)) * pixel
        if len(chain.strips) > 1:
            # The columns of a strip are computed before they are copied into the result.
            output = main.variables[chain.stop - 1]
            by_rows += _width(ranges[output]) * _pixel_bytes(main, output)
            by_columns += _pixel_bytes(main, output)
        strip_bytes.append((by_rows, by_columns))
    return max(rows for rows, _ in strip_bytes), max(columns for _, columns in strip_bytes)


def _width(columns: Interval) -> int:
    return columns[1] - columns[0]


def _pixel_bytes(main: StripMain, var: tvm.ir.Var) -> int:
    shape = main.shape(var)
    return main.tensors[var].size_bytes // (shape[ROWS] * shape[COLUMNS])


def _rows_kept(main: StripMain, start: int, stop: int) -> dict[tvm.ir.Var, tuple[int, int]]:
    """Return, for each tensor inside of a chain, the rows of its ring buffer, and the pixels of the
    last of these rows (the width of the largest kernel window) if it holds pixels."""
    last = main.variables[stop - 1]
    # For each row of the result: the end of the rows of a tensor that are computed by then.
    ends = {last: np.arange(1, main.shape(last)[ROWS] + 1)}
    needed: dict[tvm.ir.Var, np.ndarray] = {}
    readers: dict[tvm.ir.Var, list[tuple[AxisRead, AxisRead]]] = {}
    for index in range(stop - 1, start - 1, -1):
        operator, var = main.operators[index], main.variables[index]
        if operator is None or var not in ends:
            continue
        before = np.append(0, ends[var][:-1])
        for (operand, rows), (_, columns) in zip(operator.rows, operator.columns, strict=True):
            if not main.is_made_from(start, operand):
                continue
            first = np.maximum(before * rows.stride + rows.first, 0)
            end = (ends[var] - 1) * rows.stride + rows.first + rows.count
            end = np.clip(end, 0, main.shape(operand)[ROWS])
            ends[operand] = np.maximum(ends.get(operand, 0), end)
            needed[operand] = np.minimum(needed.get(operand, first), first)
            readers.setdefault(operand, []).append((rows, columns))
    return {
        var: (
            min(_kept(ends[var] - needed[var], [rows for rows, _ in reads]), main.shape(var)[ROWS]),
            max(columns.count for _, columns in reads),
        )
        for var, reads in readers.items()
    }


def _kept(apart: np.ndarray, reads: list[AxisRead]) -> int:
    """Return the rows of a ring buffer: those of the largest kernel window, or, if greater, the lag
    between two readers."""
    kept = max(read.count for read in reads)
    if len(reads) > 1 and len(apart) > 1:
        kept = max(kept, int(apart[1:].max()))
    return kept
