"""The bytes that an operator of a segment accesses part by part (see `timing` for parts)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from usmp.analysis.memory.memories import UNBOUNDED
from usmp.planning.streaming.operator_loop import ByteRanges, OperatorLoop
from usmp.planning.streaming.timing import ONE_COLUMN, Timing


def bytes_of_parts(
    loop: OperatorLoop, timing: Timing, parameter: int, is_write: bool
) -> ByteRanges | None:
    """Return the bytes of a parameter that each part of an operator reads, or with `is_write`
    writes; None if there is no such access, or if the bytes are unknown.

    Parameters
    ----------
    timing
        the runs of the operator, and the parts of a run.
    """
    if timing.columns.parts > 1 and loop.columns > 1:
        assert loop.by_columns is not None
        return loop.by_columns[is_write].get(parameter)

    def find() -> ByteRanges | None:
        by_step = (loop.writes if is_write else loop.reads).get(parameter)
        if by_step is None:
            return None
        lacking = timing.runs * timing.number - loop.steps
        first = np.append(by_step.first, np.full(lacking, UNBOUNDED)).reshape(timing.parts, -1)
        end = np.append(by_step.end, np.full(lacking, -UNBOUNDED)).reshape(timing.parts, -1)
        return ByteRanges(first.min(axis=1), end.max(axis=1))

    # Cache them, because many segments have this operator.
    return loop.found.once(("bytes of parts", timing.shape, parameter, is_write), find)


def in_parts(loop: OperatorLoop, timing: Timing, made: Mapping[int, int]) -> Timing:
    """Return a timing whose parts are single columns of a step or, without columns, single steps
    of a run. Return the timing itself if columns do not write consecutive parts of the results.

    Parameters
    ----------
    made
        size in bytes of each tensor that others read, by index of the parameter that writes it.
    """
    number = timing.number if loop.columns == 1 else loop.columns
    parted = timing._replace(columns=ONE_COLUMN._replace(parts=number))
    if loop.columns == 1:
        return parted

    def are_columns() -> bool:
        """Return whether columns write the results one after the other."""
        if timing.number > 1 or loop.by_columns is None:
            return False
        written = ((bytes_of_parts(loop, parted, i, True), size) for i, size in made.items())
        return all(ranges is not None and ranges.part_bytes(size) for ranges, size in written)

    key = "are columns", parted.shape, *made.items()
    return parted if loop.found.once(key, are_columns) else timing
