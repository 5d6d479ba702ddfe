"""Tiles: the schedules of operators, from the smallest memory to the fewest instructions.

An operator that computes several pixels at once writes outputs of the first pixel before it has
read the inputs of the last pixel. So its output may overlap a few bytes less of its input. Mostly
other operators need more memory anyway; where the peak would rise, the user chooses by
`tir.usmp.optimize`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tvm import tirx
from tvm.ir import Call, IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import module_facts
from usmp.names import BALANCED, OPTIMIZE, PREFERENCE, RAM, TILES
from usmp.objects.attributes.compared import Alternative, Compared
from usmp.objects.attributes.operator_attributes import SEGMENT_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.schedule import (
    FASTER_SCHEDULES_ATTR,
    ROW_SCHEDULE_ATTR,
    SCHEDULE_ATTR,
    Schedule,
    faster_schedules,
)
from usmp.planning.options import PlanningOptions
from usmp.planning.search.choice import Allowance, Choice
from usmp.planning.search.race import Race
from usmp.planning.search.stage import Stage
from usmp.planning.session import planning_session
from usmp.tir.nodes import nodes_of

_MOST_TRIALS = 24
"""Most choices of schedules that are planned for one goal."""


class TileStage(Stage):
    """The choice of the fastest schedules within the memory that `tir.usmp.optimize` allows.

    The value has, by name of a PrimFunc, the index of its schedule; higher ones are faster.
    """

    name = TILES
    pass_name = "usmp.ChooseSchedules"
    reads = (SCHEDULE_ATTR, FASTER_SCHEDULES_ATTR)
    allowance = Allowance.WITHIN

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the schedules with the least memory, then faster ones on top of those taken so far.

        All operators are tried at once first, then one half and the other, so that few plans find
        the one operator that needs more memory.
        """
        yield _choice({})
        schedules = schedules_of(mod)
        if not schedules or not race.has_time() or race.best.peaks is None:
            return
        pending = [_most_saved_first(schedules)]
        trials = 0
        while pending:
            names = pending.pop()
            fastest = {name: len(schedules[name]) - 1 for name in names}
            slower: list[dict[str, int]] = []
            if len(names) == 1:
                slower = [{names[0]: number} for number in reversed(range(1, fastest[names[0]]))]
            for raised in (fastest, *slower):
                if trials == _MOST_TRIALS:
                    return
                trials += 1
                choice = _choice({**_chosen(race.best.choice), **raised})
                yield choice
                if race.taken == choice:
                    break
            else:
                middle = len(names) // 2
                pending += [half for half in (names[middle:], names[:middle]) if len(names) > 1]

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with these schedules."""
        if not choice.value:
            return mod
        changed, schedules = IRModule(mod.functions, attrs=mod.attrs), schedules_of(mod)
        with planning_session() as session:
            for name, number in _chosen(choice).items():
                variable = mod.get_global_var(name)
                alone = IRModule({variable: mod[name]})
                make = partial(_in_the_place_of, mod[name], schedules[name][number])
                changed.update_func(variable, session.once(("schedule", number), alone, make))
        return changed

    def details(self, race: Race) -> dict[str, Any]:
        """Return the bytes and instructions of each goal."""
        if not race.leaves or race.best.peaks is None:
            return {}
        takes = {}
        for goal in _goals(race.mod, race.options):
            goal_race = race
            if goal != race.options.optimize:
                options = replace(race.options, optimize=goal)
                goal_race = Race(self, race.mod, race.session, options).run()
                # Omit a goal whose search ran out of time.
                if not race.has_time():
                    continue
            takes[goal] = _takes(goal_race)
        return {"optimize": race.options.optimize, **takes}

    def compared(self, race: Race) -> Compared | None:
        """Return the bytes of the goals, because users choose among goals, not schedules."""
        details = self.details(race)
        if not details:
            return None
        own_goal = details["optimize"]
        own = details[own_goal]
        goals: dict[tuple[int, int], list[str]] = {}
        for goal in OPTIMIZE:
            if goal in details and details[goal] != own:
                cost = details[goal]["peak_bytes"], details[goal]["instructions"]
                goals.setdefault(cost, []).append(goal)
        others = [
            Alternative(_words(names, instructions), _why(peak_bytes, own), peak_bytes)
            for (peak_bytes, instructions), names in goals.items()
        ]
        label = _words([own_goal], own["instructions"])
        return Compared(TILES, label, own["peak_bytes"], tuple(others), details=details)


def _words(goals: Sequence[str], instructions: int) -> str:
    return f"optimize={' or '.join(goals)}, about {instructions} instructions"


def _why(peak_bytes: int, own: Mapping[str, int]) -> str:
    return "larger" if peak_bytes > own["peak_bytes"] else "slower"


def _choice(numbers: Mapping[str, int]) -> Choice:
    value = tuple(sorted(numbers.items()))
    label = f"{len(value)} faster schedules" if value else "smallest schedules"
    return Choice(value, label, (-sum(numbers.values()),))


def _chosen(choice: Choice) -> dict[str, int]:
    assert isinstance(choice.value, tuple)
    return dict(choice.value)


def _takes(race: Race) -> dict[str, int]:
    peaks = race.best.peaks
    assert peaks is not None
    return {"peak_bytes": sum(peaks), "instructions": instructions_of(race.result())}


def _goals(mod: IRModule, options: PlanningOptions) -> Sequence[str]:
    """Return the goals that are compared."""
    is_quick = options.custom_algorithm is None and options.placement == PREFERENCE
    if not is_quick:
        return [options.optimize]
    # Leave out speed, because with that goal no operators would run interleaved.
    is_streamed = any(SEGMENT_ATTR.is_on(func) for func in prim_funcs(mod).values())
    return (
        [goal for goal in OPTIMIZE if goal in (options.optimize, RAM, BALANCED)]
        if is_streamed
        else list(OPTIMIZE)
    )


def schedules_of(mod: IRModule) -> dict[str, list[tirx.PrimFunc]]:
    """Return all schedules of the PrimFuncs that have several, by name, the slowest first."""
    return {
        name: [func, *reversed(faster_schedules(func))]
        for name, func in prim_funcs(mod).items()
        if faster_schedules(func)
    }


def instructions_of(mod: IRModule) -> int:
    """Return about how many instructions one run of each entry takes, in operators with a known
    schedule."""
    functions, facts = prim_funcs(mod), module_facts(mod)
    total = 0
    for entry in map(entry_function_name, entries_of(mod)):
        calls = facts.of(entry).calls
        for call in nodes_of(functions[entry].body, Call):
            called = calls.resolve(call)
            if called is not None:
                total += _instructions(functions[called.callee])
    return total


def _most_saved_first(schedules: Mapping[str, Sequence[tirx.PrimFunc]]) -> list[str]:
    def saved(name: str) -> int:
        first, *_, last = (_instructions(func) for func in schedules[name])
        return last - first

    return sorted(schedules, key=saved)


def _instructions(func: tirx.PrimFunc) -> int:
    schedule = SCHEDULE_ATTR.of(func) or Schedule("")
    return schedule.instructions or 0


def _in_the_place_of(func: tirx.PrimFunc, schedule: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return a faster schedule with the attributes of a function, its target among them."""
    result = tirx.PrimFunc(schedule.params, schedule.body, func.ret_type)
    result = ROW_SCHEDULE_ATTR.removed(FASTER_SCHEDULES_ATTR.removed(result.with_attrs(func.attrs)))
    return SCHEDULE_ATTR.moved(result, schedule)
