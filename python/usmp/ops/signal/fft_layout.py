"""The layout of a mixed-radix fast Fourier transform: its stages and twiddles.

A transform of n = p1 * p2 * ... numbers consists of p1 transforms, each of every p1-th number, and
of butterflies, which join one number of each transform (Cooley and Tukey, "An algorithm for the
machine calculation of complex Fourier series", 1965). Factors are in the order of kissfft, because
the rounding of fixed-point numbers depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_PRIMES = (2, 3, 5)
"""Prime factors of the radices of butterflies, which are 2, 3, 4 and 5."""


def is_supported(length: int) -> bool:
    """Return whether butterflies can transform this many complex numbers: at least 2, with no other
    prime factors than 2, 3 and 5."""
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
        count of numbers that a butterfly joins.
    length
        count of numbers of each joined transform, and distance of a butterfly's numbers.
    stride
        count of transforms of `radix * length` numbers, and distance between the twiddles of
        neighboring butterflies.
    """

    radix: int
    length: int
    stride: int


@dataclass(frozen=True)
class FftLayout:
    """The layout of a transform of complex numbers.

    Parameters
    ----------
    length
        count of complex numbers.

    Raises
    ------
    ValueError
        the length is not supported (`is_supported`).
    """

    length: int

    def __post_init__(self) -> None:
        """Refuse lengths without butterflies."""
        if not is_supported(self.length):
            raise ValueError(f"no Fourier transform of {self.length} complex numbers")

    @cached_property
    def stages(self) -> tuple[FftStage, ...]:
        """The stages, from the last, of radix p1, to the first, which joins single numbers."""
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
        """Return exp(-2 pi i k / length) for each k; conjugate for the inverse.

        Returns
        -------
        np.ndarray
            (length, 2) of `dtype`: real and imaginary parts.
        """
        sign = 2 if inverse else -2
        return _exponentials(lambda index: sign * math.pi * index / self.length, self.length, dtype)

    def real_twiddles(self, dtype: str, inverse: bool = False) -> np.ndarray:
        """Return exp(-pi i ((k + 1) / length + 1/2)), further twiddles for twice as many real
        numbers.

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
    """Return exp(i phase(k)) for each k < count; the largest value of an integer type means 1."""
    parts = [(math.cos(phase(index)), math.sin(phase(index))) for index in range(count)]
    values = np.array(parts, np.float64).reshape(count, 2)
    if dtype.startswith("float"):
        return values.astype(dtype)
    return np.floor(0.5 + np.iinfo(dtype).max * values).astype(dtype)
