"""What is known of the peak of each pool: pairs of buffers, what forces it, and the next peak."""

from __future__ import annotations

import pytest
from tvm.ir.transform import PassContext

from support.planner_contexts import planner_context
from support.planner_views import Chain, Copies, bound, plan, workspace
from support.streamed_graphs import main_function, module
from usmp.explanation.plan_facts import Planned, noting_what_is_planned, plan_facts
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.session import planning_session

POOL = workspace("sram")


def metadata(planned, **known):
    """What the metadata of a plan of one pool says; operators take two positions each."""
    found = planned.attrs[MEMORY_PLAN_ATTR.name]
    buffers = [
        {
            "name": str(b.name),
            "offset": int(b.byte_offset),
            "size": int(b.size_bytes),
            "alignment": 1,
            "live_ranges": [[int(r.start), int(r.stop)] for r in b.live_ranges],
        }
        for b in found.buffers
    ]
    peak = max(b["offset"] + b["size"] for b in buffers)
    pool = {
        "name": "sram",
        "kind": "workspace",
        "buffers": buffers,
        "live_at_peak": [],
        "peak_bytes": peak,
        "lower_bound_bytes": peak,
        **known,
    }
    operators = [
        {
            "entry": "main",
            "functions": ["op"],
            "start": int(o.start),
            "stop": int(o.stop),
        }
        for o in found.operators
    ]
    flash = {**pool, "name": "flash", "kind": "constant"}
    functions = {"main": [{}], "operator_functions": []}
    return {"operators": operators, "memory": {"pools": [flash, pool], "functions": functions}}


def facts(mod, **changes):
    planned = plan(mod, [POOL])
    options = planning_options(planner_context(changes))
    with planning_session() as session:
        noted = Planned(bound(mod, [POOL]), options)
        return plan_facts(session, noted, metadata(planned))


def test_facts_are_of_workspace_pools():
    assert list(facts(Chain)) == ["sram"]


def test_a_peak_is_said_with_its_pair_what_forces_it_and_the_next():
    # b of 48 bytes is live with a of 32, or with c of 16.
    found = facts(Chain)["sram"]
    (pair,) = found["pairs"]
    assert {pair["dying"], pair["written"]} == {"a", "b"}
    assert pair["kind"] == "distance" and pair["kept"] == []
    assert "distance" not in pair and pair["distance_bytes"] >= pair["size_bytes"] > 0
    assert isinstance(pair["because"]["functions"], list)
    forced = found["forced_by"]
    assert (forced["kind"], set(forced["buffers"])) == ("live at one time", {"a", "b"})
    assert (forced["bytes_behind_states"], forced["is_irreducible"]) == (0, True)
    # Without the second operator, the third one has the peak: b and c.
    assert found["next_peak"] == {"peak_bytes": 64, "optimal": True, "operator": 2}


def test_a_buffer_that_ends_before_the_peak_is_in_no_pair():
    tensors = [("a", 16, "int8"), ("b", 48, "int8"), ("c", 32, "int8")]
    calls = ["op x a", "op a b", "op b c", "op c y"]
    main = main_function([("x", "int8"), ("y", "int8")], tensors, calls)
    text = """
    @T.prim_func
    def op(p: T.handle("int8"), q: T.handle("int8")):
        T.evaluate(T.call_extern("int32", "f", p, q))
    """
    (pair,) = facts(module(text, main))["sram"]["pairs"]
    assert {pair["dying"], pair["written"]} == {"b", "c"}


def test_operators_that_may_overlap_say_at_which_distance():
    found = facts(Copies)["sram"]
    (pair,) = found["pairs"]
    assert pair["distance_bytes"] < pair["size_bytes"]


@pytest.mark.parametrize("dynamic", ["bound", "expression"])
def test_offsets_that_are_expressions_have_no_one_peak(dynamic):
    found = facts(Chain, dynamic=dynamic)["sram"]
    assert (found["next_peak"] is None) is (dynamic == "expression")
    assert (found["forced_by"] is None) is (dynamic == "expression")
    assert len(found["pairs"]) == 1


def test_metadata_without_times_has_no_next_peak():
    planned = plan(Chain, [POOL])
    described = metadata(planned, peak_operator=1)
    for operator in described["operators"]:
        del operator["start"]
    with planning_session() as session:
        noted = Planned(bound(Chain, [POOL]), PlanningOptions())
        assert plan_facts(session, noted, described)["sram"]["next_peak"] is None


def test_what_does_not_fit_has_no_facts():
    small = [workspace("sram", 40)]
    described = metadata(plan(Chain, [POOL]))
    with planning_session() as session:
        noted = Planned(bound(Chain, small), PlanningOptions())
        assert plan_facts(session, noted, described) == {}


def test_the_module_that_is_planned_is_noted_with_its_options():
    noted = Planned()
    with PassContext(
        disabled_pass=["OverlapInputsAndOutputs"], instruments=[noting_what_is_planned(noted)]
    ):
        plan_of = plan(Chain, [POOL], disabled_pass=["OverlapInputsAndOutputs"])
    assert noted.mod is None and plan_of is not None
    from usmp.transform import UnifiedStaticMemoryPlanner

    mod = bound(Chain, [POOL])
    instruments = [noting_what_is_planned(noted)]
    with PassContext(disabled_pass=["OverlapInputsAndOutputs"], instruments=instruments):
        UnifiedStaticMemoryPlanner()(mod)
    assert noted.mod is not None and noted.options.overlap is False
    assert {v.name_hint for v in noted.mod.functions} == {"op", "__tvm_main__"}
