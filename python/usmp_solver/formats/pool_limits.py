"""Conversion of a given capacity to limits of the pools of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp_solver.buffers import DEFAULT_POOL


def pool_limits(
    file: str, pools: Sequence[str], capacity: int | Mapping[str, int] | None
) -> dict[str, int]:
    """Return the sizes in bytes of the pools that have a limit.

    Parameters
    ----------
    file
        name of the file, for messages.
    pools
        pools that the file names, the most preferred first.
    capacity
        size of the only pool, or of each pool by name, in bytes; None for no limit.

    Raises
    ------
    ValueError
        The capacity names no pool, but there are several.
    """
    if isinstance(capacity, Mapping):
        return dict(capacity)
    if capacity is None:
        return {}
    if len(pools) > 1:
        raise ValueError(
            f"{file}: the capacity {capacity} names no pool, and the file has several; give each "
            f"its own, as {pools[0]}=64K (pools: {', '.join(pools)})"
        )
    return {(pools or [DEFAULT_POOL.name])[0]: capacity}
