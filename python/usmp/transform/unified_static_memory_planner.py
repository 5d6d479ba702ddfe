"""UnifiedStaticMemoryPlanner: from allocations to offsets into pools, the whole way."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms import SearchedPlan
from usmp.analysis import assign_stmt_pool_allocations, pool_bounds
from usmp.analysis.entry_buffers import entry_lengths
from usmp.analysis.joint_buffers import entry_ranges
from usmp.analysis.stmt_pool_allocations import identical_constants
from usmp.analysis.used_overlaps import used_overlaps
from usmp.objects import BufferInfo, LiveRange, MemoryPlan, PlacedBuffer, PoolAllocation
from usmp.objects.attributes import MEMORY_PLAN_ATTR, STATE_LAYOUT_ATTR
from usmp.objects.entries import ONLY_ENTRY, entries_of
from usmp.passes import ModulePass
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.plan import NoPlan, Plan
from usmp.planning.session import planning_session
from usmp.planning.state_layout import check_state_layout, placed_states
from usmp.planning.state_pool import names_of_state_pools
from usmp.transform.assign_pool_info import AssignPoolInfo
from usmp.transform.convert_pool_allocations_to_offsets import ConvertPoolAllocationsToOffsets
from usmp.transform.create_allocates_for_io import CreateAllocatesForIO


@tvm.transform.module_pass(opt_level=0, name="usmp.UnifiedStaticMemoryPlanner")
class UnifiedStaticMemoryPlanner(ModulePass):
    """Plan the memory of `__tvm_main__`, or of the functions of all entries (see
    `usmp.objects.entries`), and of everything that they call.

    Reads from the PassContext what `usmp.planning.options.PlanningOptions` says. The plan is
    checked before it is used, whatever made it, and left on the module as the attribute
    `memory_plan`. RFC 0009, "Reference-level explanation".

    Raises
    ------
    ValueError
        an algorithm or placement that is not known, a time budget that is no duration or
        that the algorithm does not take, a plan that does not fit the pools' sizes, a plan that the
        checker refuses, an algorithm that changes conflicts or overlaps, placement by cost in pools
        of unknown speed, states that are not those of the attribute `state_layout`, or a module
        that is planned already or has no `__tvm_main__`.
    """

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Place every allocation."""
        check_unplanned(mod)
        check_state_layout(mod, names_of_state_pools(mod))
        options = planning_options(context.config)
        with planning_session() as session:
            if options.use_workspace_io:
                mod = CreateAllocatesForIO()(mod)
            mod = AssignPoolInfo()(mod)
            found = session.plan(mod, options)
        if isinstance(found, NoPlan):
            raise found.error
        allocations = assign_stmt_pool_allocations(
            found.analysis.buffer_info_stmts, found.allocations
        )
        memory_plan = _memory_plan(mod, found, options)
        states = placed_states(mod, found.analysis.buffer_info_stmts, found.allocations)
        mod = ConvertPoolAllocationsToOffsets(allocations)(mod)
        mod = mod.with_attr(MEMORY_PLAN_ATTR, memory_plan)
        return mod.with_attr(STATE_LAYOUT_ATTR, states) if states else mod


def _memory_plan(mod: IRModule, found: Plan, options: PlanningOptions) -> MemoryPlan:
    stmts = found.analysis.buffer_info_stmts
    functions = _functions_of_allocations(mod)
    identical = identical_constants(stmts)
    overlaps = used_overlaps(found.buffers, found.allocations)
    plan = found.found.plan
    searched = plan if isinstance(plan, SearchedPlan) else None
    return MemoryPlan(
        found.algorithm,
        found.analysis.memory_pressure,
        [
            _placed(
                b,
                found.allocations[b],
                functions[stmts[b]],
                [i.name_hint for i in identical.get(b, ())],
                {overwritten.name_hint: distance for overwritten, distance in overlaps[b].items()},
            )
            for b in found.buffers
        ],
        options.placement,
        found.found.estimate(),
        pool_bounds(found.buffers, found.allocations, searched.lower_bounds if searched else None),
        searched.ended_by if searched else None,
        _entry_ranges(mod),
    )


def _entry_ranges(mod: IRModule) -> dict[str, LiveRange]:
    """Where each entry is in the joint program, if there are several."""
    if entries_of(mod) == [ONLY_ENTRY]:
        return {}
    ranges = entry_ranges(entry_lengths(mod))
    return {entry: LiveRange(start, stop) for entry, (start, stop) in ranges.items()}


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
