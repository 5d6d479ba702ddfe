"""The butterflies of a fast Fourier transform, of 2, 3, 4 and 5 numbers.

Sums and products are in the order of kissfft, because fixed-point numbers are rounded, and wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from usmp.ops.signal.complex_arithmetic import Complex, Steps

Butterfly = Callable[[Steps, Sequence[Complex], Sequence[Complex], bool], list[Complex]]
"""Maps the joined numbers, all but the first multiplied by their twiddles, to the result.

Other arguments are the constants of the radix, exp(-2 pi i k / radix) for k = 1, 2, ..., and
whether the transform is inverse; the constants are conjugate then.
"""


def joined_by_2(
    steps: Steps, values: Sequence[Complex], roots: Sequence[Complex], inverse: bool
) -> list[Complex]:
    """Join two numbers: return sum and difference."""
    first, second = values
    return [first + second, first - second]


def joined_by_3(
    steps: Steps, values: Sequence[Complex], roots: Sequence[Complex], inverse: bool
) -> list[Complex]:
    """Join three numbers: return their Fourier transform."""
    first, second, third = values
    total = steps.keep("total", second + third)
    difference = steps.keep("difference", second - third)
    middle = steps.keep("middle", first - steps.arithmetic.halves(total))
    side = steps.keep("side", steps.arithmetic.scaled(difference, roots[0].imaginary))
    return [first + total, middle - side.turned, middle + side.turned]


def joined_by_4(
    steps: Steps, values: Sequence[Complex], roots: Sequence[Complex], inverse: bool
) -> list[Complex]:
    """Join four numbers: return their Fourier transform; the roots are 1, i, -1 and -i."""
    first, second, third, fourth = values
    even_difference = steps.keep("even_difference", first - third)
    even_sum = steps.keep("even_sum", first + third)
    odd_sum = steps.keep("odd_sum", second + fourth)
    turned = steps.keep("odd_difference", second - fourth).turned
    results = [even_sum + odd_sum, even_difference + turned]
    results += [even_sum - odd_sum, even_difference - turned]
    if inverse:
        results[1], results[3] = results[3], results[1]
    return results


def joined_by_5(
    steps: Steps, values: Sequence[Complex], roots: Sequence[Complex], inverse: bool
) -> list[Complex]:
    """Join five numbers: return their Fourier transform."""
    first, second, third, fourth, fifth = values
    arithmetic = steps.arithmetic
    outer_sum = steps.keep("outer_sum", second + fifth)
    outer = steps.keep("outer_difference", second - fifth)
    inner_sum = steps.keep("inner_sum", third + fourth)
    inner = steps.keep("inner_difference", third - fourth)
    results = [first + (outer_sum + inner_sum)]
    a, b = roots[0], roots[1]

    def middle(of_outer: Complex, of_inner: Complex) -> Complex:
        total = first + arithmetic.scaled(outer_sum, of_outer.real)
        return total + arithmetic.scaled(inner_sum, of_inner.real)

    near = steps.keep("near", middle(a, b))
    far = steps.keep("far", middle(b, a))
    near_side = arithmetic.scaled(outer, a.imaginary) + arithmetic.scaled(inner, b.imaginary)
    far_side = arithmetic.scaled(outer, b.imaginary) - arithmetic.scaled(inner, a.imaginary)
    near_side = steps.keep("near_side", near_side.turned)
    far_side = steps.keep("far_side", far_side.turned)
    results += [near - near_side, far - far_side, far + far_side, near + near_side]
    return results


BUTTERFLIES: dict[int, Butterfly] = {
    2: joined_by_2,
    3: joined_by_3,
    4: joined_by_4,
    5: joined_by_5,
}
"""Radix -> butterfly."""
