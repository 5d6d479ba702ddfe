"""Options are read in one module, so all plans and comparisons read them alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tvm_ffi
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import relax as R

from support.main_calls import called
from support.operator_programs import BRANCHES
from support.planner_contexts import planner_context
from support.planner_views import bound
from usmp.aot_pipeline import lower_to_aot
from usmp.planning.options import PlanningOptions, planning_options
from usmp.transform import OrderOperators, UnifiedStaticMemoryPlanner


@I.ir_module
class Doubled:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)


def context(**config):
    return planner_context(config)


def test_defaults():
    assert planning_options() == PlanningOptions(
        algorithm="auto",
        custom_algorithm=None,
        placement="preference",
        time_budget=None,
        use_workspace_io=False,
        preserve_inputs=False,
        overlap=True,
        order_operators=True,
        streaming=True,
        stream_inputs=(),
        stream_outputs=(),
        optimize="ram",
        code="balanced",
        dynamic=("bound",),
        debug=(),
    )
    assert planning_options().dynamic_allocator == "arena"
    assert planning_options(workspace_io=True).use_workspace_io


def test_all_of_them():
    config = {
        "tir.usmp.algorithm": "exact",
        "tir.usmp.placement": "cost",
        "tir.usmp.time_budget": "10s",
        "tir.usmp.use_workspace_io": False,
        "tir.usmp.preserve_inputs": False,
        "tir.usmp.stream_inputs": ["image"],
        "tir.usmp.stream_outputs": ["mask", "a,b"],
        "tir.usmp.max_extra_macs": 12.5,
        "tir.usmp.optimize": "speed",
        "tir.usmp.code": "small",
        "tir.usmp.dynamic": ["expression", "TVMBackendAllocWorkspace"],
        "tir.usmp.debug": ["poison_dead_bytes", "verify_kernels", "profile"],
    }
    options = planning_options(PassContext(config=config), workspace_io=True)
    assert options.config() == config
    assert planning_options(PassContext(config=options.config())) == options
    assert options.computes_offsets
    assert options.dynamic_allocator == "TVMBackendAllocWorkspace"


@pytest.mark.parametrize("prefix", ["", "usmp."])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("OverlapInputsAndOutputs", "overlap"),
        ("OrderOperators", "order_operators"),
        ("StreamOperators", "streaming"),
    ],
)
def test_disabled_passes_are_options_too(prefix, name, field):
    options = planning_options(PassContext(disabled_pass=[prefix + name]))
    assert options == replace(PlanningOptions(), **{field: False})


def test_names_of_the_previous_release_are_read():
    old = {
        **{name: False for name in ("overlap", "order_operators", "streaming")},
        **{name: True for name in ("profile", "verify_kernels")},
        "dynamic_allocator": "TVMBackendAllocWorkspace",
        "dynamic": "expression",
        "debug": "poison_dead_bytes",
    }
    assert planning_options(context(**old)) == PlanningOptions(
        overlap=False,
        order_operators=False,
        streaming=False,
        dynamic=("TVMBackendAllocWorkspace", "expression"),
        debug=("profile", "verify_kernels", "poison_dead_bytes"),
    )


def test_without_usmp_its_greedy_planner_shares_and_nothing_else():
    config = {"tir.usmp.enable": False, "tir.usmp.custom_algorithm": "hill_climb"}
    options = planning_options(PassContext(config=config))
    assert options.algorithm_name == "greedy_by_size"
    assert (options.overlap, options.order_operators, options.streaming) == (False,) * 3
    assert options.shares_memory


@pytest.mark.parametrize(
    "config, message",
    [
        ({"algorithm": "magic"}, "The selected USMP algorithm : magic is not defined"),
        (
            {"custom_algorithm": "magic"},
            "The selected custom USMP algorithm : magic is not",
        ),
        ({"placement": "random"}, 'unknown placement "random" in tir.usmp.placement'),
        (
            {"code": "tiny"},
            'unknown kind of code "tiny" in tir.usmp.code. Kinds: balanced, fast, small',
        ),
        (
            {"debug": "profile,trace"},
            'unknown word "trace" in tir.usmp.debug',
        ),
        (
            {"dynamic": "bound,expression"},
            "tir.usmp.dynamic=bound,expression: offsets are either bound or expression. Leave out",
        ),
        ({"time_budget": "soon"}, "tir.usmp.time_budget: "),
        ({"time_budget": "1s", "algorithm": "hill_climb"}, "tir.usmp.time_budget is for "),
        ({"time_budget": "1s", "custom_algorithm": "hill_climb"}, "tir.usmp.time_budget is for "),
        (
            {"stream_inputs": "x,y", "disabled_pass": ("StreamOperators",)},
            "tir.usmp.stream_inputs (x, y) needs operators that run row by row, which "
            "--disabled-pass=StreamOperators and tir.usmp.enable=0 forbid",
        ),
        (
            {"stream_inputs": "x", "enable": False},
            "tir.usmp.stream_inputs (x) needs operators that run row by row, which "
            "--disabled-pass=StreamOperators and tir.usmp.enable=0 forbid",
        ),
        (
            {"stream_inputs": "x", "stream_outputs": "y", "algorithm": "no_sharing"},
            "tir.usmp.stream_inputs (x) and tir.usmp.stream_outputs (y) need operators that run "
            "row by row and buffers that share memory, but every buffer has bytes of its own",
        ),
        (
            {"stream_inputs": "x", "preserve_inputs": True},
            "tir.usmp.stream_inputs (x) gives inputs row by row, so that nothing is left of them "
            "to preserve",
        ),
    ],
)
def test_all_who_read_options_refuse_the_same_ones(config, message):
    mod = bound(BRANCHES)
    with context(**config):
        for read in (
            planning_options,
            lambda: OrderOperators()(mod),
            lambda: UnifiedStaticMemoryPlanner()(mod),
            lambda: lower_to_aot(Doubled),
        ):
            with pytest.raises(ValueError) as error:
                read()
            assert str(error.value).startswith(message)


def test_the_algorithm_that_wins_decides_whether_an_order_matters():
    """A custom algorithm wins over `tir.usmp.algorithm`, for the order too."""
    with context(algorithm="no_sharing", custom_algorithm="hill_climb"):
        assert called(OrderOperators()(BRANCHES)["__tvm_main__"])[1] == "narrow"
    with context(algorithm="hill_climb", custom_algorithm="no_sharing"):
        assert OrderOperators()(BRANCHES).same_as(BRANCHES)


def test_a_custom_algorithm_is_asked_for_both_orders():
    asked = []

    @tvm_ffi.register_global_func("tir.usmp.algo.test_options_counts", override=True)
    def counts(buffers, memory_pressure):
        asked.append(memory_pressure)
        return tvm_ffi.get_global_func("tir.usmp.algo.greedy_by_size")(buffers, memory_pressure)

    with context(custom_algorithm="test_options_counts"):
        assert called(OrderOperators()(BRANCHES)["__tvm_main__"])[1] == "narrow"
    assert asked == [144, 96]
