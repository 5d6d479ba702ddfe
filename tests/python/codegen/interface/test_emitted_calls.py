"""What a planned module is said to run: operators in order, with their tensors."""

from __future__ import annotations

from functools import cache

import pytest
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from conftest import ROOT
from support.entry_models import entry_model
from support.planner_views import plan
from support.state_models import streaming_model
from usmp.codegen.interface.emitted_calls import OperatorTensor, emitted_calls
from usmp.objects.attributes.operator_attributes import SHARED_FUNCTION_ATTR
from usmp.objects.operator_step import OperatorStep

DIGITS = ROOT / "examples/digits/digits_int8.tflite"


def int8(*shape):
    return OperatorTensor("int8", shape)


@cache
def unstreamed_digits():
    with PassContext(disabled_pass=["StreamOperators"]):
        return usmp.build(DIGITS)


@pytest.mark.slow
def test_operators_of_a_model():
    """Weights and biases are no inputs; a fused addition has two."""
    calls = emitted_calls(unstreamed_digits().ir_mod)
    image, small, wide = int8(1, 8, 8, 16), int8(1, 4, 4, 32), int8(1, 4, 4, 64)
    assert [(call.functions, call.inputs, call.outputs) for call in calls] == [
        (["conv2d"], [int8(1, 8, 8, 1)], [image]),
        (["conv2d1"], [image], [small]),
        (["depthwise_conv2d"], [small], [small]),
        (["fused_conv2d2_add"], [small, small], [small]),
        (["conv2d3"], [small], [wide]),
        (["max_pool"], [wide], [int8(1, 2, 2, 64)]),
        (["mean"], [int8(1, 2, 2, 64)], [int8(1, 64)]),
        (["fully_connected"], [int8(1, 64)], [int8(1, 10)]),
        (["softmax"], [int8(1, 10)], [int8(1, 10)]),
    ]
    assert {call.entry for call in calls} == {"main"}
    assert sum(call.macs for call in calls) == 399488
    assert calls[3].steps[1] == OperatorStep("add", 0)


@pytest.mark.slow
def test_operators_that_run_interleaved_are_one_call():
    """It takes what the first of them takes, and gives what the last one gives."""
    calls = emitted_calls(usmp.build(DIGITS).ir_mod)
    small = int8(1, 4, 4, 32)
    assert [(call.functions, call.inputs, call.outputs) for call in calls[:3]] == [
        (["conv2d_to_conv2d1"], [int8(1, 8, 8, 1)], [small]),
        (["depthwise_conv2d_to_fused_conv2d2_add"], [small], [small]),
        (["conv2d3_to_max_pool"], [small], [int8(1, 2, 2, 64)]),
    ]
    assert [call.functions for call in calls[3:]] == [["mean"], ["fully_connected"], ["softmax"]]
    assert sum(call.macs for call in calls) == 399488


@pytest.mark.slow
def test_entries_follow_each_other():
    calls = emitted_calls(usmp.build(entry_model()).ir_mod)
    entries = [call.entry for call in calls]
    assert list(dict.fromkeys(entries)) == ["learn", "tell", "plain"]
    assert entries == sorted(entries, key=["learn", "tell", "plain"].index)


@pytest.mark.slow
def test_a_branch_is_one_call_of_several_functions():
    """The first run copies or fills states; these functions know no shape but their elements."""
    calls = emitted_calls(usmp.build(streaming_model()).ir_mod)
    setting = calls[0]
    assert all(name.startswith(("usmp_copy", "usmp_fill")) for name in setting.functions)
    assert setting.macs == 0
    assert all(len(tensor.shape) == 1 for tensor in setting.outputs)


def test_hand_written_operators_are_described_by_their_loops():
    @I.ir_module
    class Mod:
        @T.prim_func
        def dot(a: T.handle("int32"), b: T.handle("int32"), c: T.handle("int32")):
            T.func_attr({"target": T.target("c")})
            A = T.decl_buffer((6,), "int32", data=a)
            B = T.decl_buffer((6,), "int32", data=b)
            C = T.decl_buffer((1,), "int32", data=c)
            C[0] = 0
            for i in range(6):
                C[0] = C[0] + A[i] * B[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int32"), y: T.handle("int32")):
            T.func_attr({"target": T.target("c")})
            Mod.dot(x, x, y)

    (call,) = emitted_calls(plan(Mod))
    six = OperatorTensor("int32", (6,))
    assert (call.functions, call.macs) == (["dot"], 6)
    assert (call.inputs, call.outputs) == ([six, six], [OperatorTensor("int32", (1,))])


@pytest.mark.slow
@pytest.mark.models
def test_copies_of_several_sizes_in_one_function_have_their_shapes(shared_model):
    with PassContext(config={"tir.usmp.code": "small"}):
        module = usmp.build(shared_model("mww_okay_nabu_v2_int8")).ir_mod
    copies = [c for c in emitted_calls(module) if c.functions[0].startswith("usmp_copy_")]
    assert all(SHARED_FUNCTION_ATTR.name in module[call.functions[0]].attrs for call in copies)
    sizes = [80, 128, 32, 128, 640, 896, 1408, 320]
    assert [(c.inputs, c.outputs) for c in copies] == [([int8(n)], [int8(n)]) for n in sizes]


@pytest.mark.slow
def test_json_leaves_out_what_is_not_known():
    (call, *_) = emitted_calls(unstreamed_digits().ir_mod)
    assert call.as_json() == {
        "entry": "main",
        "functions": ["conv2d"],
        "steps": [
            {
                "kind": "conv2d",
                "macs": 9216,
                "kernel": [3, 3],
                "strides": [1, 1],
                "dilations": [1, 1],
            }
        ],
        "inputs": [{"dtype": "int8", "shape": [1, 8, 8, 1]}],
        "outputs": [{"dtype": "int8", "shape": [1, 8, 8, 16]}],
        "macs": 9216,
        "schedules": [{"tile": "2 pixels x 2 channels", "instructions": 52816}],
    }
    call.steps.append(OperatorStep("accel.conv2d", None))
    assert "macs" not in call.as_json()
    assert call.as_json()["steps"][1] == {"kind": "accel.conv2d"}
