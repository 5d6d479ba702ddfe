"""The session that makes and remembers all plans while the best one is searched.

A plan is remembered by its PrimFuncs, pools and options, so that the plan of the best candidate
need not be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias, TypeVar

from tvm.ir import IRModule
from tvm.target import Target

from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.algorithms.least_need import LeastNeed
from usmp.algorithms.search import unwatched, watched
from usmp.algorithms.solved_problems import shared_solutions
from usmp.analysis import create_array_buffer_info
from usmp.analysis.function_targets import function_targets
from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import shared_facts
from usmp.analysis.symbolic.instances import Instances, InstanceStore, upper_bounds
from usmp.names import WORKSPACE_IO
from usmp.objects import BufferInfoAnalysis
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.buffer_problem import problem_of
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.symbolic_size import has_symbolic_sizes, symbolic_sizes
from usmp.planning.allocate_io import allocate_io
from usmp.planning.assign_pools import AnnotatedFunctions, assign_pools
from usmp.planning.module_buffers import extract_buffers
from usmp.planning.offset_expressions import OffsetExpressions, offset_expressions
from usmp.planning.options import PlanningOptions
from usmp.planning.plan import NoPlan, Plan, make_plan, may_improve, smaller, workspace_buffers
from usmp.planning.session_keys import module_key, need_key, plan_key
from usmp.support.deadline import Deadline, earliest, has_passed
from usmp.tir.once_for_equal import once_for_equal, shared_functions
from usmp_solver import lower_bound

Peaks: TypeAlias = tuple[int, ...]
"""Bytes of each workspace pool, the least preferred first."""

_Found = TypeVar("_Found")


class PlanningSession:
    """The plans of modules, and the analyses that they need; see `planning_session`.

    Parameters
    ----------
    deadline
        time at which searches end with the best plan so far; None if only work budgets end them.

    Attributes
    ----------
    not_compared
        stages of the search (`usmp.names.STAGES`) that the deadline ended before all choices were
        compared.
    is_cut_short
        whether the deadline ended a search for the plan.
    ends_at_plan
        whether builds end with the plan, because no code of them is needed.
    """

    def __init__(self, deadline: Deadline | None = None) -> None:
        self.deadline = deadline
        self.not_compared: dict[str, None] = {}
        self.is_cut_short = False
        self.ends_at_plan = False
        self._annotated = AnnotatedFunctions()
        self._instances = InstanceStore()
        self._known: dict[Hashable, Any] = {}
        self._referenced: list[IRModule] = []
        """Modules whose addresses are in keys, kept alive so that no other object gets these."""

    def has_time(self, stage: str) -> bool:
        """Return whether another choice of a stage may be compared; note the stage if not."""
        if not has_passed(self.deadline):
            return True
        self.not_compared[stage] = None
        # The stage WORKSPACE_IO only compares the plan with an alternative to it.
        self.is_cut_short |= stage != WORKSPACE_IO
        return False

    @contextmanager
    def own_record(self) -> Iterator[None]:
        """Keep a separate record of the stages that the deadline ends within the context."""
        outer = self.not_compared, self.is_cut_short
        self.not_compared, self.is_cut_short = {}, False
        try:
            yield
        finally:
            self.not_compared, self.is_cut_short = outer

    @contextmanager
    def ending_at_plan(self, ends: bool = True) -> Iterator[None]:
        """Let builds within the context end with the plan."""
        outer, self.ends_at_plan = self.ends_at_plan, ends
        try:
            yield
        finally:
            self.ends_at_plan = outer

    def once(self, what: Hashable, mod: IRModule, find: Callable[[], _Found]) -> _Found:
        """Return the answer to a question about a module; compute it by `find` the first time.
        Modules with the same functions, pools and executor share the answer.

        Parameters
        ----------
        what
            key of the question, besides the module.
        """
        key = what, module_key(mod)
        if key not in self._known:
            self._referenced.append(mod)
            self._known[key] = find()
        answer: _Found = self._known[key]
        return answer

    def with_known_functions(self, mod: IRModule) -> IRModule:
        """Return the module with a known PrimFunc in the place of each one with the same text.

        Facts about known PrimFuncs then hold for the module. A PrimFunc that calls others stays,
        because it names functions of its own module.
        """
        return once_for_equal(_unchanged, mod, lambda variable: str(variable.name_hint))

    def allocate_io(self, mod: IRModule) -> IRModule:
        """Return the module after `usmp.transform.CreateAllocatesForIO`.

        Raises
        ------
        ValueError
            see `CreateAllocatesForIO`.
        """
        changed = IRModule(mod.functions, attrs=mod.attrs)
        for name in map(entry_function_name, entries_of(mod)):
            main = self.once(("io", name), mod, partial(allocate_io, mod, name))
            changed.update_func(mod.get_global_var(name), main)
        return changed

    def assign_pools(self, mod: IRModule) -> IRModule:
        """Return the module after `usmp.transform.AssignPoolInfo`.

        Raises
        ------
        ValueError
            see `AssignPoolInfo`.
        """
        return assign_pools(mod, self._annotated)

    def plan(self, prepared: IRModule, options: PlanningOptions) -> Plan | NoPlan:
        """Return the plan of a module whose allocations have candidate pools.

        Raises
        ------
        ValueError
            see `extract_buffer_info`.
        """
        deadline = earliest(self.deadline, options.deadline())

        def find() -> Plan | NoPlan:
            plan = make_plan(prepared, self._analysis(prepared, options), options, deadline)
            if not has_passed(deadline) or not may_improve(plan):
                return plan
            self.is_cut_short = True
            return smaller(plan, self._known_plan(prepared, options.without_time()), options)

        return self.once(("plan", plan_key(options)), prepared, find)

    def known_need(self, mod: IRModule, options: PlanningOptions) -> LeastNeed | None:
        """Return a known bound of `least_need`, which exceeds the pools; None if there is none."""
        if not options.streams_operators:
            return None
        need: LeastNeed | None = self._known.get((need_key(options), module_key(mod)))
        return need

    def unplanned(self, plan: NoPlan) -> ValueError:
        """Return the error of a module without a plan. If the deadline ended the search, the error
        names the stages in which another choice may have a plan."""
        if self.not_compared and isinstance(plan.error, DoesNotFitError):
            return plan.error.after_time_budget(self.not_compared)
        return plan.error

    def prepared(self, mod: IRModule, options: PlanningOptions) -> IRModule:
        """Return `mod` with candidate pools, and with planned inputs and outputs as allocations.
        PrimFuncs without a target are for target c.

        Raises
        ------
        ValueError
            see `CreateAllocatesForIO` and `AssignPoolInfo`.
        """

        def prepare() -> IRModule:
            bound = self._for_some_target(mod)
            return self.assign_pools(self.allocate_io(bound) if with_io else bound)

        with_io = options.use_workspace_io
        return self.once(("prepared", with_io), mod, prepare)

    def peaks(
        self, mod: IRModule, options: PlanningOptions, limit: Peaks | None = None
    ) -> Peaks | None:
        """Return the peaks in the plan of a module, in bytes.

        The plan is the final one of the module, except that `auto` replaces algorithms without a
        limit of work.

        Parameters
        ----------
        mod
            a module without a plan.
        options
            options of the final plan.
        limit
            peaks in bytes; a plan that is proved to be above them is not made.

        Returns
        -------
        Peaks | None
            None if no plan fits, which `least_need` may prove, or if all are above the limit.
            After the deadline, the peaks of the first plan that the algorithm finds.

        Raises
        ------
        ValueError
            the module is refused, see `prepared` and `extract_buffer_info`.
        """
        if self.known_need(mod, options) is not None:
            return None
        quick = options.without_time()
        prepared = self.prepared(mod, options)
        if limit is not None and self.low_above(mod, options, limit) is not None:
            return None
        # Progress is shown only for the final search, which may take long.
        with nullcontext() if quick == options else watched(unwatched):
            plan = self.plan(prepared, quick)
        return plan.peaks() if isinstance(plan, Plan) else None

    def _known_plan(self, prepared: IRModule, options: PlanningOptions) -> Plan | NoPlan | None:
        plan: Plan | NoPlan | None = self._known.get(
            (("plan", plan_key(options)), module_key(prepared))
        )
        return plan

    def low_above(self, mod: IRModule, options: PlanningOptions, limit: Peaks) -> Peaks | None:
        """Return a proved lower bound of the peaks if it is above a limit, or else None."""
        if self.known_need(mod, options) is not None:
            return None
        low = self._proved_peaks(self.prepared(mod, options), options.without_time(), len(limit))
        return low if low > limit else None

    def _proved_peaks(self, prepared: IRModule, options: PlanningOptions, pools: int) -> Peaks:
        """Return a lower bound of the peak; empty unless all buffers share one pool."""
        buffers = workspace_buffers(
            create_array_buffer_info(self._analysis(prepared, options).buffer_info_stmts)
        )
        names = {str(pool.pool_name) for buffer in buffers for pool in buffer.pool_candidates}
        if pools != 1 or len(names) != 1:
            return ()
        key = "bound", options.overlap, options.preserve_inputs
        return (self.once(key, prepared, lambda: lower_bound(problem_of(buffers))),)

    def at_largest_sizes(self, mod: IRModule) -> IRModule:
        """Return `mod` with upper bounds for its symbolic sizes; itself if it has none."""
        if not has_symbolic_sizes(mod):
            return mod

        def find() -> IRModule:
            bounds = upper_bounds(symbolic_sizes(mod[MAIN_FUNCTION_NAME]))
            return Instances(mod, MAIN_FUNCTION_NAME, self._instances).at(bounds).mod

        return self.once("at largest sizes", mod, find)

    def offset_expressions(self, prepared: IRModule, found: Plan) -> OffsetExpressions:
        """Return the plan of a module as expressions of its symbolic sizes.

        Raises
        ------
        ValueError
            see `usmp.planning.offset_expressions`.
        """
        return offset_expressions(prepared, found, self._instances)

    def _analysis(self, prepared: IRModule, options: PlanningOptions) -> BufferInfoAnalysis:
        key = "analysis", options.overlap, options.preserve_inputs
        extract = partial(extract_buffers, prepared, options, self._instances)
        return self.once(key, prepared, extract)

    def bind_targets(self, mod: IRModule, target: Target) -> IRModule:
        """Return `mod` with a target for each PrimFunc that has none."""
        lacking = [n for n, f in prim_funcs(mod).items() if "target" not in (f.attrs or {})]
        return self._bound(mod, lacking, target)

    def _for_some_target(self, mod: IRModule) -> IRModule:
        """Return `mod` with target c for each PrimFunc that states none."""
        lacking = [name for name, target in function_targets(mod).items() if target is None]
        return self._bound(mod, lacking, Target("c"))

    def _bound(self, mod: IRModule, names: Iterable[str], target: Target) -> IRModule:
        """Return `mod` with the target for these PrimFuncs, each bound to it once."""
        bound = IRModule(mod.functions, attrs=mod.attrs)
        for name in names:
            variable, func = mod.get_global_var(name), mod[name]
            alone, bind = IRModule({variable: func}), partial(func.with_attr, "target", target)
            bound.update_func(variable, self.once(("bound", str(target)), alone, bind))
        return bound


_SESSION: ContextVar[PlanningSession | None] = ContextVar("usmp_planning_session", default=None)


@contextmanager
def planning_session(deadline: Deadline | None = None) -> Iterator[PlanningSession]:
    """Yield the open session, or else a new one. Within the context, analyses share the facts of
    PrimFuncs, equal PrimFuncs are lowered once, and each placement problem is solved once.

    Parameters
    ----------
    deadline
        time at which searches within the context end, unless the open session's is earlier.
    """
    session = _SESSION.get()
    if session is not None:
        outer = session.deadline
        session.deadline = earliest(outer, deadline)
        try:
            yield session
        finally:
            session.deadline = outer
        return
    session = PlanningSession(deadline)
    token = _SESSION.set(session)
    try:
        with shared_facts(), shared_functions(), shared_solutions():
            yield session
    finally:
        _SESSION.reset(token)


def _unchanged(mod: IRModule) -> IRModule:
    return mod
