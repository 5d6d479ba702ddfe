"""UnifiedStaticMemoryPlanner: turn allocations into offsets in pools, in all steps."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms import SearchedPlan
from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.algorithms.search import TIME, WATCHER
from usmp.analysis import assign_stmt_pool_allocations, pool_bounds
from usmp.analysis.entry_buffers import entry_lengths
from usmp.analysis.joint_buffers import entry_ranges
from usmp.names import stages_in_order
from usmp.objects import LiveRange, MemoryPlan
from usmp.objects.attributes.module_attributes import (
    MEMORY_PLAN_ATTR,
    NOT_COMPARED_ATTR,
    OTHER_FORMS_ATTR,
    STATE_LAYOUT_ATTR,
)
from usmp.objects.entries import entries_of
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.passes import ModulePass
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.attribute_access import PLANNING
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.io_pools import check_io_is_planned
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.placed_buffers import placed_buffers
from usmp.planning.plan import NoPlan, Plan
from usmp.planning.planned_operators import planned_operators
from usmp.planning.session import planning_session
from usmp.planning.state_layout import check_state_layout, placed_states
from usmp.planning.state_pool import names_of_state_pools
from usmp.planning.streaming.lower_bound import least_need
from usmp.transform.assign_pool_info import AssignPoolInfo
from usmp.transform.convert_pool_allocations_to_offsets import ConvertPoolAllocationsToOffsets
from usmp.transform.create_allocates_for_io import CreateAllocatesForIO


@tvm.transform.module_pass(opt_level=0, name="usmp.UnifiedStaticMemoryPlanner")
class UnifiedStaticMemoryPlanner(ModulePass):
    """Plan the memory of `__tvm_main__`, or of the functions of all entries (see
    `usmp.objects.entries`), and of all their callees.

    The PassContext has the options, see `usmp.planning.options.PlanningOptions`. Every plan is
    checked before it is used, and becomes the attribute `memory_plan` of the module. TVM's RFC
    0009, "Reference-level explanation".

    Raises
    ------
    DoesNotFitError
        no plan fits the pools' sizes, or none was found.
    ValueError
        an unknown algorithm or placement, a time budget that is no duration or that the algorithm
        does not take, a plan that the checker refuses, an algorithm that changes conflicts or
        overlaps, placement by cost in pools of unknown speed, states other than those of the
        attribute `state_layout`, pools for inputs and outputs that are not planned, or a module
        that has a plan already or no `__tvm_main__`.
    """

    reads = (OTHER_FORMS_ATTR,)
    writes = (NOT_COMPARED_ATTR, STATE_LAYOUT_ATTR, MEMORY_PLAN_ATTR)
    uses = (PLANNING,)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Place every allocation."""
        check_unplanned(mod)
        check_state_layout(mod, names_of_state_pools(mod))
        options = planning_options(context)
        with planning_session(options.deadline()) as session:
            need = least_need(session, mod, options)
            if need is not None:
                raise DoesNotFitError(need, not_compared=session.not_compared)
            mod = OTHER_FORMS_ATTR.removed(mod)
            if options.use_workspace_io:
                mod = CreateAllocatesForIO()(mod)
            check_io_is_planned(mod)
            mod = AssignPoolInfo()(mod)
            computes = (
                options.computes_offsets and options.shares_memory and has_symbolic_sizes(mod)
            )
            if computes and options.use_workspace_io:
                raise ValueError(
                    "inputs and outputs in the workspace have one place for all sizes, but "
                    "tir.usmp.dynamic=expression moves buffers with the sizes; leave out one of "
                    "tir.usmp.use_workspace_io and tir.usmp.dynamic"
                )
            plan = session.plan(mod, options)
            if isinstance(plan, NoPlan):
                raise session.unplanned(plan)
            expressions = None
            if computes:
                expressions = session.offset_expressions(mod, plan)
                plan = expressions.plan
        allocations = assign_stmt_pool_allocations(
            plan.analysis.buffer_info_stmts, plan.allocations
        )
        memory_plan = _memory_plan(mod, plan, options, session.is_cut_short)
        states = placed_states(mod, plan.analysis.buffer_info_stmts, plan.allocations)
        mod = ConvertPoolAllocationsToOffsets(allocations, offset_expressions=expressions)(mod)
        mod = MEMORY_PLAN_ATTR.put(mod, memory_plan)
        if session.not_compared:
            mod = NOT_COMPARED_ATTR.put(mod, stages_in_order(session.not_compared))
        return STATE_LAYOUT_ATTR.put(mod, states) if states else mod


def _memory_plan(
    mod: IRModule, plan: Plan, options: PlanningOptions, is_cut_short: bool
) -> MemoryPlan:
    placed = plan.found.plan
    searched = placed if isinstance(placed, SearchedPlan) else None
    ended_by = searched.ended_by if searched else None
    if is_cut_short and ended_by != WATCHER:
        # Even a proved plan is the best one only of the module with which the search ended.
        ended_by = TIME
    return MemoryPlan(
        plan.algorithm,
        plan.analysis.memory_pressure,
        placed_buffers(mod, plan),
        options.placement,
        plan.found.estimate(),
        pool_bounds(plan.buffers, plan.allocations, searched.lower_bounds if searched else None),
        ended_by,
        _entry_ranges(mod),
        planned_operators(mod, plan),
    )


def _entry_ranges(mod: IRModule) -> dict[str, LiveRange]:
    """Return the range of each entry in the joint program, if there are several."""
    if entries_of(mod) == [ONLY_ENTRY]:
        return {}
    ranges = entry_ranges(entry_lengths(mod))
    return {entry: LiveRange(start, stop) for entry, (start, stop) in ranges.items()}
