"""Upper bounds of trip counts of loops."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer

UNKNOWN_TRIP_COUNT = 10
"""The assumed count where the trip count is unknown, as in GCC (`--param avg-loop-niter`)."""

_MOST_BOUNDED = 1 << 31
"""The first value beyond int32. A bound of int32's maximum or more only repeats the type."""


def trip_count(loop: tirx.For, outside: Sequence[tirx.For]) -> int:
    """Return the most iterations of `loop`, or `UNKNOWN_TRIP_COUNT` if no bound is known.

    Parameters
    ----------
    loop
        a loop of any kind.
    outside
        the loops around it, outermost first; its extent may depend on their variables.
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
