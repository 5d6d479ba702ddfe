"""The independent judge of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tvm_ffi import get_global_func

from usmp.objects import BufferInfo, PoolAllocation

_check_plan = get_global_func("usmp.check_plan")


def check_plan(buffers: Iterable[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation]) -> None:
    """Return if the plan is sound, whoever made it.

    A plan is sound if every buffer has an allocation, in one of its candidate pools, at a
    non-negative multiple of its alignment, within the pool's size hint; and if two buffers share a
    byte only where neither lists the other as a conflict and none of their live ranges meet.
    Buffers of no bytes share none. The check (``src/usmp/check.cc``) shares no code with the
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
