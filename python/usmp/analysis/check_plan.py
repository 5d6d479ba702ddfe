"""The independent judge of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tvm_ffi import get_global_func

from usmp.objects import BufferInfo, PoolAllocation

Relations: TypeAlias = Sequence[Any]
"""By buffer, its conflicts and its safe overlaps as they were."""

_check_plan = get_global_func("usmp.check_plan")
_relations_of = get_global_func("usmp.relations_of")
_check_relations = get_global_func("usmp.check_relations")


def check_plan(buffers: Iterable[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation]) -> None:
    """Return if the plan is sound, whoever made it.

    A plan is sound if every buffer has an allocation, in one of its candidate pools, at a
    non-negative multiple of its alignment, within the pool's size hint; and if two buffers share a
    byte only where neither lists the other as a conflict and none of their live ranges meet, or
    where one starts below the other by at least the distance of its safe overlap. Buffers of no
    bytes share none. The check (``src/usmp/check.cc``) shares no code with the
    algorithms, so a mistake would have to be made twice to pass.

    Parameters
    ----------
    buffers
        The buffers that the plan must place.
    plan
        Buffer to allocation; allocations of other buffers are ignored.

    Raises
    ------
    ValueError
        The plan is not sound; the message names the buffers, the pool and the bytes.
    """
    _check_plan(list(buffers), plan)


def relations_of(buffers: Iterable[BufferInfo]) -> Relations:
    """What a plan of the buffers is judged by and an algorithm could change: conflicts, overlaps.

    Sizes, alignments, pins, candidate pools and live ranges cannot change.
    """
    relations: Relations = _relations_of(list(buffers))
    return relations


def check_relations(buffers: Iterable[BufferInfo], relations: Relations, algorithm: str) -> None:
    """Return if the buffers' conflicts and safe overlaps are what they were.

    Parameters
    ----------
    buffers
        The buffers, in the order in which `relations_of` had them.
    relations
        What it said before the algorithm was called.
    algorithm
        Its name, for the message.

    Raises
    ------
    ValueError
        Something was changed; the message names the algorithm and the buffer.
    """
    _check_relations(list(buffers), relations, algorithm)
