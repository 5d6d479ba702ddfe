"""How many iterations does a loop have?"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer

UNKNOWN_TRIP_COUNT = 10
"""Assumed where the trip count is not known, as GCC does (`--param avg-loop-niter`)."""

_MOST_BOUNDED = 1 << 31
"""A bound of the integer type itself is none."""


def trip_count(loop: tirx.For, outside: Sequence[tirx.For]) -> int:
    """The most iterations that `loop` can have, or `UNKNOWN_TRIP_COUNT` if nothing bounds them.

    Parameters
    ----------
    loop
        a loop of any kind.
    outside
        the loops that it stands in, outermost first; its extent may depend on theirs.
    """
    extent, step = _largest(loop.extent, outside), 1
    if loop.step is not None:
        step = _smallest(loop.step, outside)
    if extent is None or step < 1:
        return UNKNOWN_TRIP_COUNT
    return max(0, -(-extent // step))


def _largest(value: tirx.Expr, outside: Sequence[tirx.For]) -> int | None:
    if isinstance(value, tirx.IntImm):
        return int(value)
    bound = int(_analyzer(outside).const_int_bound(value).max_value)
    return bound if bound < _MOST_BOUNDED - 1 else None


def _smallest(value: tirx.Expr, outside: Sequence[tirx.For]) -> int:
    if isinstance(value, tirx.IntImm):
        return int(value)
    return int(_analyzer(outside).const_int_bound(value).min_value)


def _analyzer(outside: Sequence[tirx.For]) -> Analyzer:
    analyzer = Analyzer()
    for loop in outside:
        analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    return analyzer
