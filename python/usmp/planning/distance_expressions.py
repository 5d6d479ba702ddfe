"""Safe distances as expressions of symbolic sizes: the smallest upper bound that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from tvm import tirx
from tvm.ir import Var

from usmp.analysis.symbolic.separations import Values

Term = tuple[Values, tirx.Expr]


def distance_expression(
    distance: Values, size: Term, sizes: Mapping[str, tuple[Values, Var]]
) -> Term:
    """Return an expression that is at least the distance at each size.

    The candidates are constants, polynomials of one size up to the second degree, and the size of
    the buffer. The candidate with the smallest sum over all sizes is taken.

    Parameters
    ----------
    distance
        safe distance in bytes, at each combination of sizes.
    size
        bytes of the lower buffer, as numbers and as an expression: no distance has to be larger.
    sizes
        the values of each size, and its variable.
    """
    enough = (term for term in _candidates(distance, size, sizes) if (term[0] >= distance).all())
    return min(enough, key=lambda term: int(term[0].sum()))


def _candidates(
    distance: Values, size: Term, sizes: Mapping[str, tuple[Values, Var]]
) -> Iterator[Term]:
    most = int(distance.max())
    constant = tirx.IntImm("int32", most)
    yield np.full_like(distance, most), constant
    for values, variable in sizes.values():
        for a, b, c in _polynomials(distance, values):
            if (np.abs(values * values * a) + np.abs(values * b) + abs(c) >= 2**31).any():
                continue
            numbers = values * values * a + values * b + c
            expression = variable * variable * a + variable * b + c
            missed = distance[numbers < distance]
            if missed.size:
                # Raise the polynomial, because it may be below small distances, such as 0.
                numbers = np.maximum(numbers, missed.max())
                expression = tirx.max(expression, tirx.IntImm("int32", int(missed.max())))
            yield numbers, expression
            yield np.minimum(numbers, size[0]), tirx.min(expression, size[1])
    yield np.minimum(size[0], most), tirx.min(size[1], constant)
    yield size


def _polynomials(distance: Values, values: Values) -> Iterator[tuple[int, int, int]]:
    """Yield coefficients (a, b, c) of polynomials through the distances at the largest sizes; none
    if the distances depend on several sizes."""
    points = dict(zip(values.tolist(), distance.tolist(), strict=True))
    last = sorted(points)[-3:]
    if len(points) != len(values) or len(last) < 3:
        return
    x = last[-1]
    rise = points[last[2]] - points[last[1]]
    yield 0, rise, points[x] - rise * x
    bend = rise - (points[last[1]] - points[last[0]])
    if bend % 2 == 0:
        a = bend // 2
        b = rise - a * (2 * x - 1)
        yield a, b, points[x] - a * x * x - b * x
