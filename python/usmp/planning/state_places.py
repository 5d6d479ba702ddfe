"""The candidate pools that a state pool and a state layout permit, for states and for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import byte_alignment
from usmp.objects import PoolInfo, WorkspacePoolInfo
from usmp.objects.arguments.executor import Executor, executor_of
from usmp.objects.attributes.annotations import (
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    FIXED_OFFSET_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.placed_state import PlacedState
from usmp.planning.state_layout import fits, given_places
from usmp.planning.state_pool import state_pool_of


@dataclass(frozen=True)
class StatePlaces:
    """The places that the states of a module may have.

    Parameters
    ----------
    pool
        the pool that holds the states and nothing else, if there is one.
    layout
        the required place of each state, by name.
    executor
        the executor, which decides the alignment.
    """

    pool: WorkspacePoolInfo | None
    layout: Mapping[str, PlacedState]
    executor: Executor

    def pools_of(self, stmt: tirx.AllocBuffer, workspace: list[PoolInfo]) -> list[PoolInfo]:
        """Return the pools that may hold an allocation that is no constant."""
        is_alone = self.pool is not None and STATE_TENSOR_ATTR.is_on(stmt)
        return [self.pool] if is_alone and self.pool is not None else workspace

    def kept(self, stmt: tirx.AllocBuffer, chosen: list[PoolInfo], function: str) -> list[PoolInfo]:
        """Return the pools among `chosen`, an allocation's candidates, that the state pool permits.

        Raises
        ------
        ValueError
            none remains.
        """
        if self.pool is None or CONSTANT_DATA_ATTR.is_on(stmt):
            return chosen
        name, is_state = str(self.pool.pool_name), STATE_TENSOR_ATTR.is_on(stmt)
        kept = [pool for pool in chosen if (str(pool.pool_name) == name) == is_state]
        if not kept:
            adverb = "only" if is_state else "not"
            raise ValueError(
                f"{function}: buffer {stmt.buffer.name} may {adverb} lie in the state pool {name}, "
                f"but its candidate pools are {', '.join(str(p.pool_name) for p in chosen)}"
            )
        return kept

    def annotations(self, stmt: tirx.AllocBuffer, candidates: Sequence[PoolInfo]) -> dict[str, Any]:
        """Return the annotations for candidate pools and for the offset of a state in the layout. A
        state that does not fit its place gets no offset: `check_state_layout` raises an error."""
        pools_only = CANDIDATE_POOLS_ATTR.entry(candidates)
        place = self.layout.get(STATE_TENSOR_ATTR.of(stmt) or "")
        if place is None or FIXED_OFFSET_ATTR.is_on(stmt):
            return pools_only
        pools = [pool for pool in candidates if str(pool.pool_name) == str(place.pool_name)]
        if not pools or not fits(place, stmt, byte_alignment(stmt, self.executor, pools)):
            return pools_only
        return CANDIDATE_POOLS_ATTR.entry(pools) | FIXED_OFFSET_ATTR.entry(int(place.byte_offset))


def state_places_of(mod: IRModule) -> StatePlaces:
    """Return the places that the attributes of a module permit for states.

    Raises
    ------
    ValueError
        an attribute has another type.
    """
    return StatePlaces(state_pool_of(mod), given_places(mod), executor_of(mod))
