"""What entries choose together: groups that are split, and states that are extended."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import IRModule

from support.deadlines import OVER
from support.filecheck_files import module_of
from support.state_programs import program
from usmp.aot.stages import EntryGroupStage, EntryStateStage
from usmp.aot.transform import LowerEntries, LowerMain
from usmp.objects.attributes.compared import Compared, with_compared
from usmp.planning.options import PlanningOptions
from usmp.planning.search import Search
from usmp.planning.session import PlanningSession, planning_session

TWO = module_of("lower_entries")


def extending(g):
    """What is new lies behind the state."""
    wide = g.join([g.s, g.x])
    return [g.add(g.cut(wide, 2), g.x), g.cut(wide, 4)]


def reading(g):
    return [g.add(g.x, g.s), g.add(g.s, g.s)]


def two_entries(first, second) -> IRModule:
    """Entries `a` and `b`, which share a state."""
    one, other = (program(build, {"s": 1}) for build in (first, second))
    functions = {v: f for v, f in one.functions.items() if v.name_hint != "main"}
    mod = IRModule(functions)
    for name, source in (("a", one), ("b", other)):
        main = source["main"].with_attr("global_symbol", name)
        known = {v.name_hint: v for v in mod.functions}
        body = tvm.relax.Function(main.params, main.body, main.ret_ty, main.is_pure, main.attrs)
        mod[name] = renamed(body, known)
    return mod


def renamed(function: relax.Function, known) -> relax.Function:
    return tvm_ffi.structural_map(
        function, (tvm.ir.GlobalVar, lambda var: known.get(var.name_hint, var))
    )


def searched(monkeypatch, mod, splits=(), least=None, deadline=None):
    """The form of each entry in the result, the plans, and the forms that were lowered.

    `least` is the form of which the plan takes least; None if nothing has a plan.
    """
    planned, lowered = [], []

    def lower(name, alone, streams):
        attrs = alone.attrs or {}
        fused = "fixed_choices" in attrs
        form = "extending" if attrs.get("extends_states", True) else "apart"
        if name in splits:
            form = "whole" if fused else "split"
        lowered.append((name, form))
        made = LowerMain()(alone)
        main = made["__tvm_main__"].with_attr("form", form)
        made.update_func(made.get_global_var("__tvm_main__"), main)
        return with_compared(made, [Compared("groups", "split" if form == "split" else "fused")])

    def peaks(session, mod, options, limit=None):
        forms = forms_of(mod)
        if not forms:
            return (1,)
        planned.append(forms)
        return None if least is None else (1 if least in forms.values() else 2,)

    monkeypatch.setattr(PlanningSession, "peaks", peaks)
    steps = [EntryGroupStage(), EntryStateStage(), LowerEntries(lower)]
    with planning_session(deadline) as session:
        found = Search(session, PlanningOptions(), steps).best(mod)
    return found, planned, lowered


def forms_of(mod):
    names = {v.name_hint.strip("_").removeprefix("tvm_"): f for v, f in mod.functions.items()}
    return {n: str(f.attrs["form"]) for n, f in names.items() if "form" in (f.attrs or {})}


def test_entries_without_a_choice_are_lowered_once(monkeypatch):
    found, planned, lowered = searched(monkeypatch, TWO)
    assert forms_of(found.mod) == {"count": "extending", "query": "extending"}
    assert (planned, len(lowered)) == ([], 2)


@pytest.mark.parametrize("least", ["whole", "split"])
def test_groups_are_split_where_that_takes_less(monkeypatch, least):
    found, planned, _ = searched(monkeypatch, TWO, ("query",), least)
    assert forms_of(found.mod) == {"count": "extending", "query": least}
    assert [forms["query"] for forms in planned] == ["split", "whole"]


def test_of_equal_plans_the_fused_one_is_taken(monkeypatch):
    found, _, _ = searched(monkeypatch, TWO, ("query",), "extending")
    assert forms_of(found.mod)["query"] == "whole"


@pytest.mark.slow
@pytest.mark.parametrize(("least", "form"), [("extending", "extending"), ("apart", "apart")])
def test_states_are_extended_where_that_takes_no_more(monkeypatch, least, form):
    """Entry b extends no state, so that it is in every plan as it is."""
    mod = two_entries(extending, extending)
    found, planned, _ = searched(monkeypatch, mod, (), least)
    assert forms_of(found.mod) == {"a": form, "b": form}
    assert [forms["a"] for forms in planned] == ["extending", "apart"]


@pytest.mark.slow
def test_states_that_no_entry_extends_are_no_choice(monkeypatch):
    _, planned, lowered = searched(monkeypatch, two_entries(reading, reading))
    assert (planned, len(lowered)) == ([], 2)


def test_one_entry_chooses_alone(monkeypatch):
    _, planned, lowered = searched(monkeypatch, program(extending, {"s": 1}), ("main",))
    assert (planned, lowered) == ([], [("main", "split")])


def test_without_time_nothing_is_compared(monkeypatch):
    mod = two_entries(extending, reading)
    found, planned, _ = searched(monkeypatch, mod, ("b",), deadline=OVER)
    assert forms_of(found.mod) == {"a": "extending", "b": "split"}
    assert planned == []


def test_where_nothing_has_a_plan_the_module_says_what_forms_need(monkeypatch):
    found, _, _ = searched(monkeypatch, TWO, ("query",))
    assert "other_forms" in found.mod.attrs
    found, _, _ = searched(monkeypatch, TWO)
    assert "other_forms" not in found.mod.attrs
