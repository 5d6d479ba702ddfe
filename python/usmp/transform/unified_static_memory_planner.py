"""UnifiedStaticMemoryPlanner: from allocations to offsets into pools, the whole way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms import (
    DEFAULT_ALGORITHM,
    Algorithm,
    SearchedPlan,
    get_algorithm,
    get_custom_algorithm,
)
from usmp.algorithms.access_cost import AccessCosts, access_costs, has_speed
from usmp.algorithms.placement import check_placement, place
from usmp.algorithms.registry import Plan, check_takes_no_time
from usmp.analysis import (
    assign_stmt_pool_allocations,
    check_plan,
    create_array_buffer_info,
    pool_bounds,
)
from usmp.analysis.access_counts import access_counts
from usmp.analysis.check_plan import check_relations, relations_of
from usmp.analysis.stmt_pool_allocations import identical_constants
from usmp.analysis.used_overlaps import used_overlaps
from usmp.names import PREFERENCE
from usmp.objects import BufferInfo, MemoryPlan, PlacedBuffer, PoolAllocation
from usmp.objects.attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    MAIN_FUNCTION_NAME,
    MEMORY_PLAN_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.transform.buffers_to_plan import buffers_to_plan
from usmp.transform.check_unplanned import check_unplanned
from usmp.transform.convert_pool_allocations_to_offsets import ConvertPoolAllocationsToOffsets
from usmp.transform.module_pass import ModulePass
from usmp_solver.durations import parse_duration


@tvm.transform.module_pass(opt_level=0, name="tir.usmp.UnifiedStaticMemoryPlanner")
class UnifiedStaticMemoryPlanner(ModulePass):
    """Plan the memory of `__tvm_main__` and of everything that it calls.

    Reads from the PassContext `tir.usmp.algorithm`, `tir.usmp.custom_algorithm` (which wins),
    `tir.usmp.use_workspace_io`, `tir.usmp.preserve_inputs`, `tir.usmp.overlap`,
    `tir.usmp.placement` (see `usmp.algorithms.placement`) and `tir.usmp.time_budget` (see
    `usmp.algorithms.search`). The plan is checked before it is used, whatever made it, and left on
    the module as the attribute `memory_plan`. RFC 0009, "Reference-level explanation".

    Raises
    ------
    ValueError: an algorithm or placement that is not known, a time budget that is no duration or
        that the algorithm does not take, a plan that does not fit the pools' sizes, a plan that the
        checker refuses, an algorithm that changes conflicts or overlaps, placement by cost in pools
        of unknown speed, or a module that is planned already or has no `__tvm_main__`.
    """

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Place every allocation."""
        check_unplanned(mod)
        placement = str(context.config.get("tir.usmp.placement", PREFERENCE))
        check_placement(placement)
        mod, analysis = buffers_to_plan(mod, context)
        stmts = analysis.buffer_info_stmts
        buffers = create_array_buffer_info(stmts)
        name, algorithm = _algorithm(context)
        costs = _access_costs(mod, buffers, stmts)
        relations = relations_of(buffers)
        # Of several plans a wrong one is no choice; the one that is taken is checked in any case.
        planning = algorithm if costs is None else _checked(name, algorithm)
        found = place(buffers, analysis.memory_pressure, name, planning, placement, costs)
        plan = dict(found.plan.items())
        check_relations(buffers, relations, name)
        check_plan(buffers, plan)
        searched = found.plan if isinstance(found.plan, SearchedPlan) else None
        functions = _functions_of_allocations(mod)
        identical = identical_constants(stmts)
        overlaps = used_overlaps(buffers, plan)
        placed = [
            _placed(
                b,
                plan[b],
                functions[stmts[b]],
                [i.name_hint for i in identical.get(b, ())],
                {overwritten.name_hint: distance for overwritten, distance in overlaps[b].items()},
            )
            for b in buffers
        ]
        places = assign_stmt_pool_allocations(stmts, plan)
        mod = ConvertPoolAllocationsToOffsets(places)(mod)
        memory_plan = MemoryPlan(
            name,
            analysis.memory_pressure,
            placed,
            placement,
            found.estimate(),
            pool_bounds(buffers, plan, searched.lower_bounds if searched else None),
            searched.ended_by if searched else None,
        )
        return mod.with_attr(MEMORY_PLAN_ATTR, memory_plan)


def _algorithm(context: PassContext) -> tuple[str, Algorithm]:
    seconds = _time_budget_seconds(context)
    custom = context.config.get("tir.usmp.custom_algorithm")
    if custom is not None:
        check_takes_no_time(f"a custom algorithm, {custom}", seconds)
        return str(custom), get_custom_algorithm(str(custom))
    name = str(context.config.get("tir.usmp.algorithm", DEFAULT_ALGORITHM))
    return name, get_algorithm(name, seconds)


def _time_budget_seconds(context: PassContext) -> float | None:
    budget = context.config.get("tir.usmp.time_budget")
    if budget is None:
        return None
    try:
        return parse_duration(str(budget))
    except ValueError as error:
        raise ValueError(f"tir.usmp.time_budget: {error}") from error


def _checked(name: str, algorithm: Algorithm) -> Algorithm:
    """The same, refusing plans that are not sound."""

    def checked(buffers: Sequence[BufferInfo], memory_pressure: int) -> Plan:
        relations = relations_of(buffers)
        plan = algorithm(buffers, memory_pressure)
        check_relations(buffers, relations, name)
        check_plan(buffers, dict(plan.items()))
        return plan

    return checked


def _access_costs(
    mod: IRModule, buffers: list[BufferInfo], stmts: Mapping[BufferInfo, tirx.AllocBuffer]
) -> AccessCosts | None:
    """None, and nothing counted, if no pool says how fast it is."""
    pools = [pool for buffer in buffers for pool in buffer.pool_candidates]
    for attribute in (WORKSPACE_MEMORY_POOLS_ATTR, CONSTANT_MEMORY_POOLS_ATTR):
        if attribute in (mod.attrs or {}):
            pools += mod.attrs[attribute].pools
    if not any(has_speed(pool) for pool in pools):
        return None
    return access_costs(access_counts(MAIN_FUNCTION_NAME, mod, stmts))


def _functions_of_allocations(mod: IRModule) -> dict[tirx.AllocBuffer, str]:
    functions: dict[tirx.AllocBuffer, str] = {}
    for variable, func in mod.functions.items():
        name = str(variable.name_hint)

        def on_allocation(stmt: tirx.AllocBuffer, name: str = name) -> None:
            functions[stmt] = name

        if isinstance(func, tirx.PrimFunc):
            tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    return functions


def _placed(
    buffer: BufferInfo,
    allocation: PoolAllocation,
    function: str,
    identical: list[str],
    overlaps: dict[str, int],
) -> PlacedBuffer:
    return PlacedBuffer(
        name=buffer.name_hint,
        function=function,
        kind=buffer.kind,
        pool_name=allocation.pool_info.pool_name,
        byte_offset=allocation.byte_offset,
        size_bytes=buffer.size_bytes,
        alignment=buffer.alignment,
        live_ranges=list(buffer.live_ranges),
        identical=identical,
        overlaps=overlaps,
    )
