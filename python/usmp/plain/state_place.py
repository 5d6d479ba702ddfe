"""The place of a state in a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from usmp.plain.element_types import tensor_bytes
from usmp.support.text.plain_text import shown


@dataclass(frozen=True)
class StatePlace:
    """A state and its place in a pool.

    Parameters
    ----------
    name
        name of the state.
    shape
        extents, outermost first.
    dtype
        element type as numpy writes it.
    pool_name
        the pool that holds it.
    byte_offset, size_bytes
        offset in the pool, and size, in bytes.
    alignment
        required alignment of the offset, in bytes.
    initial_value
        a digest of the value before the first run; for the flag of a first run, a digest of the
        names of the states that the flag marks; empty if unknown.
    """

    name: str
    shape: list[int]
    dtype: str
    pool_name: str
    byte_offset: int
    size_bytes: int
    alignment: int = 1
    initial_value: str = ""

    def __hash__(self) -> int:
        """Hash the place without its shape, because lists are not hashable."""
        return hash((self.name, self.pool_name, self.byte_offset, self.size_bytes))


def plain_place(state: StatePlace) -> StatePlace:
    """Return a plain copy of a place, which compares by its fields."""
    return StatePlace(
        name=str(state.name),
        shape=[int(extent) for extent in state.shape],
        dtype=str(state.dtype),
        pool_name=str(state.pool_name),
        byte_offset=int(state.byte_offset),
        size_bytes=int(state.size_bytes),
        alignment=int(state.alignment),
        initial_value=str(state.initial_value),
    )


def described_state(dtype: str, shape: Iterable[int]) -> str:
    """Return element type and shape, for errors."""
    return f"{shown(dtype)}[{', '.join(map(str, shape))}]"


def check_places(states: Iterable[StatePlace]) -> None:
    """Check that places are valid in a plan.

    Parameters
    ----------
    states
        places, sorted by pool and offset.

    Raises
    ------
    ValueError
        a name is empty or repeated, a size does not match shape and type, or a place overlaps
        another, begins below 0, is not aligned, or ends beyond 63 bits.
    """
    names: set[str] = set()
    listed = list(states)
    for state in listed:
        name = shown(state.name)
        if not state.name or not state.pool_name:
            raise ValueError("a state or a pool has no name")
        if state.name in names:
            raise ValueError(f'state "{name}" comes twice')
        names.add(state.name)
        _check_place(state, f'state "{name}"')
    _check_overlaps(listed)


def _check_place(state: StatePlace, what: str) -> None:
    alignment, offset, size = state.alignment, state.byte_offset, state.size_bytes
    if any(extent < 0 for extent in state.shape) or size != tensor_bytes(state.shape, state.dtype):
        described = described_state(state.dtype, state.shape)
        raise ValueError(f"{what} is {described}, which are not {size} bytes")
    if alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"the alignment of {what} must be a power of two, not {alignment}")
    if offset < 0 or offset % alignment:
        raise ValueError(
            f"{what} cannot be at byte {offset}, which must be a multiple of {alignment}, 0 or more"
        )
    if offset + size >= 1 << 63:
        raise ValueError(f"{what} would end at byte {offset + size}, beyond 63 bits")


def _check_overlaps(states: Iterable[StatePlace]) -> None:
    """Check that no two of the sorted places share a byte."""
    before: StatePlace | None = None
    for state in states:
        if not state.size_bytes:
            continue
        if before is not None and before.pool_name == state.pool_name:
            end = before.byte_offset + before.size_bytes
            if state.byte_offset < end:
                raise ValueError(
                    f'states "{shown(before.name)}" (bytes {before.byte_offset} to {end - 1}) and '
                    f'"{shown(state.name)}" (from byte {state.byte_offset}) of pool '
                    f'"{shown(state.pool_name)}" overlap'
                )
        before = state
