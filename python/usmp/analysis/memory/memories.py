"""Memory objects, and addresses in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx

Memory: TypeAlias = tirx.Var
"""A parameter of a PrimFunc, or the buffer of an AllocBuffer."""

UNBOUNDED = 1 << 60
"""An offset beyond every memory, in bytes: the start or end of an access is unknown."""


@dataclass(frozen=True)
class Term:
    """A part of an address: an index, and its stride in bytes."""

    index: tirx.Expr
    unit_bytes: int


@dataclass(frozen=True)
class Address:
    """An address in a memory: the sum of the `terms` in bytes; None if it is unknown."""

    memory: Memory
    terms: tuple[Term, ...] | None = ()

    def plus(self, terms: Sequence[Term] | None) -> Address:
        """Return the address plus some terms; an unknown address if `terms` is None."""
        if self.terms is None or terms is None:
            return Address(self.memory, None)
        return Address(self.memory, (*self.terms, *terms))

    @property
    def byte_offset(self) -> int | None:
        """The offset from the start of the memory, in bytes; None if it is not constant."""
        if self.terms is None:
            return None
        if not all(isinstance(term.index, tirx.IntImm) for term in self.terms):
            return None
        return sum(int(term.index) * term.unit_bytes for term in self.terms)
