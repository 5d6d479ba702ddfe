"""What metadata.json says of operators: of those that run, and of those of the model file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from usmp.codegen.interface.emitted_calls import EmittedCall
from usmp.objects import MemoryPlan, PlacedBuffer, PlannedOperator
from usmp.tir.model_operator import ModelOperator
from usmp_solver.live_bytes import live_bytes_by_position

LiveBytes: TypeAlias = "tuple[list[int], list[int]]"
"""Program positions at which the number of live bytes changes, and the number from there on."""


def operators_metadata(
    calls: Sequence[EmittedCall],
    of_models: Mapping[str, Sequence[ModelOperator]],
    plan: MemoryPlan,
    constant_pools: Sequence[str],
) -> dict[str, list[dict[str, Any]]]:
    """The lists `model_operators` and `operators`.

    Parameters
    ----------
    calls
        the statements that run operators, one entry after the other, in order.
    of_models
        entry -> the operators of the model file, also those that no call is for.
    plan
        of the module.
    constant_pools
        the names of the pools of constants.
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
                **({} if one is None else _memory(one, buffers, live, constant_pools)),
            }
            for call, one in zip(calls, planned, strict=True)
        ],
    }


def peak_operator(plan: MemoryPlan, live: Sequence[PlacedBuffer]) -> int | None:
    """The first operator that runs while all of some buffers are live, as its place in
    `operators`; None if there are none, or no operator does.

    Parameters
    ----------
    live
        what is live at the peak of a pool.
    """
    spans = [(0, sum(int(operator.stop) for operator in plan.operators))]
    for buffer in live:
        own = [(int(r.start), int(r.stop)) for r in buffer.live_ranges]
        pairs = [(max(a, c), min(b, d)) for a, b in spans for c, d in own]
        spans = [(start, stop) for start, stop in pairs if start < stop]
    if not live:
        return None
    running = (
        place
        for place, operator in enumerate(plan.operators)
        if any(
            max(start, int(operator.start)) < min(stop, int(operator.stop)) for start, stop in spans
        )
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
    """Of each workspace pool."""
    by_pool: dict[str, list[PlacedBuffer]] = {}
    for buffer in plan.buffers:
        if buffer.pool_name not in constant_pools:
            by_pool.setdefault(str(buffer.pool_name), []).append(buffer)
    return {name: _steps(held) for name, held in sorted(by_pool.items())}


def _steps(buffers: Sequence[PlacedBuffer]) -> LiveBytes:
    found = live_bytes_by_position(
        (int(buffer.size_bytes), [(int(r.start), int(r.stop)) for r in buffer.live_ranges])
        for buffer in buffers
    )
    return list(found), list(found.values())


def _most_within(steps: LiveBytes, start: int, stop: int) -> int:
    """The most bytes that are live at a position of a half-open range."""
    positions, counts = steps
    first, last = bisect_right(positions, start) - 1, bisect_left(positions, stop)
    return max(counts[max(first, 0) : last], default=0)
