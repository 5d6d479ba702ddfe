"""Boxes of detected objects: the overlap of two boxes, and the box with the greatest score."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tvm import tirx

from usmp.ops.statements import Local, loop
from usmp.tir.nodes import sequence

ZERO = tirx.FloatImm("float32", 0.0)
NOTHING = tirx.IntImm("int32", -1)
"""The index that means no box."""


def intersection_over_union(
    boxes: tirx.Buffer, one: tirx.Expr, other: tirx.Expr, ratio: Local, *, is_ordered: bool
) -> list[tirx.Stmt]:
    """Return statements that set `ratio` to the intersection over union of two boxes; 0 if one of
    them has no area.

    Source: TFLite, `ComputeIntersectionOverUnion` of DETECTION_POSTPROCESS and
    NON_MAX_SUPPRESSION.

    Parameters
    ----------
    boxes
        float32 of shape [boxes, 4], (y, x) of two opposite corners.
    is_ordered
        whether the corner with the smaller coordinates always comes first.
    """
    statements: list[tirx.Stmt] = []

    def kept(name: str, value: tirx.Expr) -> tirx.Expr:
        local = Local.of(name, "float32")
        statements.extend(local.declared(value))
        return local.get()

    def sides(box: tirx.Expr, name: str) -> list[tirx.Expr]:
        """Return the least y and x, and the greatest y and x, of a box."""
        corners = [boxes[box, side] for side in range(4)]
        if is_ordered:
            return corners
        pairs = [(corners[axis], corners[axis + 2]) for axis in (0, 1)]
        least = [kept(f"{name}_min{axis}", lesser(*pair)) for axis, pair in enumerate(pairs)]
        most = [kept(f"{name}_max{axis}", greater(*pair)) for axis, pair in enumerate(pairs)]
        return [*least, *most]

    first, second = sides(one, "one"), sides(other, "other")
    areas = [
        kept(name, (side[2] - side[0]) * (side[3] - side[1]))
        for name, side in (("area", first), ("other_area", second))
    ]
    begins = [kept(f"begin{axis}", greater(first[axis], second[axis])) for axis in (0, 1)]
    ends = [kept(f"end{axis}", lesser(first[axis + 2], second[axis + 2])) for axis in (0, 1)]
    lengths = [
        kept(f"length{axis}", greater(end - begin, ZERO))
        for axis, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]
    common = kept("common", lengths[0] * lengths[1])
    is_empty = tirx.Or(areas[0] <= ZERO, areas[1] <= ZERO)
    overlap = ratio.set(common / (areas[0] + areas[1] - common))
    return [*statements, tirx.IfThenElse(is_empty, ratio.set(ZERO), overlap)]


def greater(a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
    """Return the first operand unless it is less, like `std::max`."""
    return tirx.Select(a < b, b, a)


def lesser(a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
    """Return the first operand unless it is greater, like `std::min`."""
    return tirx.Select(b < a, b, a)


def find_greatest(
    count: int,
    found: Local,
    value: Callable[[tirx.Expr], tirx.Expr],
    counts: Callable[[tirx.Expr], tirx.Expr],
) -> list[tirx.Stmt]:
    """Return statements that set `found` to the first index with the greatest value, among indices
    for which `counts` is true; to `NOTHING` if there is none."""
    best = Local.of("best", "float32")

    def step(index: tirx.Var) -> tirx.Stmt:
        is_better = tirx.Or(found.get() < 0, value(index) > best.get())
        take = [found.set(index), best.set(value(index))]
        return when(counts(index), [when(is_better, take)])

    return [*best.declared(ZERO), found.set(NOTHING), loop("n", count, step)]


def when(condition: tirx.Expr, statements: Iterable[tirx.Stmt]) -> tirx.Stmt:
    """Return a branch that runs the statements if the condition holds."""
    return tirx.IfThenElse(condition, sequence(statements), None)


def scratch(extents: tuple[int, ...], dtype: str, name: str) -> tirx.Buffer:
    """Declare a scratch buffer, which the planner places; `tirx.AllocBuffer` must allocate it."""
    return tirx.decl_buffer(extents, dtype, name)
