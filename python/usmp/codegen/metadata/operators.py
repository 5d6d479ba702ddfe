"""Operators in metadata.json: the calls in the C code, and the operators of the model file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from usmp.analysis.pressure import live_byte_steps
from usmp.codegen.interface.emitted_calls import EmittedCall
from usmp.objects import MemoryPlan, PlacedBuffer, PlannedOperator
from usmp.objects.memory_plan import buffers_by_pool
from usmp.tir.model_operator import ModelOperator

LiveBytes: TypeAlias = "tuple[list[int], list[int]]"
"""Program positions where the live bytes change, and the live bytes from each position on."""


def operators_metadata(
    calls: Sequence[EmittedCall],
    of_models: Mapping[str, Sequence[ModelOperator]],
    plan: MemoryPlan,
    constant_pools: Sequence[str],
) -> dict[str, list[dict[str, Any]]]:
    """Return the lists `model_operators` and `operators`.

    Parameters
    ----------
    calls
        the operator calls, entry by entry, in order of execution.
    of_models
        entry -> all operators of the model file, even those without a call.
    plan
        the memory plan of the module.
    constant_pools
        the names of the constant pools.
    """
    table = {(entry, operator) for entry, own in of_models.items() for operator in own}
    table |= {(call.entry, operator) for call in calls for operator in call.model_operators}
    places_of_entries = {entry: place for place, entry in enumerate(of_models)}
    order = sorted(table, key=lambda key: (places_of_entries[key[0]], key[1].graph, key[1].index))
    places = {key: place for place, key in enumerate(order)}
    planned = list(plan.operators) if len(plan.operators) == len(calls) else [None] * len(calls)
    buffers = {str(buffer.name): buffer for buffer in plan.buffers}
    live = _live_bytes(plan, constant_pools)
    return {
        "model_operators": [{"entry": entry, **operator.as_json()} for entry, operator in order],
        "operators": [
            {
                **call.as_json(),
                "model_operators": [places[call.entry, o] for o in call.model_operators],
                **({} if step is None else _memory(step, buffers, live, constant_pools)),
            }
            for call, step in zip(calls, planned, strict=True)
        ],
    }


def peak_operator(plan: MemoryPlan, live: Sequence[PlacedBuffer]) -> int | None:
    """Return the index of the first operator during which all of `live` are live; None if there is
    none, or `live` is empty.

    Parameters
    ----------
    live
        the buffers live at the peak of a pool.
    """
    ranges = [(0, sum(int(operator.stop) for operator in plan.operators))]
    for buffer in live:
        own = [(int(r.start), int(r.stop)) for r in buffer.live_ranges]
        pairs = [(max(a, c), min(b, d)) for a, b in ranges for c, d in own]
        ranges = [(start, stop) for start, stop in pairs if start < stop]
    if not live:
        return None
    running = (
        place
        for place, operator in enumerate(plan.operators)
        if any(max(a, int(operator.start)) < min(b, int(operator.stop)) for a, b in ranges)
    )
    return next(running, None)


def _memory(
    operator: PlannedOperator,
    buffers: Mapping[str, PlacedBuffer],
    live: Mapping[str, LiveBytes],
    constant_pools: Sequence[str],
) -> dict[str, Any]:
    start, stop = int(operator.start), int(operator.stop)
    read, written = (
        [str(name) for name in names if str(name) in buffers]
        for names in (operator.read, operator.written)
    )
    constants = [buffers[name] for name in read if buffers[name].pool_name in constant_pools]
    return {
        "start": start,
        "stop": stop,
        "live_bytes": {name: _most_within(steps, start, stop) for name, steps in live.items()},
        "weights_size_bytes": sum(int(buffer.size_bytes) for buffer in constants),
        "buffers": {"read": read, "written": written},
    }


def _live_bytes(plan: MemoryPlan, constant_pools: Sequence[str]) -> dict[str, LiveBytes]:
    """Return the live bytes of each workspace pool."""
    by_pool = buffers_by_pool(plan.buffers)
    return {name: _steps(held) for name, held in by_pool.items() if name not in constant_pools}


def _steps(buffers: Sequence[PlacedBuffer]) -> LiveBytes:
    counts = live_byte_steps(buffers)
    return list(counts), list(counts.values())


def _most_within(steps: LiveBytes, start: int, stop: int) -> int:
    """Return the most bytes that are live in a half-open range of positions."""
    positions, counts = steps
    first, last = bisect_right(positions, start) - 1, bisect_left(positions, stop)
    return max(counts[max(first, 0) : last], default=0)
