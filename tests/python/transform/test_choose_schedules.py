"""ChooseSchedules: for which goals schedules are chosen, and what the module says of them."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.objects.attributes import SEGMENT_ATTR
from usmp.planning.schedules import ScheduledModule
from usmp.transform import ChooseSchedules, choose_schedules

PEAKS = {"ram": (100,), "balanced": (104, 1), "speed": (150, 20)}


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(x: T.handle("int8")):
        T.evaluate(0)

    @T.prim_func
    def __tvm_main__(x: T.handle("int8")):
        Module.f(x)


class Session:
    """A session that runs out of time after some goals."""

    def __init__(self, goals: int) -> None:
        self.goals = goals

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_) -> None:
        pass

    def has_time(self, _: str) -> bool:
        self.goals -= 1
        return self.goals >= 0


def chosen(monkeypatch, mod=Module, goals: int = 9, has_choice: bool = True, **options):
    """What the module says of each goal."""

    def scheduled(session, mod, options):
        if not has_choice:
            return None
        return ScheduledModule(mod.with_attr("goal", options.optimize), PEAKS[options.optimize], {})

    monkeypatch.setattr(choose_schedules, "scheduled", scheduled)
    monkeypatch.setattr(choose_schedules, "planning_session", lambda _: Session(goals))
    monkeypatch.setattr(choose_schedules, "instructions_of", lambda mod: len(mod.attrs["goal"]))
    config = {f"tir.usmp.{name}": value for name, value in options.items()}
    with PassContext(config=config):
        return ChooseSchedules()(mod)


def said(mod: IRModule) -> dict[str, object]:
    found = dict(mod.attrs["schedule_choices"])
    return {
        goal: each if isinstance(each, str) else (each["peak_bytes"], each["instructions"])
        for goal, each in found.items()
    }


RAM, BALANCED, SPEED = (100, 3), (105, 8), (170, 5)


@pytest.mark.parametrize("optimize", ["ram", "balanced", "speed"])
def test_the_module_says_what_each_goal_takes(monkeypatch, optimize):
    mod = chosen(monkeypatch, optimize=optimize)
    assert mod.attrs["goal"] == optimize
    assert said(mod) == {"optimize": optimize, "ram": RAM, "balanced": BALANCED, "speed": SPEED}


@pytest.mark.parametrize(
    ("goals", "optimize", "expected"),
    [
        (1, "ram", {"ram": RAM, "balanced": BALANCED}),
        (0, "ram", {"ram": RAM}),
        (0, "speed", {"speed": SPEED}),
    ],
)
def test_a_goal_whose_search_ran_out_of_time_is_left_out(monkeypatch, goals, optimize, expected):
    found = said(chosen(monkeypatch, goals=goals, optimize=optimize))
    assert found == {"optimize": optimize, **expected}


def test_placement_by_cost_plans_for_one_goal(monkeypatch):
    mod = chosen(monkeypatch, optimize="balanced", placement="cost")
    assert said(mod) == {"optimize": "balanced", "balanced": BALANCED}


def test_nothing_is_streamed_for_speed_alone(monkeypatch):
    mod = IRModule(Module.functions)
    mod.update_func(mod.get_global_var("f"), Module["f"].with_attr(SEGMENT_ATTR, 1))
    found = said(chosen(monkeypatch, mod, optimize="ram"))
    assert found == {"optimize": "ram", "ram": RAM, "balanced": BALANCED}
    found = said(chosen(monkeypatch, mod, optimize="speed"))
    assert found == {"optimize": "speed", "ram": RAM, "balanced": BALANCED, "speed": SPEED}


def test_without_a_choice_the_module_stays(monkeypatch):
    assert chosen(monkeypatch, has_choice=False).same_as(Module)
