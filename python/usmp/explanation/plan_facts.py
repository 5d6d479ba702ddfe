"""Facts of the analysis about the peak of each workspace pool, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from tvm.ir import IRModule
from tvm.ir.instrument import PassInstrument

from usmp.objects import BufferInfo
from usmp.planning.forcing_buffers import ForcingBuffers, forcing_buffers
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.peak_position import peak_position
from usmp.planning.peak_without import peak_without
from usmp.planning.plan import Plan
from usmp.planning.session import PlanningSession
from usmp.planning.sharing_reasons import SharingReasons
from usmp.report.explanation.live_buffers import operator_at_peak
from usmp.report.explanation.operators import operator_at

_PLANNER = "usmp.UnifiedStaticMemoryPlanner"


@dataclass
class Planned:
    """The module that was planned last, and its options.

    Parameters
    ----------
    mod
        the module that the planner received.
    options
        planning options of the PassContext in which it was planned.
    """

    mod: IRModule | None = None
    options: PlanningOptions = field(default_factory=PlanningOptions)


def noting_what_is_planned(planned: Planned) -> PassInstrument:
    """Return an instrument that stores the planner's input and options in `planned`."""

    class _Noting(PassInstrument):  # type: ignore[misc]
        def run_before_pass(self, mod: IRModule, info: object) -> None:
            if getattr(info, "name", "") == _PLANNER:
                planned.mod = mod
                planned.options = planning_options()

    return _Noting()


def plan_facts(
    session: PlanningSession, planned: Planned, module: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return facts of each workspace pool: why pairs of buffers at its peak share no more bytes,
    which buffers force the peak, and the next peak if the operator at the peak took no memory.

    Parameters
    ----------
    session
        session in which the module was planned.
    planned
        the planner's input and options (see `noting_what_is_planned`).
    module
        metadata of the planned module.
    """
    assert planned.mod is not None
    prepared = session.prepared(planned.mod, planned.options)
    plan = session.plan(prepared, planned.options)
    if not isinstance(plan, Plan):
        return {}
    reasons = SharingReasons(session, prepared, plan, planned.options)
    by_name = {str(buffer.name_hint): buffer for buffer in plan.buffers}
    pools = [pool for pool in module["memory"]["pools"] if pool["kind"] == "workspace"]
    return {
        pool["name"]: _pool_facts(module, pool, by_name, reasons, planned.options) for pool in pools
    }


def _pool_facts(
    module: Mapping[str, Any],
    pool: Mapping[str, Any],
    by_name: Mapping[str, BufferInfo],
    reasons: SharingReasons,
    options: PlanningOptions,
) -> dict[str, Any]:
    placed = [buffer for buffer in pool["buffers"] if buffer["name"] in by_name]
    held = [by_name[buffer["name"]] for buffer in placed]
    position = peak_position(held, [buffer["offset"] + buffer["size"] for buffer in placed])
    if position is not None:
        pool = {**pool, "live_at_peak": _live(pool, position)}
    live = [by_name[name] for name in pool["live_at_peak"] if name in by_name]
    pairs = [asdict(reasons.of(first, second)) for first, second in combinations(live, 2)]
    facts: dict[str, Any] = {
        "pairs": [_named(pair) for pair in pairs],
        "forced_by": None,
        "next_peak": None,
    }
    # If offsets are expressions of symbolic sizes, buffers have no single address.
    if options.computes_offsets:
        return facts
    forced = forcing_buffers(held, pool["lower_bound_bytes"]) if held else None
    facts["forced_by"] = None if forced is None else _forced_by(forced, placed)
    index = operator_at_peak(module, pool)
    if index is not None and "start" in module["operators"][index]:
        facts["next_peak"] = _next_peak(module, pool, held, module["operators"][index])
    return facts


def _live(pool: Mapping[str, Any], position: int) -> list[str]:
    """Return the names of the buffers that are live at a position, sorted by offset."""
    live = [
        buffer
        for buffer in pool["buffers"]
        if any(start <= position < stop for start, stop in buffer["live_ranges"])
    ]
    return [b["name"] for b in sorted(live, key=lambda b: (b["offset"], b["name"]))]


def _named(pair: dict[str, Any]) -> dict[str, Any]:
    """Return a pair of buffers as JSON, where keys of sizes end with their unit, "_bytes"."""
    named = {**pair, "distance_bytes": pair["distance"], "size_bytes": pair["size"]}
    del named["distance"], named["size"]
    if named["because"] is not None:
        named["because"] = {**named["because"], "functions": list(named["because"]["functions"])}
    return {**named, "kept": list(named["kept"])}


def _forced_by(forced: ForcingBuffers, placed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return forcing buffers as plain data, with the bytes behind states that new rows need."""
    sizes = {buffer["name"]: buffer["size"] for buffer in placed}
    names = [str(buffer.name_hint) for buffer in forced.buffers]
    whole = sum(int(buffer.size_bytes) for buffer in forced.buffers)
    return {
        "kind": forced.kind,
        "buffers": names,
        "bytes_behind_states": whole - sum(sizes[name] for name in names),
        "is_irreducible": forced.is_irreducible,
    }


def _next_peak(
    module: Mapping[str, Any],
    pool: Mapping[str, Any],
    held: Sequence[BufferInfo],
    operator: Mapping[str, Any],
) -> dict[str, Any]:
    without = peak_without(held, pool["name"], operator["start"], operator["stop"])
    position = without.position
    return {
        "peak_bytes": without.peak_bytes,
        "optimal": without.is_optimal,
        "operator": None if position is None else operator_at(module, [(position, position + 1)]),
    }
