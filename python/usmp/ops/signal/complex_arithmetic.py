"""Complex numbers in TIR: of float32, or of fixed-point numbers like in kissfft.

A fixed-point number of n bits has n - 1 fractional bits. Products are rounded to nearest, halves
up; sums wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from tvm import tirx

from usmp.ops.statements import Local

_PRODUCTS = {"int16": "int32", "int32": "int64"}


@dataclass(frozen=True)
class Complex:
    """A complex number: real and imaginary part, in the type of sums."""

    real: tirx.Expr
    imaginary: tirx.Expr

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.real + other.real, self.imaginary + other.imaginary)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.real - other.real, self.imaginary - other.imaginary)

    @property
    def conjugate(self) -> Complex:
        """The complex conjugate."""
        return Complex(self.real, -self.imaginary)

    @property
    def turned(self) -> Complex:
        """The product with -i."""
        return Complex(self.imaginary, -self.real)


@dataclass(frozen=True)
class Arithmetic:
    """The arithmetic of numbers of a type.

    Parameters
    ----------
    dtype
        "int16", "int32" or "float32".
    """

    dtype: str

    @property
    def is_fixed(self) -> bool:
        """Whether the numbers are fixed-point numbers."""
        return self.dtype in _PRODUCTS

    @property
    def sums(self) -> str:
        """The type in which sums are computed."""
        return "int32" if self.is_fixed else self.dtype

    def loaded(self, buffer: tirx.Buffer, *place: tirx.Expr | int) -> tirx.Expr:
        """Load an element, in the type of sums."""
        return buffer[place].astype(self.sums)

    def complex(self, buffer: tirx.Buffer, *place: tirx.Expr | int) -> Complex:
        """Load a complex number, a pair of elements along the last axis; `place` counts pairs."""
        *outer, index = place
        return Complex(
            self.loaded(buffer, *outer, index * 2), self.loaded(buffer, *outer, index * 2 + 1)
        )

    def stores(
        self, buffer: tirx.Buffer, value: Complex, *place: tirx.Expr | int
    ) -> list[tirx.Stmt]:
        """Return statements that store a complex number at `place`, which counts pairs."""
        *outer, index = place
        parts = ((index * 2, value.real), (index * 2 + 1, value.imaginary))
        return [
            tirx.BufferStore(buffer, part.astype(self.dtype), [*outer, at]) for at, part in parts
        ]

    def product(self, a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
        """Multiply two real numbers."""
        return self._rounded(self._wide(a) * self._wide(b))

    def complex_product(self, a: Complex, b: Complex) -> Complex:
        """Multiply two complex numbers; each part is rounded once."""
        a_real, a_imaginary, b_real, b_imaginary = (
            self._wide(part) for part in (a.real, a.imaginary, b.real, b.imaginary)
        )
        return Complex(
            self._rounded(a_real * b_real - a_imaginary * b_imaginary),
            self._rounded(a_real * b_imaginary + a_imaginary * b_real),
        )

    def scaled(self, value: Complex, factor: tirx.Expr) -> Complex:
        """Multiply a complex number by a real number."""
        return Complex(self.product(value.real, factor), self.product(value.imaginary, factor))

    def divided(self, value: Complex, divisor: int) -> Complex:
        """Divide a fixed-point number by `divisor`, so that a sum of `divisor` numbers rarely
        wraps; return a float unchanged."""
        if not self.is_fixed:
            return value
        return self.scaled(value, tirx.IntImm("int32", np.iinfo(self.dtype).max // divisor))

    def half(self, value: tirx.Expr) -> tirx.Expr:
        """Halve a real number; fixed-point numbers are rounded down."""
        if self.is_fixed:
            return value >> tirx.IntImm("int32", 1)
        return value * tirx.FloatImm(self.dtype, 0.5)

    def halves(self, value: Complex) -> Complex:
        """Halve both parts."""
        return Complex(self.half(value.real), self.half(value.imaginary))

    def _wide(self, value: tirx.Expr) -> tirx.Expr:
        return value.astype(_PRODUCTS.get(self.dtype, self.dtype))

    def _rounded(self, product: tirx.Expr) -> tirx.Expr:
        if not self.is_fixed:
            return product
        wide, bits = _PRODUCTS[self.dtype], int(np.iinfo(self.dtype).bits) - 1
        nearest = product + tirx.IntImm(wide, 1 << (bits - 1))
        return (nearest >> tirx.IntImm(wide, bits)).astype(self.sums)


@dataclass
class Steps:
    """Statements that compute complex variables, in order."""

    arithmetic: Arithmetic
    statements: list[tirx.Stmt] = field(default_factory=list)

    def keep(self, name: str, value: Complex) -> Complex:
        """Declare variables of the arithmetic's type for both parts; return the number in them."""
        parts = []
        for suffix, part in (("real", value.real), ("imaginary", value.imaginary)):
            variable = Local.of(f"{name}_{suffix}", self.arithmetic.dtype)
            self.statements += variable.declared(part.astype(self.arithmetic.dtype))
            parts.append(variable.get().astype(self.arithmetic.sums))
        return Complex(*parts)
