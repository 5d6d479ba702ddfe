"""The calls of a main function as a graph of plain numbers, for the search for an order.

Calls and tensors are identified by their indices; the index of a call is its position in the
importer's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class GraphTensor:
    """A buffer in planned memory, or the scratch of a call.

    It is live from the first to the last call that uses it. At least one call uses it.

    Parameters
    ----------
    size_bytes
        size of the buffer.
    at_entry
        whether it is also live before the first call.
    at_exit
        whether it is also live after the last call.
    """

    size_bytes: int
    at_entry: bool = False
    at_exit: bool = False


@dataclass(frozen=True)
class TensorUse:
    """The use of a tensor by a call.

    Parameters
    ----------
    tensor
        index of the tensor.
    first, last
        positions within the call. A tensor that no earlier call uses is live from `first`
        on; one that no later call uses is live up to and including `last`.
    """

    tensor: int
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class GraphCall:
    """A call, or another statement.

    Parameters
    ----------
    uses
        the tensors that it uses, without duplicates.
    after
        the calls that must come before this one, in ascending order; all have lower indices.
    reuse_bytes
        (y, x) -> bytes that two tensors may share if y is used for the last time and x for the
        first time; at most the size of the smaller one.
    """

    uses: tuple[TensorUse, ...]
    after: tuple[int, ...] = ()
    reuse_bytes: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class OperatorGraph:
    """The calls in the importer's order, and the tensors that they use."""

    tensors: tuple[GraphTensor, ...]
    calls: tuple[GraphCall, ...]

    @property
    def has_one_order(self) -> bool:
        """Whether every call must come directly after the one before it."""
        return all(index in call.after for index, call in enumerate(self.calls[1:]))
