"""Schedules of operators that take fewer instructions, as far as memory allows.

An operator that computes several pixels at once reads the inputs of the last one when outputs of
the first are written already, so its output may lie over a few bytes less of its input. Most of
the time other operators need more memory anyway; where the peak would rise, the user chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tvm import tirx
from tvm.ir import Call, IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import module_facts
from usmp.names import BALANCED, BALANCED_PERCENT, RAM, SPEED, TILES
from usmp.objects.attributes import FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR, SCHEDULE_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.schedule import Schedule, faster_schedules, schedule_of
from usmp.planning.options import PlanningOptions
from usmp.planning.session import Peaks, PlanningSession
from usmp.tir.nodes import nodes_of

_HELD = (FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR)

_MOST_TRIALS = 24
"""Choices of schedules that are planned for one goal."""


@dataclass(frozen=True)
class ScheduledModule:
    """A module with a schedule for each operator.

    Parameters
    ----------
    mod
        the module.
    peaks
        in its plan.
    chosen
        by name of a PrimFunc, where there was a choice: how many schedules it has that are slower.
    """

    mod: IRModule
    peaks: Peaks
    chosen: Mapping[str, int]


def scheduled(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> ScheduledModule | None:
    """The schedules that `options.optimize` asks for: the fastest of those within its memory.

    Parameters
    ----------
    mod
        not planned yet; its PrimFuncs have the schedules that take the least memory, and faster
        ones (see `usmp.objects.schedule`).

    Returns
    -------
    ScheduledModule | None
        None if there is no choice, no plan fits the pools, or no time remains.

    Raises
    ------
    ValueError
        the module is refused, see `PlanningSession.peaks`.
    """
    schedules = schedules_of(mod)
    if not schedules or not session.has_time(TILES):
        return None
    least = session.peaks(mod, options)
    if least is None:
        return None
    limit = memory_limit(options.optimize, least)
    search = _Search(session, mod, options, schedules, limit, ScheduledModule(mod, least, {}))
    search.raise_all(_most_saved_first(schedules))
    return search.best


def schedules_of(mod: IRModule) -> dict[str, list[tirx.PrimFunc]]:
    """By name, the PrimFuncs that there is a choice for: their schedules, the slowest first."""
    return {
        name: [func, *reversed(faster_schedules(func))]
        for name, func in prim_funcs(mod).items()
        if faster_schedules(func)
    }


def instructions_of(mod: IRModule) -> int:
    """About how many instructions the operators take whose schedules say it, in one run of each
    entry."""
    functions, facts = prim_funcs(mod), module_facts(mod)
    total = 0
    for entry in map(entry_function_name, entries_of(mod)):
        calls = facts.of(entry).calls
        for call in nodes_of(functions[entry].body, Call):
            called = calls.resolve(call)
            if called is not None:
                total += _instructions(functions[called.callee])
    return total


def memory_limit(optimize: str, least: Peaks) -> Peaks | None:
    """The bytes that each pool may have by a value of `tir.usmp.optimize`; None if all that it has.

    Parameters
    ----------
    least
        what the pools have where memory is saved most.
    """
    if optimize == SPEED:
        return None
    percent = {RAM: 100, BALANCED: BALANCED_PERCENT}[optimize]
    return tuple(peak * percent // 100 for peak in least)


def _most_saved_first(schedules: Mapping[str, Sequence[tirx.PrimFunc]]) -> list[str]:
    def saved(name: str) -> int:
        first, *_, last = (_instructions(func) for func in schedules[name])
        return last - first

    return sorted(schedules, key=saved)


def _instructions(func: tirx.PrimFunc) -> int:
    schedule = schedule_of(func) or Schedule("")
    return schedule.instructions or 0


@dataclass
class _Search:
    """The best choice so far."""

    session: PlanningSession
    mod: IRModule
    options: PlanningOptions
    schedules: Mapping[str, Sequence[tirx.PrimFunc]]
    limit: Peaks | None
    best: ScheduledModule
    trials: int = field(default=0)

    def raise_all(self, names: Sequence[str]) -> None:
        """Give each of these the fastest schedule that fits beside those of the others.

        All at once are tried first, then one half and the other: where one operator of many needs
        more memory, few plans find it.
        """
        if not names or self.trials == _MOST_TRIALS or not self.session.has_time(TILES):
            return
        if self._takes({name: len(self.schedules[name]) - 1 for name in names}):
            return
        if len(names) > 1:
            middle = len(names) // 2
            self.raise_all(names[:middle])
            self.raise_all(names[middle:])
            return
        (name,) = names
        for number in reversed(range(1, len(self.schedules[name]) - 1)):
            if self.trials == _MOST_TRIALS or not self.session.has_time(TILES):
                return
            if self._takes({name: number}):
                return

    def _takes(self, raised: Mapping[str, int]) -> bool:
        """Whether memory allows these schedules, which are taken then."""
        self.trials += 1
        chosen = {**self.best.chosen, **raised}
        mod = self._with(chosen)
        peaks = self.session.peaks(mod, self.options, self.limit)
        if peaks is None or not is_within(peaks, self.limit):
            return False
        self.best = ScheduledModule(mod, peaks, chosen)
        return True

    def _with(self, chosen: Mapping[str, int]) -> IRModule:
        mod = IRModule(self.mod.functions, attrs=self.mod.attrs)
        for name, number in chosen.items():
            variable, schedule = mod.get_global_var(name), self.schedules[name][number]
            alone = IRModule({variable: mod[name]})
            make = partial(_in_the_place_of, mod[name], schedule)
            mod.update_func(variable, self.session.once(("schedule", number), alone, make))
        return mod


def is_within(peaks: Peaks, limit: Peaks | None) -> bool:
    """Whether no pool has more than its limit; other pools than those of the limit are too many."""
    if limit is None:
        return True
    return len(peaks) == len(limit) and all(p <= q for p, q in zip(peaks, limit, strict=True))


def _in_the_place_of(func: tirx.PrimFunc, schedule: tirx.PrimFunc) -> tirx.PrimFunc:
    """A faster schedule with what is known of a function, its target among it."""
    known = {k: v for k, v in dict(func.attrs).items() if k not in _HELD}
    made = tirx.PrimFunc(schedule.params, schedule.body, func.ret_type)
    return made.with_attrs({**known, SCHEDULE_ATTR: schedule.attrs[SCHEDULE_ATTR]})
