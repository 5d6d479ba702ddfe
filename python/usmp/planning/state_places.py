"""What a state pool and a state layout leave open of the places of states, and of all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import byte_alignment
from usmp.objects import PoolInfo, WorkspacePoolInfo
from usmp.objects.annotations import (
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    FIXED_OFFSET_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.executor import Executor, executor_of
from usmp.objects.placed_state import PlacedState
from usmp.planning.state_layout import fits, given_places
from usmp.planning.state_pool import state_pool_of


@dataclass(frozen=True)
class StatePlaces:
    """Where the states of a module may be.

    Parameters
    ----------
    pool
        the pool that holds the states and nothing else, if there is one.
    layout
        by the name of a state, where it has to be.
    executor
        what the code is made for.
    """

    pool: WorkspacePoolInfo | None
    layout: Mapping[str, PlacedState]
    executor: Executor

    def pools_of(self, stmt: tirx.AllocBuffer, workspace: list[PoolInfo]) -> list[PoolInfo]:
        """The pools that may hold what is no constant."""
        is_alone = self.pool is not None and STATE_TENSOR_ATTR.is_on(stmt)
        return [self.pool] if is_alone and self.pool is not None else workspace

    def kept(self, stmt: tirx.AllocBuffer, chosen: list[PoolInfo], function: str) -> list[PoolInfo]:
        """What the state pool leaves of candidate pools that were chosen before.

        Raises
        ------
        ValueError
            none.
        """
        if self.pool is None or CONSTANT_DATA_ATTR.is_on(stmt):
            return chosen
        name, is_state = str(self.pool.pool_name), STATE_TENSOR_ATTR.is_on(stmt)
        kept = [pool for pool in chosen if (str(pool.pool_name) == name) == is_state]
        if not kept:
            what = "only" if is_state else "not"
            raise ValueError(
                f"{function}: buffer {stmt.buffer.name} may {what} lie in the state pool {name}, "
                f"but its candidate pools are {', '.join(str(p.pool_name) for p in chosen)}"
            )
        return kept

    def annotations(self, stmt: tirx.AllocBuffer, candidates: Sequence[PoolInfo]) -> dict[str, Any]:
        """Candidate pools, and the byte at which a state has to be if the layout has a place for
        it. One that it does not fit stays free: `check_state_layout` says so."""
        free = CANDIDATE_POOLS_ATTR.entry(candidates)
        place = self.layout.get(STATE_TENSOR_ATTR.of(stmt) or "")
        if place is None or FIXED_OFFSET_ATTR.is_on(stmt):
            return free
        pools = [pool for pool in candidates if str(pool.pool_name) == str(place.pool_name)]
        if not pools or not fits(place, stmt, byte_alignment(stmt, self.executor, pools)):
            return free
        return CANDIDATE_POOLS_ATTR.entry(pools) | FIXED_OFFSET_ATTR.entry(int(place.byte_offset))


def state_places_of(mod: IRModule) -> StatePlaces:
    """What the attributes of a module say.

    Raises
    ------
    ValueError
        they are something else.
    """
    return StatePlaces(state_pool_of(mod), given_places(mod), executor_of(mod))
