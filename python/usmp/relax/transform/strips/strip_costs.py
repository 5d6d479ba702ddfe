"""About how many bytes a chain of operators takes, in strips or not, if it is streamed."""

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
    """What a chain takes.

    Parameters
    ----------
    by_rows
        if rings hold rows.
    by_columns
        if they hold pixels.
    """

    by_rows: int
    by_columns: int


@dataclass(frozen=True, eq=False)
class ChainCosts:
    """What some operators that follow each other take.

    Parameters
    ----------
    main
        all of them.
    start, stop
        the first of these, and the one after the last.
    """

    main: StripMain
    start: int
    stop: int

    def of(self, chain: StripChain) -> ChainBytes:
        """In strips, or in one: the rings between them, and all that is there beside."""
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
    """What an operator takes of which it is not known what it does with rows."""
    return _beside(main, index, index + 1, True)


def _beside(main: StripMain, start: int, stop: int, keeps_data: bool) -> int:
    """Tensors that operators get or leave.

    Parameters
    ----------
    keeps_data
        whether what they read for the last time is there to the end: every strip reads it.
    """
    kept = dying = made = 0
    for tensor in main.tensors.values():
        if tensor.is_application:
            continue
        if tensor.made < start and tensor.last >= start:
            if tensor.last >= stop:
                kept += tensor.size_bytes
            else:
                dying += tensor.size_bytes
        elif start <= tensor.made < stop and tensor.last >= stop:
            made += tensor.size_bytes
    return kept + (dying + made if keeps_data else max(dying, made))


def _rings(
    main: StripMain, chain: StripChain, rows: Mapping[tvm.ir.Var, tuple[int, int]]
) -> tuple[int, int]:
    """Bytes of the rings of the strip that takes the most, of rows and of pixels.

    Parameters
    ----------
    rows
        as `_rows_kept` gives them.
    """
    found = [(0, 0)]
    for ranges in chain.strips:
        by_rows = by_columns = 0
        for var, (count, reach) in rows.items():
            width, pixel = _width(ranges[var]), _pixel_bytes(main, var)
            by_rows += count * width * pixel
            by_columns += ((count - 1) * width + min(reach, width)) * pixel
        if len(chain.strips) > 1:
            # What is written into the whole is made first.
            output = main.variables[chain.stop - 1]
            by_rows += _width(ranges[output]) * _pixel_bytes(main, output)
            by_columns += _pixel_bytes(main, output)
        found.append((by_rows, by_columns))
    return max(rows for rows, _ in found), max(columns for _, columns in found)


def _width(columns: Interval) -> int:
    return columns[1] - columns[0]


def _pixel_bytes(main: StripMain, var: tvm.ir.Var) -> int:
    shape = main.shape(var)
    return main.tensors[var].size_bytes // (shape[ROWS] * shape[COLUMNS])


def _rows_kept(main: StripMain, start: int, stop: int) -> dict[tvm.ir.Var, tuple[int, int]]:
    """Of each tensor that only the operators use: how many rows of it are kept, and how many
    columns of the last of these."""
    last = main.variables[stop - 1]
    # By row of the result: before which row each tensor is made by then.
    made = {last: np.arange(1, main.shape(last)[ROWS] + 1)}
    needed: dict[tvm.ir.Var, np.ndarray] = {}
    readers: dict[tvm.ir.Var, list[tuple[AxisRead, AxisRead]]] = {}
    for index in range(stop - 1, start - 1, -1):
        operator, var = main.operators[index], main.variables[index]
        if operator is None or var not in made:
            continue
        before = np.append(0, made[var][:-1])
        for (operand, rows), (_, columns) in zip(operator.rows, operator.columns, strict=True):
            if not main.is_made_from(start, operand):
                continue
            first = np.maximum(before * rows.stride + rows.first, 0)
            end = (made[var] - 1) * rows.stride + rows.first + rows.count
            end = np.clip(end, 0, main.shape(operand)[ROWS])
            made[operand] = np.maximum(made.get(operand, 0), end)
            needed[operand] = np.minimum(needed.get(operand, first), first)
            readers.setdefault(operand, []).append((rows, columns))
    return {
        var: (
            min(_kept(made[var] - needed[var], [rows for rows, _ in reads]), main.shape(var)[ROWS]),
            max(columns.count for _, columns in reads),
        )
        for var, reads in readers.items()
    }


def _kept(apart: np.ndarray, reads: list[AxisRead]) -> int:
    """Rows that are kept: those of a window, or what one reader is behind another."""
    kept = max(read.count for read in reads)
    if len(reads) > 1 and len(apart) > 1:
        kept = max(kept, int(apart[1:].max()))
    return kept
