"""The capacity that is given for a file, as limits of its pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp_solver.buffers import DEFAULT_POOL


def pool_limits(
    file: str, pools: Sequence[str], capacity: int | Mapping[str, int] | None
) -> dict[str, int]:
    """Bytes of the pools that have a limit.

    Parameters
    ----------
    file
        its name, for messages.
    pools
        that the file names, the most wanted first.
    capacity
        bytes of the only pool, or of each pool by name; None is no limit.

    Raises
    ------
    ValueError
        The capacity names no pool, and there are several.
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
