"""What is compared is what is made, and is made once."""

from __future__ import annotations

from unittest import mock

import pytest
import tvm
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.deadlines import NEVER, OVER
from support.operator_programs import BRANCHES
from support.planner_contexts import planner_context
from support.planner_views import bound, workspace
from usmp.analysis import pool_usage
from usmp.names import ORDER, WORKSPACE_IO
from usmp.objects.attributes.module_attributes import (
    MEMORY_PLAN_ATTR,
    MODEL_FILES_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.planning import plan as planning
from usmp.planning import session as session_module
from usmp.planning.options import PlanningOptions
from usmp.planning.session import PlanningSession, planning_session
from usmp.planning.session_keys import module_key
from usmp.support.deadline import Deadline
from usmp.transform import AssignPoolInfo, OrderOperators, UnifiedStaticMemoryPlanner

ORDERED = OrderOperators()(BRANCHES)


@pytest.fixture
def compared(monkeypatch):
    """The peaks of all plans that are compared."""
    found = []

    def spy(session, mod, options, limit=None):
        found.append(peaks(session, mod, options, limit))
        return found[-1]

    peaks = PlanningSession.peaks
    monkeypatch.setattr(PlanningSession, "peaks", spy)
    return found


@pytest.fixture
def placed(monkeypatch):
    """The numbers of buffers that algorithms are asked to place."""
    found = []

    def spy(buffers, *arguments):
        found.append(len(buffers))
        return place(buffers, *arguments)

    place = planning.place
    monkeypatch.setattr(planning, "place", spy)
    return found


def peak_of(mod) -> int:
    (pool,) = [
        p for p in pool_usage(mod.attrs[MEMORY_PLAN_ATTR.name]) if "const" not in p.pool_name
    ]
    return pool.peak_bytes


@pytest.mark.slow
def test_the_plan_that_was_compared_is_the_one_that_is_made(shared_model, compared):
    """By hill climbing, whose plan depends on the memory pressure that it is told."""
    mod = usmp.import_model(shared_model("deeploy_cct_1_16", ".onnx"))
    with PassContext(config={"tir.usmp.algorithm": "hill_climb"}):
        factory = usmp.build(mod)
    assert (peak_of(factory.ir_mod),) == min(peaks for peaks in compared if peaks)


def test_a_plan_that_is_known_is_not_made_again(placed):
    mod = bound(BRANCHES)
    with planning_session():
        ordered = OrderOperators()(mod)
        made = len(placed)
        assert made == 2
        UnifiedStaticMemoryPlanner()(ordered)
        UnifiedStaticMemoryPlanner()(mod)
    assert len(placed) == made
    UnifiedStaticMemoryPlanner()(ordered)
    assert len(placed) == made + 1


def test_plans_are_those_of_pools_options_and_executor(placed):
    mod = bound(BRANCHES)
    pools = usmp.WorkspaceMemoryPools([workspace("sram")])
    others = [
        (mod, {}),
        (mod, {"disabled_pass": ["OverlapInputsAndOutputs"]}),
        (mod, {"tir.usmp.algorithm": "greedy_by_size"}),
        (mod, {"tir.usmp.use_workspace_io": True}),
        (mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, pools), {}),
        (mod.with_attr("executor", usmp.Executor("aot", {"workspace-byte-alignment": 1})), {}),
    ]
    with planning_session():
        for count, (module, config) in enumerate(others, 1):
            for _ in range(2):
                with planner_context(config):
                    UnifiedStaticMemoryPlanner()(module)
            assert len(placed) == count


def test_the_same_prim_func_gets_the_same_candidate_pools():
    mod = bound(BRANCHES)
    with planning_session():
        first, second = AssignPoolInfo()(mod), AssignPoolInfo()(bound(ORDERED))
        assert AssignPoolInfo()(mod)["__tvm_main__"].same_as(first["__tvm_main__"])
    for name in ("widen", "narrow", "add"):
        assert first[name].same_as(mod[name])
    assert not first["__tvm_main__"].same_as(second["__tvm_main__"])


def test_an_error_that_was_compared_is_told_again():
    mod = bound(BRANCHES, [workspace("sram", 16)])
    with planning_session():
        after = OrderOperators()(mod)
        with pytest.raises(ValueError, match="the space available"):
            UnifiedStaticMemoryPlanner()(after)


def test_the_least_preferred_pool_decides():
    """Both orders fill the first pool; what is left goes to the second."""
    pools = [workspace("fast", 64), workspace("slow")]
    options = PlanningOptions()
    with planning_session() as session:
        before, after = (session.peaks(bound(m, pools), options) for m in (BRANCHES, ORDERED))
    assert after < before
    assert before[0] > after[0]


def test_what_is_proved_to_need_more_is_not_planned(placed):
    options = PlanningOptions()
    with planning_session() as session:
        assert session.peaks(ORDERED, options) == (80,)
        assert session.peaks(BRANCHES, options, limit=(80,)) is None
        assert len(placed) == 1
        assert session.peaks(BRANCHES, options, limit=(128,)) == (128,)


def test_a_search_of_any_length_is_compared_by_fixed_work(placed):
    options = PlanningOptions(algorithm="exact", time_budget="10s")
    with planning_session() as session:
        assert session.peaks(BRANCHES, options) == (128,)
        assert len(placed) == 1
        assert session.peaks(BRANCHES, PlanningOptions()) == (128,)
    assert len(placed) == 1


@pytest.fixture(scope="module")
def build_of_digits():
    """The passes that an instrument sees in a build, and the arguments of all plans."""
    seen, planned = [], []

    @tvm.ir.instrument.pass_instrument
    class Recorder:
        def run_before_pass(self, mod, info):
            if info.name.startswith("usmp."):
                seen.append(info.name.removeprefix("usmp."))

    def counted(*arguments):
        planned.append(arguments)
        return planning.make_plan(*arguments)

    with (
        mock.patch.object(session_module, "make_plan", counted),
        PassContext(instruments=[Recorder()]),
    ):
        usmp.build(ROOT / "examples/digits/digits_int8.tflite")
    return seen, planned


@pytest.mark.slow
def test_instruments_see_each_pass_once(build_of_digits):
    seen, _ = build_of_digits
    assert seen[seen.index("ConvertForLoopsToSerial") :] == [
        "ConvertForLoopsToSerial",
        "CheckAccelerators",
        "LowerControlFlow",
        "LowerMain",
        "OrderOperators",
        "StreamOperators",
        "ChooseSchedules",
        "UnifiedStaticMemoryPlanner",
        "AssignPoolInfo",
        "ConvertPoolAllocationsToOffsets",
        "LowerDynamicAllocations",
        "MergeSimilarFunctions",
    ]


@pytest.mark.slow
def test_a_plan_that_was_compared_is_not_made_again(build_of_digits):
    """Of operators one after the other, and interleaved; the main function, which has the operators
    of the file, is the same for both and for the planner."""
    _, planned = build_of_digits
    assert len(planned) == 2


def test_the_earliest_deadline_holds():
    later = Deadline(2.0, lambda: 0.0)
    with planning_session(NEVER) as session:
        with planning_session(later), planning_session():
            assert session.deadline is NEVER
        with planning_session(OVER):
            assert session.deadline is OVER
        assert session.deadline is NEVER


def test_a_search_without_time_takes_the_plan_that_was_compared(monkeypatch):
    """What is proved of it stays so."""
    options = PlanningOptions(algorithm="exact", time_budget="1min")
    made = session_module.make_plan
    with planning_session(NEVER) as session:
        prepared = session.prepared(ORDERED, options)
        compared = session.plan(prepared, options.without_time())
        refused = session_module.NoPlan(ValueError("no time"))
        monkeypatch.setattr(session_module, "make_plan", lambda *_: refused)
        with planning_session(OVER):
            found = session.plan(prepared, options)
    assert (found.algorithm, found.allocations) == ("exact", compared.allocations)
    assert (found.found.plan.ended_by, session.is_cut_short) == ("proof", True)
    monkeypatch.setattr(session_module, "make_plan", made)
    with planning_session(OVER) as session:
        assert session.plan(prepared, options).peaks() == (80,)
        assert not session.is_cut_short


def test_what_a_deadline_ended_counts_where_it_was():
    with planning_session(Deadline(0)) as session:
        assert not session.has_time("order")
        with session.own_record():
            assert not session.not_compared
            assert not session.is_cut_short
            assert not session.has_time("tiles")
        assert list(session.not_compared) == ["order"]


def test_a_question_about_another_plan_cuts_no_search_short():
    with planning_session(Deadline(0)) as session:
        assert not session.has_time(WORKSPACE_IO)
        assert not session.is_cut_short
        assert not session.has_time(ORDER)
        assert session.is_cut_short
    assert list(session.not_compared) == [WORKSPACE_IO, ORDER]


def test_models_of_other_files_are_not_the_same():
    # Results have the names of the files, so that one must not get those of the other.
    first, second = (MODEL_FILES_ATTR.put(tvm.ir.IRModule({}), [name]) for name in ("a", "b"))
    assert module_key(first) != module_key(second)
    assert module_key(first) == module_key(MODEL_FILES_ATTR.put(tvm.ir.IRModule({}), ["a"]))
