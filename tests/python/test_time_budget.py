"""A time budget ends all searches of a build, which takes the best plan so far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.deadlines import NEVER, OVER, after_looks
from support.sweeps import sweep
from usmp import search_choices
from usmp.explanation import explanation, suggestions
from usmp.explanation.trials import Trial
from usmp.exploration import measure
from usmp.exploration.tables import notes
from usmp.names import STAGES
from usmp.objects import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.planning import plan as planning
from usmp.planning.session import PlanningSession, planning_session
from usmp.report.summary.memory_summary import memory_summary
from usmp.support.deadline import Deadline

TIME = "The search was ended by its time budget: another run may end with another plan."


@pytest.fixture(scope="module")
def random():
    return np.random.default_rng(1)


@pytest.fixture
def branches(model, random):
    """Images, whose layout matters; branches in an order; parts of tensors, copied or not."""

    def convolution(b, x, outputs, groups=1):
        kernel = random.normal(size=(outputs, 8 // groups, 3, 3)).astype("float32")
        y = relax.op.nn.conv2d(x, relax.const(kernel), padding=1, groups=groups)
        return b.emit(relax.op.nn.relu(b.emit(y)))

    def body(b, x):
        y = convolution(b, x, 8, groups=8)
        parts = [convolution(b, y, 4), convolution(b, y, 8, groups=8), convolution(b, y, 2)]
        halves = b.emit(relax.op.split(b.emit(relax.op.concat(parts, 1)), 2, 1))
        return relax.op.mean(b.emit(relax.op.add(halves[0], halves[1])), [2, 3])

    return model(body, ("x", (1, 8, 8, 8), "float32"))


@pytest.fixture
def compared(monkeypatch):
    """The bytes of all plans that are compared."""
    found = []

    def spy(session, mod, options, limit=None):
        plan = peaks(session, mod, options, limit)
        found.extend(plan or ())
        return plan

    peaks = PlanningSession.peaks
    monkeypatch.setattr(PlanningSession, "peaks", spy)
    return found


@pytest.fixture
def checked(monkeypatch):
    """How many buffers each plan has that is checked."""
    found = []

    def spy(buffers, allocations):
        found.append(len(allocations))
        check_plan(buffers, allocations)

    check_plan = planning.check_plan
    monkeypatch.setattr(planning, "check_plan", spy)
    return found


def built(mod, deadline, **arguments):
    """The model, and what its metadata says of memory."""
    with planning_session(deadline):
        factory = usmp.build(mod, **arguments)
    return factory, factory.metadata["modules"]["default"]["memory"]


def of(memory, *stages):
    """Whether these stages were not compared, in the order of all stages."""
    found = memory["not_compared"]
    return [stage for stage in STAGES if stage in found] == found and {*stages} <= {*found}


@pytest.mark.slow
def test_without_time_nothing_is_compared_and_the_plan_is_checked(branches, compared, checked):
    factory, memory = built(branches, OVER, compare_workspace_io=True)
    assert (compared, len(checked)) == ([], 1)
    stages = ["layout", "copies", "order", "segments", "workspace_io"]
    assert (memory["search_ended_by"], memory["not_compared"]) == ("time", stages)
    text = " ".join(memory_summary(factory.metadata["modules"]["default"]).split())
    names = "layouts of images, copies of parts of tensors, orders of operators, operators that run"
    assert f"{TIME} No time remained to compare all {names} interleaved, inputs" in text
    assert "--workspace-io (tir.usmp.use_workspace_io=1) plans them too. Flash" in text


@pytest.mark.slow
@pytest.mark.parametrize("looks", [6, 33, 100])
def test_the_build_ends_with_the_best_plan_so_far(branches, compared, looks):
    _, memory = built(branches, after_looks(looks))
    assert memory["ram"]["workspace_size_bytes"] == min(compared, default=5408)
    assert memory["search_ended_by"] == "time"
    assert set(memory["not_compared"]) <= set(STAGES)


@pytest.mark.slow
def test_time_that_is_not_used_up_changes_nothing(branches):
    without, memory = built(branches, None)
    factory, _ = built(branches, NEVER)
    assert factory.files() == without.files()
    assert "not_compared" not in memory


@pytest.mark.slow
def test_the_budget_of_a_call_begins_with_it(digits_model, compared):
    options = {"time_budget": ".000001ms", "max_extra_macs": "20%"}
    with PassContext(config={f"tir.usmp.{name}": value for name, value in options.items()}):
        factory = usmp.build(digits_model, target="c -mcpu=cortex-m4")
    assert compared == []
    module = factory.metadata["modules"]["default"]
    assert of(module["memory"], "strips", "order", "segments", "tiles")
    assert "schedule_choices" not in module


@pytest.mark.slow
def test_rows_that_the_application_gives_need_segments(digits_model):
    with PassContext(config={"tir.usmp.stream_inputs": ["image"]}):
        _, memory = built(digits_model, OVER)
    assert memory["functions"]["main"][0]["inputs"]["image"]["by_rows"]
    assert of(memory, "order", "segments")


@pytest.mark.slow
def test_what_fits_with_more_time_is_said(branches):
    properties = PoolInfoProperties(size_hint_bytes=4000)
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"], properties)])
    more = (
        "The time budget ended before all choices were compared (layouts of images, copies of "
        "parts of tensors, orders of operators, operators that run interleaved): another one may "
        "fit; please try a longer tir.usmp.time_budget."
    )
    with pytest.raises(ValueError, match="the space available") as raised:
        built(branches, OVER, workspace_memory_pools=pools)
    assert str(raised.value).endswith(f"\n{more}")
    with pytest.raises(ValueError, match="does not fit board") as raised:
        built(branches, OVER, workspace_memory_pools=pools, board="mps2-an385")
    assert str(raised.value).endswith(f"\n{more}")


@pytest.mark.slow
def test_a_question_without_time_has_no_answer(branches, monkeypatch):
    """It comes after the plan, which has its time."""
    now = [0.0]

    def late(*arguments):
        now[0] = 2.0
        return ask(*arguments)

    ask = search_choices._ram_with_workspace_io
    monkeypatch.setattr(search_choices, "_ram_with_workspace_io", late)
    deadline = Deadline(1.0, lambda: now[0])
    _, memory = built(branches, deadline, compare_workspace_io=True)
    assert (memory["search_ended_by"], memory["not_compared"]) == ("proof", ["workspace_io"])
    assert "size_bytes_with_workspace_io" not in memory["ram"]


def test_entries_are_lowered_once(model, compared):
    mods = {name: model(lambda _, x: relax.op.exp(x), ("x", (4,), "float32")) for name in "ab"}
    _, memory = built(mods, OVER)
    assert compared == []
    assert memory["search_ended_by"] == "time"


@pytest.mark.slow
def test_suggestions_that_had_no_time_are_not_tried(branches):
    with planning_session(OVER):
        found = usmp.explain(branches)
    reasons = {each["refused"] for each in found.document["suggestions"]}
    assert reasons == {"the time budget ended before it was tried"}
    assert "The search was ended by its time budget" in found.document["notes"][0]
    assert "Not tried: --" in str(found)
    assert "Not possible" not in str(found)


@pytest.mark.slow
def test_a_sweep_says_that_figures_could_be_smaller(branches, monkeypatch):
    monkeypatch.setattr(measure, "_code", lambda *_: (100, "estimated", "cc", None))
    with planning_session(OVER):
        cut = measure.measure(usmp.build(branches))
    assert (cut.search_ended_by, cut.is_optimal) == ("time", False)
    whole = replace(cut, search_ended_by="proof", is_optimal=True)
    note = (
        "The time budget ended the search of 1 of 2: with a longer --usmp-time-budget they may "
        "take less."
    )
    for others, has_note in (((cut, whole), True), ((whole, whole), False)):
        found = sweep(*others)
        assert (note in notes(found, found.rows())) == has_note


@pytest.mark.slow
def test_suggestions_have_half_of_the_time(branches, monkeypatch):
    deadlines, made = [], []

    def spy(*arguments, **options):
        with planning_session() as session:
            deadlines.append(session.deadline.seconds)
        # One build is enough to ask what each of them has.
        made.append(made[0] if made else build(*arguments, **options))
        return made[-1]

    build = explanation.build
    for module in (explanation, suggestions):
        monkeypatch.setattr(module, "build", spy)
    with planning_session(NEVER):
        usmp.explain(branches)
    # Three shares of the other half are for pairs.
    assert deadlines == [0.5, *(1 / (len(deadlines) + 3 - n) for n in range(1, len(deadlines)))]


def test_a_longer_search_ends_by_its_own_time(branches, monkeypatch):
    ends, made = [], []

    def spy(*arguments, **options):
        with planning_session() as session:
            ends.append(session.deadline and session.deadline.search_seconds())
        made.append(made[0] if made else build(*arguments, **options))
        return made[-1]

    build = explanation.build
    longer = Trial("time_budget", "--usmp-time-budget=1h", "searches longer", search_seconds=3600.0)
    monkeypatch.setattr(suggestions, "trials", lambda *_: [longer])
    for module in (explanation, suggestions):
        monkeypatch.setattr(module, "build", spy)
    usmp.explain(branches)
    assert ends[0] is None
    assert 1800 < ends[1] <= 3600
