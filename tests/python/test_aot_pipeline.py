"""The pipeline: the passes of `usmp.build` in their order, and what comes out of them when they
fail."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext, Sequential

import usmp
from usmp.aot_pipeline import search_pass
from usmp.names import STAGES, WORKSPACE_IO
from usmp.objects.target.targets import parse_targets
from usmp.passes import ModulePass, apply_passes
from usmp.planning.search import Stage
from usmp.relax.limits import LimitError

OF_ANY_MODULE = [
    "usmp.InlineFunctions",
    "usmp.ResolveMatchCasts",
    "usmp.CheckCalls",
    "usmp.ConvertBranches",
    "usmp.AddRootBlocks",
]
PASSES = [
    *OF_ANY_MODULE,
    "usmp.SearchChoices",
    "usmp.UnifiedStaticMemoryPlanner",
    "usmp.LowerDynamicAllocations",
    "usmp.MergeSimilarFunctions",
]
STEPS = [
    "usmp.FoldUnchangedStates",
    "usmp.CheckShapes",
    "usmp.MakeParameterNamesUnique",
    "usmp.AttachIOQuantization",
    "usmp.NormalizeTakeIndices",
    "usmp.NormalizeCopies",
    "usmp.FoldPadding",
    "usmp.ConvertImageLayout",
    "usmp.ConvertQDQToIntegers",
    "usmp.PruneConstantChannels",
    "usmp.ConvertWindowsToStates",
    "usmp.PartitionForAccelerators",
    "usmp.LowerAcceleratorFunctions",
    "usmp.LegalizeForFusion",
    "usmp.FuseRecordedOperators",
    "usmp.FinishFusion",
    "usmp.BindSymbolicSizes",
    "usmp.CheckIterations",
    "usmp.SelectKernels",
    "usmp.ScheduleOperators",
    "usmp.LowerOperators",
    "usmp.TakeDevices",
    "usmp.ConvertForLoopsToSerial",
    "tirx.BindTarget",
    "usmp.CheckAccelerators",
    "usmp.LowerControlFlow",
    "usmp.LowerMain",
    "usmp.OrderOperators",
    "usmp.StreamOperators",
    "usmp.ChooseSchedules",
]
"""Passes and stages inside of the search."""
POISON = {"tir.usmp.debug": ["poison_dead_bytes"]}


@tvm.ir.instrument.pass_instrument
class Recorder:
    """The passes that ran, and how many passes each was inside of."""

    def __init__(self):
        self.depth = 0
        self.seen = []

    def run_before_pass(self, mod, info):
        self.seen.append((self.depth, info.name))
        self.depth += 1

    def run_after_pass(self, mod, info):
        self.depth -= 1


def names(pipeline):
    return [step.info.name for step in pipeline.passes]


@pytest.fixture
def softmax(model):
    def body(b, x):
        return b.emit(relax.op.nn.softmax(relax.op.add(x, relax.const(np.ones(4, np.float32)))))

    return model(body, ("x", (4,), "float32"))


def test_the_list():
    assert names(usmp.get_aot_pipeline()) == PASSES


def steps(**options):
    """The steps of the search: passes, and stages by the names of their passes."""
    search = search_pass(parse_targets("c"), "default", **options)
    return [s.pass_name if isinstance(s, Stage) else str(s.info.name) for s in search.steps]


def decisions(**options):
    """The decisions of a build, in their order, of which one may have several stages."""
    search = search_pass(parse_targets("c"), "default", **options)
    return list(dict.fromkeys(step.name for step in search.steps if isinstance(step, Stage)))


def test_the_steps():
    assert [name for name in steps() if name in STEPS] == STEPS


def test_decisions_come_in_the_order_that_users_read():
    with PassContext(config={"tir.usmp.max_extra_macs": "5%"}):
        alone, together = decisions(), decisions(several_entries=True)
    assert alone == [stage for stage in STAGES if stage in alone]
    assert together == [stage for stage in STAGES if stage in together]
    # A question, which is no step.
    assert STAGES.keys() - alone == {WORKSPACE_IO}


def test_strips_are_chosen_while_operators_have_records():
    """Whether they are permitted or not, so that builds share all other steps."""
    found = steps()
    at = found.index("usmp.SplitIntoStrips")
    assert found[at - 1] == "usmp.PartitionForAccelerators"
    with PassContext(config={"tir.usmp.max_extra_macs": "5%"}):
        assert steps() == found


def test_several_entries_are_lowered_one_by_one():
    lowered = ["usmp.FuseEntries", "usmp.ExtendStates", "usmp.LowerEntries"]
    assert steps(several_entries=True)[:3] == lowered


def test_what_is_asked_for_is_in_the_list():
    with PassContext(config=POISON):
        pipeline = usmp.get_aot_pipeline("c", board="mps2-an385", compare_workspace_io=True)
    assert names(pipeline)[-5:] == [
        "usmp.SearchChoices",
        "usmp.PlanForBoard",
        "usmp.LowerDynamicAllocations",
        "usmp.PoisonDeadBytes",
        "usmp.MergeSimilarFunctions",
    ]


@pytest.mark.parametrize("several_entries", [False, True])
def test_callers_decide_on_types_before_entries_are_lowered(several_entries):
    plain = steps(several_entries=several_entries)
    found = steps(several_entries=several_entries, io_type="int8")
    assert found == ["usmp.ConvertIOToIntegers", *plain]


@pytest.mark.parametrize(
    ("options", "config"),
    [({}, {}), ({"board": "mps2-an385", "compare_workspace_io": True}, POISON)],
)
def test_a_build_runs_the_list(softmax, options, config):
    recorder = Recorder()
    with PassContext(instruments=[recorder], config=config):
        usmp.build(softmax, **options)
        expected = names(usmp.get_aot_pipeline(**options))
    assert [name for depth, name in recorder.seen if depth == 1] == expected
    assert {name for depth, name in recorder.seen if depth == 0} == {"usmp.build"}
    own = [name for _, name in recorder.seen if name in STEPS]
    # The question about inputs and outputs in the workspace has stages, too.
    count = len(STEPS) if options == {} else own.index("usmp.OrderOperators")
    assert own[:count] == STEPS[:count]


def test_passes_inside_of_passes_are_seen(softmax):
    recorder = Recorder()
    with PassContext(instruments=[recorder]):
        usmp.build(softmax)
    inner = [name for depth, name in recorder.seen if depth > 1]
    for name in ("PushSliceThroughConcat", "LegalizeOperators", "KeepInPlaceOperators"):
        assert f"usmp.{name}" in inner
    for name in (
        "FuseRecordedOperators",
        "FuseSlices",
        "FoldConstants",
        "FuseTables",
        "SkipPadding",
        "SpecializeRescaling",
        "WidenSmallFloats",
    ):
        assert f"usmp.{name}" in inner
    for name in ("ZeroElemOffsets", "DefineArithmetic", "PassBuffersAsPointers"):
        assert f"usmp.{name}" in inner


@pytest.mark.slow
def test_the_pipeline_gives_what_is_built(softmax):
    built = usmp.build(softmax).ir_mod
    planned = usmp.get_aot_pipeline()(softmax)
    for variable, func in built.functions.items():
        assert planned[variable.name_hint].script() == func.script()


def test_a_pass_can_be_left_out(softmax):
    recorder = Recorder()
    with PassContext(instruments=[recorder], disabled_pass=["usmp.ScheduleOperators"]):
        usmp.build(softmax)
    assert "usmp.ScheduleOperators" not in {name for _, name in recorder.seen}


def test_names_are_not_known():
    with pytest.raises(ValueError, match='unknown target "no target at all"'):
        usmp.get_aot_pipeline("no target at all")
    with pytest.raises(ValueError, match='unknown board "none"'):
        usmp.get_aot_pipeline(board="none")


def failing(raised):
    @tvm.transform.module_pass(opt_level=0, name="usmp.Failing")
    class Failing(ModulePass):
        def transform_module(self, mod, _):
            raise raised

    return Failing()


@pytest.mark.parametrize("raised", [LimitError("x"), KeyError("x"), KeyboardInterrupt()], ids=repr)
def test_errors_come_out_as_they_were_raised(raised):
    """Out of TVM's own call comes a copy."""
    passes = Sequential([Sequential([failing(raised)])])
    with pytest.raises(type(raised)) as error:
        apply_passes(passes, IRModule())
    assert error.value is raised
    with pytest.raises(BaseException) as copy:
        passes(IRModule())
    assert copy.value is not raised


def test_an_error_that_was_handled_is_not_the_one_that_comes_out():
    @tvm.transform.module_pass(opt_level=0, name="usmp.Handling")
    class Handling(ModulePass):
        def transform_module(self, mod, _):
            try:
                return failing(LimitError("handled"))(mod)
            except LimitError:
                raise LookupError("later") from None

    with pytest.raises(LookupError, match="later"):
        apply_passes(Sequential([Handling()]), IRModule())


def test_errors_of_tvm_come_out_as_they_are():
    passes = Sequential([relax.transform.FuseOps()], required=["nothing"])
    with pytest.raises(Exception, match="nothing"):
        apply_passes(Sequential([passes]), IRModule())
