"""How a fast Fourier transform of mixed radices is laid out: factors, order of the data, twiddles.

A transform of n = p1 * p2 * ... numbers is p1 transforms of n / p1 numbers each, of every p1-th
number of the data, which a butterfly of p1 numbers joins (Cooley and Tukey, "An algorithm for the
machine calculation of complex Fourier series", 1965). Factors are taken as kissfft takes them: the
rounding of fixed-point numbers depends on their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_PRIMES = (2, 3, 5)
"""Of which the butterflies that there are join 2, 3, 4 or 5 numbers."""


def is_supported(length: int) -> bool:
    """Whether a transform of so many complex numbers has butterflies: 2 and more numbers, without
    other prime factors than 2, 3 and 5."""
    rest = length
    for prime in _PRIMES:
        while rest > 1 and rest % prime == 0:
            rest //= prime
    return length > 1 and rest == 1


@dataclass(frozen=True)
class FftStage:
    """All butterflies of one radix.

    Parameters
    ----------
    radix
        how many numbers a butterfly joins.
    length
        how many numbers each of the joined transforms has; those of a butterfly are this far apart.
    stride
        how many transforms of `radix * length` numbers there are, and how many twiddles lie between
        those of two butterflies.
    """

    radix: int
    length: int
    stride: int


@dataclass(frozen=True)
class FftLayout:
    """A transform of complex numbers.

    Parameters
    ----------
    length
        how many there are.

    Raises
    ------
    ValueError
        there is none of that length (`is_supported`).
    """

    length: int

    def __post_init__(self) -> None:
        """Refuse lengths for which there is no butterfly."""
        if not is_supported(self.length):
            raise ValueError(f"no Fourier transform of {self.length} complex numbers")

    @cached_property
    def stages(self) -> tuple[FftStage, ...]:
        """From the last one, of radix p1, to the first one, whose transforms are of one number."""
        stages: list[FftStage] = []
        rest, radix, stride = self.length, 4, 1
        root = math.isqrt(self.length)
        while rest > 1:
            while rest % radix:
                radix = {4: 2, 2: 3}.get(radix, radix + 2)
                if radix > root:
                    radix = rest
            rest //= radix
            stages.append(FftStage(radix, rest, stride))
            stride *= radix
        return tuple(stages)

    def twiddles(self, dtype: str, inverse: bool = False) -> np.ndarray:
        """exp(-2 pi i k / length) for each k; conjugate for the inverse.

        Returns
        -------
        np.ndarray
            (length, 2) of `dtype`: real and imaginary parts.
        """
        sign = 2 if inverse else -2
        return _exponentials(lambda index: sign * math.pi * index / self.length, self.length, dtype)

    def real_twiddles(self, dtype: str, inverse: bool = False) -> np.ndarray:
        """exp(-pi i ((k + 1) / length + 1/2)): what a transform of twice as many real numbers
        multiplies by.

        Returns
        -------
        np.ndarray
            (length // 2, 2) of `dtype`.
        """
        sign = 1 if inverse else -1
        return _exponentials(
            lambda index: sign * math.pi * ((index + 1) / self.length + 0.5),
            self.length // 2,
            dtype,
        )


def _exponentials(phase: Callable[[int], float], count: int, dtype: str) -> np.ndarray:
    """exp(i phase), in as many fractional bits as an integer type has."""
    parts = [(math.cos(phase(index)), math.sin(phase(index))) for index in range(count)]
    values = np.array(parts, np.float64).reshape(count, 2)
    if dtype.startswith("float"):
        return values.astype(dtype)
    return np.floor(0.5 + np.iinfo(dtype).max * values).astype(dtype)
