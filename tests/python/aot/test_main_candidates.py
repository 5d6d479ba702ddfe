"""Copies are made where sharing memory would cost more, and never where that is not so."""

from __future__ import annotations

import random

import pytest
import tvm
from tvm import relax

import usmp
from support import levels
from support.main_calls import called
from usmp.aot.main_candidates import MainCandidates
from usmp.aot_pipeline import lower_to_aot
from usmp.planning.options import planning_options
from usmp.planning.search import Search
from usmp.planning.search.stages import OrderStage
from usmp.planning.session import PlanningSession, planning_session


def planned_bytes(mod):
    """The peak of the workspace in the better of the orders, as the PassContext asks for."""
    options = planning_options()
    with planning_session() as session:
        found = Search(session, options, [OrderStage()]).best(mod)
        return max(session.peaks(found.mod, options), default=0)


def softmax(b, value):
    """An operator that nothing is fused with."""
    return b.emit(relax.op.nn.softmax(value))


def cut(b, value, begin, end):
    return b.emit(relax.op.strided_slice(value, [0], [begin], [end], [1]))


@pytest.fixture
def others(monkeypatch):
    """The bytes that other choices need: `others(mod)` is a list, of all moves elided, of none, and
    of those that let no more bytes live at once."""
    made = []

    def spy(mod, finish):
        made.append(MainCandidates(mod, finish))
        return made[-1]

    monkeypatch.setattr("usmp.aot.stages.copies.MainCandidates", spy)

    def find(mod):
        lower_to_aot(mod)
        candidates = made[-1]
        count = len(candidates.make(None).groups)
        return [planned_bytes(candidates.make(wanted).mod) for wanted in (range(count), (), None)]

    return find


def random_body(seed):
    """Slices, joins and operators, one after the other."""
    generator = random.Random(seed)

    def body(b, x):
        values = [x]
        for _ in range(generator.randint(6, 12)):
            value = generator.choice(values[-4:])
            rows = int(value.ty.shape[0])
            kind = generator.choice(["operator", "reduce", "cut", "join"])
            if kind == "cut" and rows > 1:
                place = generator.randint(1, rows - 1)
                values += [cut(b, value, 0, place), cut(b, value, place, rows)]
            elif kind == "join" and rows < 30:
                parts = [value, *generator.choices(values[-5:], k=generator.randint(1, 2))]
                values.append(b.emit(relax.op.concat(parts, 0)))
            elif kind == "reduce":
                values.append(softmax(b, b.emit(relax.op.sum(value, [0], keepdims=True))))
            else:
                values.append(softmax(b, value))
        return relax.Tuple([softmax(b, values[-1]), softmax(b, generator.choice(values))])

    return body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "seed"),
    [
        (option, seed + number)
        # Options have other models, in a long run several each.
        for number, option in enumerate([None, "use_workspace_io", "preserve_inputs"])
        for seed in levels.seeds(1, 8)
    ],
)
def test_no_simple_choice_needs_less(model, others, seed, option):
    config = {f"tir.usmp.{name}": True for name in ("use_workspace_io", option) if option}
    mod = model(random_body(seed), ("x", (8, 5), "float32"))
    with tvm.transform.PassContext(config=config):
        assert planned_bytes(lower_to_aot(mod)) <= min(others(mod))


@pytest.mark.slow
def test_a_copy_that_saves_memory_is_made_and_others_are_not(model, others):
    """In the importer's order: another one can save more."""
    mod = model(random_body(34), ("x", (8, 5), "float32"))
    with tvm.transform.PassContext(disabled_pass=["OrderOperators"]):
        lowered = lower_to_aot(mod)
        copies = [name for name in called(lowered["__tvm_main__"]) if "copy" in name]
        assert copies == ["usmp_copy_0"]
        assert planned_bytes(lowered) == 180
        assert others(mod) == [212, 224, 212]


@pytest.mark.slow
def test_where_all_choices_need_the_same_nothing_is_copied(model, others):
    def body(b, x, y):
        return softmax(b, b.emit(relax.op.concat([softmax(b, x), softmax(b, y)], 0)))

    mod = model(body, ("x", (4, 6), "float32"), ("y", (2, 6), "float32"))
    assert called(lower_to_aot(mod)["__tvm_main__"]) == ["softmax", "softmax1", "softmax2"]
    assert len(set(others(mod))) == 1


@pytest.mark.slow
def test_a_model_that_needs_no_workspace(model):
    def body(b, x):
        return b.emit(relax.op.concat([softmax(b, x), b.emit(relax.op.nn.relu(x))], 0))

    mod = model(body, ("x", (4, 6), "float32"))
    lowered = lower_to_aot(mod)
    assert planned_bytes(lowered) == 0
    assert called(lowered["__tvm_main__"]) == ["softmax", "relu"]
    assert len(usmp.build(mod).memory_plan.buffers) == 0


@pytest.mark.slow
def test_without_overlaps_live_bytes_decide(model, others):
    mod = model(random_body(5), ("x", (8, 5), "float32"))
    assert planned_bytes(lower_to_aot(mod)) == 84
    with tvm.transform.PassContext(disabled_pass=["OverlapInputsAndOutputs"]):
        assert planned_bytes(lower_to_aot(mod)) == min(others(mod))


@pytest.mark.slow
def test_the_build_chooses_for_where_inputs_and_outputs_are(model, monkeypatch):
    asked = []

    def spy(session, mod, options, limit=None):
        asked.append(options.use_workspace_io)
        return peaks(session, mod, options, limit)

    peaks = PlanningSession.peaks
    monkeypatch.setattr(PlanningSession, "peaks", spy)
    mod = model(lambda b, x: softmax(b, cut(b, softmax(b, x), 1, 3)), ("x", (4, 6), "float32"))
    usmp.build(mod)
    assert set(asked) == {False}
    asked.clear()
    usmp.build(mod, board="mps2-an385")
    assert set(asked) == {True}


def test_outputs_have_the_names_that_the_importer_gave_them(model):
    mod = model(softmax, ("x", (2, 2), "float32"))
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("output_names", ["scores"]))
    main = lower_to_aot(mod)["__tvm_main__"]
    assert [str(tensor.name) for tensor in main.attrs["output_tensors"]] == ["scores"]
