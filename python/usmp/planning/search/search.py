"""The walk through passes and stages that takes the best choice of each stage."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TypeAlias

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.analysis.memory.calls import prim_funcs
from usmp.names import STRIPS
from usmp.objects.attributes.compared import with_compared
from usmp.objects.attributes.module_attributes import FIXED_CHOICES_ATTR, STRIPS_ATTR
from usmp.passes import apply_passes
from usmp.planning.options import PLANNING_OPTION_NAMES, PlanningOptions
from usmp.planning.search.memories import with_memories, without_memories
from usmp.planning.search.race import Race
from usmp.planning.search.stage import Stage
from usmp.planning.session import Peaks, PlanningSession
from usmp.planning.session_keys import all_attributes_key, context_key
from usmp.planning.streaming.lower_bound import with_needs_of_forms
from usmp.support.tvm_errors import lowering

PassOrStage: TypeAlias = Pass | Stage


@dataclass(frozen=True, eq=False)
class Searched:
    """The result of a search.

    Parameters
    ----------
    mod
        the module with all choices, lowered, with the attribute `usmp.search`.
    races
        the race of each stage that is not disabled.
    """

    mod: IRModule
    races: Sequence[Race]


class Search:
    """A search through stages, and the passes between them.

    The session remembers the results of passes and stages, so that no module is lowered twice:
    neither the best choice, nor a module that another build in the session lowered.

    Parameters
    ----------
    session
        remembers plans and modules.
    options
        options of the plans.
    steps
        passes and stages in their order.
    how
        key of the parameters of the steps. In one session, searches with equal keys have equal
        steps. By default, nothing is shared with other searches.
    """

    def __init__(
        self,
        session: PlanningSession,
        options: PlanningOptions,
        steps: Sequence[PassOrStage],
        how: Hashable = None,
    ) -> None:
        self.session = session
        self.options = options
        self._steps = list(_grouped(steps))
        self._how = object() if how is None else how

    def best(self, mod: IRModule) -> Searched:
        """Return the module with the best choice of each stage.

        The attribute `fixed_choices` of the module has the values of stages that are not searched.

        Raises
        ------
        UnsupportedModelError, ValueError
            as the passes and the planner raise them.
        """
        mod, races = self._all(mod)
        compared = [race.stage.compared(race) for race in races]
        mod = with_compared(mod, [line for line in compared if line is not None])
        return Searched(mod, races)

    def peaks(self, mod: IRModule) -> Peaks | None:
        """Return the peaks in the plan of the best form, in bytes; None without a plan.

        Raises
        ------
        UnsupportedModelError, ValueError
            as the passes and the planner raise them.
        """
        return self.session.peaks(self._all(mod)[0], self.options)

    def before(self, mod: IRModule, stage: Stage) -> IRModule:
        """Return the module that a stage gets from the steps before it.

        Raises
        ------
        UnsupportedModelError, ValueError
            as the passes and the planner raise them.
        """
        return self._walk(mod, 0, self._steps.index(stage), None)[0]

    def _all(self, mod: IRModule) -> tuple[IRModule, list[Race]]:
        """Take all steps, and return the module and the races."""
        mod, races = self._walk(mod, 0, len(self._steps), None)
        for race in races:
            if race.leaves and race.stage.rewrites_model and race.best.peaks is None:
                forms = [leaf.lowered for leaf in race.leaves if leaf.lowered is not None]
                mod = with_needs_of_forms(self.session, mod, forms, self.options)
        return mod, races

    def _walk(
        self, mod: IRModule, start: int, stop: int, decides: frozenset[str] | None
    ) -> tuple[IRModule, list[Race]]:
        """Take the steps from `start` to before `stop`, and return the module and the races.

        Parameters
        ----------
        decides
            the stages that compare their choices; None for all.
        """
        races: list[Race] = []
        for position in range(start, stop):
            step = self._steps[position]
            if not isinstance(step, Stage):
                mod = self._passed(step, mod, is_compared=decides is not None)
            elif step.pass_name not in PassContext.current().disabled_pass:
                is_decided = decides is None or step.name in decides
                race = self._race(position, step, mod, is_decided)
                races.append(race)
                mod = self._without_fixed(step, position, race.result())
        return mod, races

    def _without_fixed(self, stage: Stage, position: int, mod: IRModule) -> IRModule:
        """Return a module without the fixed choice of a stage, if no later stage has its name. The
        module is then equal to one of a search that found the same choice, so that all later steps
        are remembered. A stage that writes fixed choices keeps them, because
        the searches of single entries read them."""
        fixed = FIXED_CHOICES_ATTR.of(mod) or {}
        later = (step.name for step in self._steps[position + 1 :] if isinstance(step, Stage))
        if stage.name not in fixed or FIXED_CHOICES_ATTR in stage.writes or stage.name in later:
            return mod
        rest = {name: value for name, value in fixed.items() if name != stage.name}
        return FIXED_CHOICES_ATTR.put(mod, rest) if rest else FIXED_CHOICES_ATTR.removed(mod)

    def _passed(self, step: _Passes, mod: IRModule, is_compared: bool) -> IRModule:
        """Return the result of passes on a module."""
        has_relax = len(prim_funcs(mod)) < len(mod.functions)
        if not has_relax or step.searches(mod):
            return self._passed_once(step, mod, is_compared, context_key(PassContext.current()))
        # Passes on Relax read no option of the planner but the hops of windows.
        options = context_key(PassContext.current(), without=PLANNING_OPTION_NAMES)
        read = options, tuple(self.options.hops.items())
        passed = self._passed_once(step, without_memories(mod), is_compared, read)
        return with_memories(passed, mod)

    def _passed_once(
        self, step: _Passes, mod: IRModule, is_compared: bool, options: Hashable
    ) -> IRModule:
        def run() -> IRModule:
            with lowering():
                passed = apply_passes(Sequential(step.passes, name="usmp.Passes"), mod)
            # Share objects, because forms that are compared have operators in common.
            is_shared = is_compared and step.makes_operators
            return self.session.with_known_functions(passed) if is_shared else passed

        key = "passed", self._how, step.key, options, all_attributes_key(mod)
        return self.session.once(key, mod, run)

    def _race(self, position: int, stage: Stage, mod: IRModule, is_decided: bool) -> Race:
        """Return the race of a stage for a module, run once in the session."""
        fixed = (FIXED_CHOICES_ATTR.of(mod) or {}).get(stage.name)
        end = self._end_of(position, stage)

        def run() -> Race:
            lower = partial(self._lowered, position + 1, end, stage.decides)
            race = Race(stage, mod, self.session, self.options, lower)

            def decide() -> IRModule:
                if fixed is not None:
                    race.fix(str(fixed))
                elif is_decided:
                    race.run()
                else:
                    race.take_first()
                return race.result()

            _run_as_pass(stage.pass_name, mod, decide)
            return race

        steps = self._steps[position:end]
        options, unread = self.options, set()
        if not STRIPS_ATTR.is_on(mod) and not any(_is_named(step, STRIPS) for step in steps):
            # Share the races of a model without strips, whatever strips there may be.
            options, unread = replace(options, max_extra_macs=0.0), {"tir.usmp.max_extra_macs"}
        keys = tuple(step.key for step in steps)
        context = context_key(PassContext.current(), unread), options, keys
        key = "raced", self._how, context, is_decided, all_attributes_key(mod)
        return self.session.once(key, mod, run)

    def _end_of(self, position: int, stage: Stage) -> int:
        """Return the position after the last step that leads from a stage's choices to plans."""
        later = list(enumerate(self._steps))[position + 1 :]
        decided = (i for i, step in later if isinstance(step, Stage) and step.name in stage.decides)
        last = max(decided, default=position)
        if stage.rewrites_model:
            # Go on to PrimFuncs, because Relax has no plan.
            lowered = (i for i, step in later if isinstance(step, _Passes) and step.makes_operators)
            last = max(last, next(lowered, last))
        return last + 1

    def _lowered(self, start: int, stop: int, decides: frozenset[str], mod: IRModule) -> IRModule:
        return self._walk(mod, start, stop, decides)[0]


@dataclass(frozen=True, eq=False)
class _Passes:
    """Passes between two stages.

    Parameters
    ----------
    passes
        the passes, as objects of Python.
    makes_operators
        whether there is no next stage, or it rewrites PrimFuncs and not the model in Relax.
    """

    passes: Sequence[Pass]
    makes_operators: bool

    @property
    def key(self) -> Hashable:
        """The names of the passes, which identify them in all searches with the same `how`."""
        return tuple(str(p.info.name) for p in self.passes)

    def searches(self, mod: IRModule) -> bool:
        """Return whether one of the passes searches by itself, and so reads all options."""
        functions = (getattr(one, "searches", None) for one in self.passes)
        return any(searches(mod) for searches in functions if searches is not None)


def _is_named(step: _Passes | Stage, name: str) -> bool:
    return isinstance(step, Stage) and step.name == name


def _grouped(steps: Sequence[PassOrStage]) -> Iterator[_Passes | Stage]:
    """Yield the stages, with the passes between two of them as one group."""
    groups = [(kind, list(group)) for kind, group in groupby(steps, lambda s: isinstance(s, Stage))]
    for index, (is_stage, group) in enumerate(groups):
        if is_stage:
            yield from group
            continue
        following = groups[index + 1][1][0] if groups[index + 1 :] else None
        makes_operators = following is None or not following.rewrites_model
        yield _Passes([one for one in group if isinstance(one, Pass)], makes_operators)


def _run_as_pass(name: str, mod: IRModule, make: Callable[[], IRModule]) -> None:
    """Run `make` as a pass of this name for PassInstruments; raise its errors unchanged."""
    raised: list[BaseException] = []

    def transform(_: IRModule, __: PassContext) -> IRModule:
        try:
            return make()
        except BaseException as error:
            raised.append(error)
            raise

    try:
        tvm.transform.module_pass(transform, opt_level=0, name=name)(mod)
    except BaseException:
        if raised:
            raise raised[0] from raised[0].__cause__
        raise
