"""Memory objects, and addresses in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx

Memory: TypeAlias = tirx.Var
"""A parameter of a PrimFunc, or the buffer of an AllocBuffer."""

UNBOUNDED = 1 << 60
"""More bytes than there are: where an access begins or ends is not known."""


@dataclass(frozen=True)
class Term:
    """A part of an address: an index, and the bytes of what it counts."""

    index: tirx.Expr
    unit_bytes: int


@dataclass(frozen=True)
class Address:
    """An address: the sum of the `terms` in bytes, in a memory; None if that is not known."""

    memory: Memory
    terms: tuple[Term, ...] | None = ()

    def plus(self, terms: Sequence[Term] | None) -> Address:
        """The address some bytes further on; None if it is not known how many."""
        if self.terms is None or terms is None:
            return Address(self.memory, None)
        return Address(self.memory, (*self.terms, *terms))

    @property
    def byte_offset(self) -> int | None:
        """Bytes from the start of the memory; None if they are not known before the run."""
        if self.terms is None:
            return None
        if not all(isinstance(term.index, tirx.IntImm) for term in self.terms):
            return None
        return sum(int(term.index) * term.unit_bytes for term in self.terms)
