"""Facts of each entry in a planned module with several entries: states, buffers, peaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad, Var

from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import FunctionFacts, ModuleFacts
from usmp.objects import AllocatedPoolInfo, BufferInfoKind, LiveRange, MemoryPlan, PlacedBuffer
from usmp.objects.attributes.module_attributes import POOL_ARGS_ATTR
from usmp.tir.op_names import is_op


@dataclass(frozen=True)
class UsedState:
    """A state that an entry uses.

    Parameters
    ----------
    name
        name of the state.
    size_bytes
        size of the state, in bytes.
    is_changed
        whether the entry may write the state; other entries see the new content.
    """

    name: str
    size_bytes: int
    is_changed: bool


def used_states(
    facts: ModuleFacts, function: str, states: Sequence[PlacedBuffer]
) -> list[UsedState]:
    """Return the states that a planned PrimFunc or its callees access through a buffer.

    Parameters
    ----------
    facts
        facts of the planned module.
    function
        name of the PrimFunc of an entry.
    states
        all states of the plan.
    """
    if not states:
        return []
    views = [
        view for name in facts.graph.callees_first(function) for view in _views(facts.of(name))
    ]
    used = []
    for state in states:
        views_of_state = [view for view in views if view.meets(state)]
        if views_of_state:
            is_changed = any(view.is_written for view in views_of_state)
            used.append(UsedState(str(state.name), int(state.size_bytes), is_changed))
    return used


def entries_of_buffers(
    facts: ModuleFacts, functions: Mapping[str, str], buffers: Iterable[PlacedBuffer]
) -> list[str]:
    """Return the entries to which buffers that are live together belong.

    There are several entries if they may run at once, or if the buffers are scratch memory of an
    operator that all these entries call. There is no entry if only states are live.

    Parameters
    ----------
    facts
        facts of the planned module.
    functions
        name of each entry -> name of its PrimFunc.
    buffers
        the live buffers.
    """
    owners = {str(b.function) for b in buffers if b.kind != BufferInfoKind.STATE}
    own = [entry for entry, function in functions.items() if function in owners]
    if own or not owners:
        return own
    return [
        entry
        for entry, function in functions.items()
        if owners <= set(facts.graph.callees_first(function))
    ]


def peak_within(plan: MemoryPlan, pool_name: str, positions: LiveRange) -> int:
    """Return the highest end address, in bytes, of the buffers live in a pool at `positions`."""
    return max(
        (
            int(buffer.byte_offset) + int(buffer.size_bytes)
            for buffer in plan.buffers
            if buffer.pool_name == pool_name
            and any(live.intersects(positions) for live in buffer.live_ranges)
        ),
        default=0,
    )


@dataclass(frozen=True)
class _View:
    """A buffer of a PrimFunc at an address in a pool."""

    pool: str
    start: int
    stop: int
    is_written: bool

    def meets(self, buffer: PlacedBuffer) -> bool:
        """Return whether the view and a planned buffer share a byte."""
        start, size = int(buffer.byte_offset), int(buffer.size_bytes)
        is_there = max(start, self.start) < min(start + size, self.stop)
        return self.pool == str(buffer.pool_name) and is_there


def pool_parameters(func: tirx.PrimFunc) -> dict[Var, AllocatedPoolInfo]:
    """Return the last parameters of a planned PrimFunc, each with the pool to which it points."""
    pools = list(POOL_ARGS_ATTR.of(func) or ())
    return dict(zip(func.params[len(func.params) - len(pools) :], pools, strict=True))


def _views(facts: FunctionFacts) -> list[_View]:
    """Return the buffers that a planned PrimFunc declares in pools."""
    func = facts.func
    pools: dict[Var, str] = {
        pointer: str(pool.pool_info.pool_name) for pointer, pool in pool_parameters(func).items()
    }
    views: list[_View] = []

    def on_declaration(stmt: tirx.DeclBuffer) -> None:
        if stmt.data in pools:
            pools[stmt.buffer] = pools[stmt.data]
        elif is_op(stmt.data, "tirx.address_of"):
            load = stmt.data.args[0]
            if isinstance(load, TensorLoad) and load.source in pools:
                start = int(load.indices[0])
                stop = start + size_bytes(stmt.buffer)
                is_written = stmt.buffer in facts.written
                views.append(_View(pools[load.source], start, stop, is_written))

    tvm_ffi.structural_walk(func.body, (tirx.DeclBuffer, on_declaration))
    return views
