"""A race plans the choices of a stage, and no more of them than it has to."""

from __future__ import annotations

from random import Random

import pytest
from tvm.ir import IRModule

from support import levels
from support.deadlines import NEVER, OVER, after_looks
from usmp.planning.options import PlanningOptions
from usmp.planning.search import Allowance, Choice, Race, Stage
from usmp.planning.session import PlanningSession


class Given(Stage):
    """A stage with given choices."""

    name = "order"
    pass_name = "usmp.Given"

    def __init__(self, choices, allowance=Allowance.LEAST, rewrites_model=False, refused=()):
        self.given, self.allowance, self.refused = choices, allowance, refused
        self.rewrites_model = rewrites_model

    def choices(self, mod, race):
        yield from self.given

    def apply(self, mod, choice):
        if choice.value in self.refused:
            raise ValueError(f"no {choice.value}")
        return mod.with_attr("value", choice.value)


class Session(PlanningSession):
    """A session that knows the plans of all values."""

    def __init__(self, plans, deadline=None):
        super().__init__(deadline)
        self.plans, self.planned = plans, []

    def peaks(self, mod, options, limit=None):
        value = str(mod.attrs["value"])
        self.planned.append(value)
        plan = self.plans[value]
        return None if plan is None or (limit is not None and plan > limit) else plan

    def low_above(self, mod, options, limit):
        plan = self.plans[str(mod.attrs["value"])]
        return plan if plan is not None and plan > limit else None


def race(stage, plans, deadline=None, **options):
    session = Session(plans, deadline)
    return Race(stage, IRModule({}), session, PlanningOptions(**options)).run(), session.planned


def choices(*values, bounds=()):
    numbers = [*bounds, *(0 for _ in values)]
    pairs = enumerate(zip(values, numbers, strict=False))
    return [Choice(value, value, (index,), bound) for index, (value, bound) in pairs]


def test_the_only_choice_is_not_planned():
    found, planned = race(Given(choices("a")), {})
    assert (found.result().attrs["value"], planned, found.leaves) == ("a", [], [])


def test_a_stage_without_choices_leaves_the_module():
    found, _ = race(Given([]), {})
    assert (len(found.result().functions), found.taken) == (0, None)


def test_the_smallest_plan_is_taken():
    found, planned = race(Given(choices("a", "b", "c")), {"a": (3,), "b": (2,), "c": (2,)})
    assert (found.taken.value, planned) == ("b", ["a", "b", "c"])


def test_what_a_bound_rules_out_is_not_planned():
    given = choices("a", "b", "c", "d", bounds=(0, 10, 10, 11))
    found, planned = race(Given(given), {"a": (20,), "b": (10,), "c": (10,), "d": (11,)})
    assert (found.taken.value, planned) == ("b", ["a", "b"])
    assert [one.peaks for one in found.leaves] == [(20,), (10,), None, None]


@pytest.mark.parametrize("pools", [1, 2])
def test_bounds_do_not_change_what_is_taken(pools):
    for seed in levels.seeds(100, 1000):
        random = Random(seed)
        names = "abcde"
        plans = {
            name: random.choice([None, tuple(random.randint(4, 8) for _ in range(pools))])
            for name in names
        }
        bounds = [random.randint(1, 8 if p is None else sum(p)) for p in plans.values()]
        given = choices(*names, bounds=bounds)
        random.shuffle(given)
        found, _ = race(Given(given), plans)
        known = [name for name in names if plans[name] is not None]
        if known:
            assert found.taken.value == min(known, key=lambda name: (plans[name], name)), seed


@pytest.mark.parametrize(("goal", "taken"), [("ram", "a"), ("balanced", "b"), ("speed", "c")])
def test_memory_allows_what_is_preferred(goal, taken):
    given = [Choice(value, value, (-index,)) for index, value in enumerate("abc")]
    plans = {"a": (100,), "b": (105,), "c": (200,)}
    found, planned = race(Given(given, Allowance.WITHIN), plans, optimize=goal)
    assert (found.taken.value, planned) == (taken, ["a", "b", "c"])


def test_without_time_the_first_choice_is_taken():
    found, planned = race(Given(choices("a", "b")), {"a": (3,), "b": (2,)}, OVER)
    assert (found.taken.value, planned) == ("a", [])
    assert list(found.session.not_compared) == ["order"]
    found, planned = race(Given(choices("a", "b")), {"a": (3,), "b": (2,)}, NEVER)
    assert (found.taken.value, planned) == ("b", ["a", "b"])


@pytest.mark.parametrize(("looks", "planned"), [(0, []), (1, ["a"]), (2, ["a", "b"])])
def test_each_plan_asks_whether_there_is_time(looks, planned):
    plans = {"a": (3,), "b": (2,), "c": (1,)}
    assert race(Given(choices("a", "b", "c")), plans, after_looks(looks))[1] == planned


def test_a_form_of_the_model_that_is_refused_is_left_out():
    plans = {"a": (3,), "b": (2,)}
    found, planned = race(Given(choices("a", "b"), rewrites_model=True, refused="a"), plans)
    assert (found.taken.value, planned) == ("b", ["b"])
    assert str(found.leaves[0].error) == "no a"
    with pytest.raises(ValueError, match="no a"):
        race(Given(choices("a", "b"), rewrites_model=True, refused="ab"), plans)
    with pytest.raises(ValueError, match="no b"):
        race(Given(choices("a", "b"), refused="b"), plans)


def test_all_forms_of_the_model_are_planned():
    plans = {"a": (1,), "b": (9,)}
    found, _ = race(Given(choices("a", "b"), rewrites_model=True), plans)
    assert [one.peaks for one in found.leaves] == [(1,), (9,)]
    found, _ = race(Given(choices("a", "b")), plans)
    assert [one.peaks for one in found.leaves] == [(1,), None]


def test_where_nothing_fits_the_smallest_bound_is_taken():
    given = choices("a", "b", "c", bounds=(0, 7, 6))
    found, _ = race(Given(given), {"a": None, "b": None, "c": None})
    assert found.taken.value == "c"


def test_a_stage_may_ask_for_the_best_so_far():
    class Feedback(Given):
        def choices(self, mod, race):
            yield from choices("a")
            if race.best.peaks == (3,):
                yield Choice("b", "b")

    assert race(Feedback([]), {"a": (3,), "b": (2,)})[1] == ["a", "b"]
    assert race(Feedback([]), {"a": (4,), "b": (2,)})[1] == ["a"]
