"""TVM's `test_multiple_calls_to_same_primfunc` (test_tir_usmp_analysis_extract_bufferinfo.py).

TVM's module writes to the constant sid_23; here it is read. TVM lets all temporaries of a softmax
conflict, but T_softmax_maxelem is dead before T_softmax_expsum is written.
"""

import numpy as np
import pytest
import tvm
from tvm.script import tirx as T

from support.buffer_views import analyze, buffers, conflicts, live
from support.tvm_operators import conflicts_of, copy, module

CONSTANTS = {
    name: tvm.runtime.tensor(np.arange(size).astype("int8"))
    for name, size in {"sid_21": 10, "sid_22": 1, "sid_23": 3456}.items()
}


@T.prim_func
def conv2d(
    Source: T.Buffer((864,), "float32"),
    Weight: T.Buffer((81,), "float32"),
    Output: T.Buffer((864,), "float32"),
):
    data_pad = T.alloc_buffer((1092,), "float32")
    for i in range(1092):
        data_pad[i] = T.if_then_else(i < 864, Source[i], T.float32(0))
    for row in range(24):
        conv2d_NCHWc_global = T.alloc_buffer((36,), "float32")
        for c in range(36):
            conv2d_NCHWc_global[c] = T.float32(0)
        for k in range(27):
            for c in range(36):
                conv2d_NCHWc_global[c] = (
                    conv2d_NCHWc_global[c] + data_pad[row * 42 + k] * Weight[k * 3 + c % 3]
                )
        for c in range(36):
            Output[row * 36 + c] = conv2d_NCHWc_global[c]


@T.prim_func
def dense_relu(
    Source: T.Buffer((864,), "float32"),
    Weight: T.Buffer((144,), "float32"),
    Output: T.Buffer((864,), "float32"),
):
    for block in range(18):
        compute = T.alloc_buffer((48,), "float32")
        compute_global = T.alloc_buffer((48,), "float32")
        for c in range(48):
            compute_global[c] = T.float32(0)
        for k in range(12):
            for c in range(48):
                compute_global[c] = compute_global[c] + Source[block * 48 + k] * Weight[k * 12]
        for c in range(48):
            compute[c] = compute_global[c]
        for c in range(48):
            Output[block * 48 + c] = T.max(compute[c], T.float32(0))


@T.prim_func
def softmax_add_add_multiply_add(
    Source: T.Buffer((864,), "float32"),
    Other: T.Buffer((864,), "float32"),
    First: T.Buffer((3,), "float32"),
    Factor: T.Buffer((3,), "float32"),
    Second: T.Buffer((3,), "float32"),
    Output: T.Buffer((864,), "float32"),
):
    for row in range(72):
        T_softmax_norm = T.alloc_buffer((12,), "float32")
        T_softmax_maxelem = T.alloc_buffer((1,), "float32")
        T_softmax_maxelem[0] = T.float32(-3e38)
        for k in range(12):
            T_softmax_maxelem[0] = T.max(T_softmax_maxelem[0], Source[row * 12 + k])
        T_softmax_exp = T.alloc_buffer((12,), "float32")
        for k in range(12):
            T_softmax_exp[k] = T.exp(Source[row * 12 + k] - T_softmax_maxelem[0])
        T_softmax_expsum = T.alloc_buffer((1,), "float32")
        T_softmax_expsum[0] = T.float32(0)
        for k in range(12):
            T_softmax_expsum[0] = T_softmax_expsum[0] + T_softmax_exp[k]
        for k in range(12):
            T_softmax_norm[k] = T_softmax_exp[k] / T_softmax_expsum[0]
        for k in range(12):
            Output[row * 12 + k] = (
                Other[row * 12 + k] + T_softmax_norm[k] + First[row // 24]
            ) * Factor[row // 24] + Second[row // 24]


@T.prim_func
def softmax_add(
    Source: T.Buffer((864,), "float32"),
    Other: T.Buffer((864,), "float32"),
    Output: T.Buffer((864,), "float32"),
):
    for row in range(72):
        T_softmax_norm = T.alloc_buffer((12,), "float32")
        T_softmax_maxelem = T.alloc_buffer((1,), "float32")
        T_softmax_maxelem[0] = T.float32(-3e38)
        for k in range(12):
            T_softmax_maxelem[0] = T.max(T_softmax_maxelem[0], Source[row * 12 + k])
        T_softmax_exp = T.alloc_buffer((12,), "float32")
        for k in range(12):
            T_softmax_exp[k] = T.exp(Source[row * 12 + k] - T_softmax_maxelem[0])
        T_softmax_expsum = T.alloc_buffer((1,), "float32")
        T_softmax_expsum[0] = T.float32(0)
        for k in range(12):
            T_softmax_expsum[0] = T_softmax_expsum[0] + T_softmax_exp[k]
        for k in range(12):
            T_softmax_norm[k] = T_softmax_exp[k] / T_softmax_expsum[0]
        for k in range(12):
            Output[row * 12 + k] = Other[row * 12 + k] + T_softmax_norm[k]


def multiple_calls(*resource_handle):
    """Each call passes `resource_handle` after the arguments."""
    h = resource_handle

    @T.prim_func
    def main(
        data_buffer: T.Buffer((864,), "float32", align=16),
        output_buffer: T.Buffer((864,), "float32", align=16),
    ):
        sid_11 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_5 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_10 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_6 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_8 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_2 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_7 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_3 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_12 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_4 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_18 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_19 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_20 = T.alloc_buffer((3456,), "int8", scope="global.workspace")
        sid_21 = T.alloc_buffer(  # noqa: F841
            (10,), "int8", annotations={"constant_data": CONSTANTS["sid_21"]}
        )
        sid_22 = T.alloc_buffer(  # noqa: F841
            (1,), "int8", annotations={"constant_data": CONSTANTS["sid_22"]}
        )
        sid_23 = T.alloc_buffer((3456,), "int8", annotations={"constant_data": CONSTANTS["sid_23"]})
        p = T.lookup_param("p0")
        T.tvm_call_cpacked("layout_transform_1", sid_23.data, sid_8.data, *h)
        T.tvm_call_cpacked("conv2d_NCHWc", sid_8.data, p, sid_7.data, *h)
        T.tvm_call_cpacked("layout_transform", sid_7.data, sid_6.data, *h)
        T.tvm_call_cpacked("reshape_1", data_buffer.data, sid_12.data, *h)
        T.tvm_call_cpacked("dense_relu", sid_12.data, p, sid_11.data, *h)
        T.tvm_call_cpacked("reshape", sid_11.data, sid_10.data, *h)
        T.tvm_call_cpacked(
            "softmax_add_add_multiply_add", sid_6.data, sid_10.data, p, p, p, sid_5.data, *h
        )
        T.tvm_call_cpacked("layout_transform_1", sid_5.data, sid_4.data, *h)
        T.tvm_call_cpacked("conv2d_NCHWc", sid_4.data, p, sid_3.data, *h)
        T.tvm_call_cpacked("layout_transform", sid_3.data, sid_2.data, *h)
        T.tvm_call_cpacked("reshape_1", sid_5.data, sid_20.data, *h)
        T.tvm_call_cpacked("dense_relu", sid_20.data, p, sid_19.data, *h)
        T.tvm_call_cpacked("reshape", sid_19.data, sid_18.data, *h)
        T.tvm_call_cpacked("softmax_add", sid_2.data, sid_18.data, output_buffer.data, *h)

    operators = {
        "conv2d_NCHWc": conv2d,
        "dense_relu": dense_relu,
        "softmax_add_add_multiply_add": softmax_add_add_multiply_add,
        "softmax_add": softmax_add,
    }
    for name in ["layout_transform", "layout_transform_1", "reshape", "reshape_1"]:
        operators[name] = copy(864, "float32", "float32")
    return module(main, operators)


MULTIPLE_CALLS = multiple_calls(T.reinterpret("handle", T.uint64(0)))
CALLED_TWICE = {"data_pad", "conv2d_NCHWc_global", "compute", "compute_global"}
# What is live in each outermost loop, in the order in which they run; in the softmaxes, where all
# temporaries belong to one iteration, what is live in each inner loop.
LIVE = [
    "sid_8",  # layout_transform_1
    "sid_8 data_pad",
    "data_pad conv2d_NCHWc_global sid_7",
    "sid_7 sid_6",  # layout_transform
    "sid_6 sid_12",  # reshape_1
    "sid_6 sid_12 compute compute_global sid_11",
    "sid_6 sid_11 sid_10",  # reshape
    "sid_6 sid_10 sid_5 T_softmax_maxelem",
    "sid_6 sid_10 sid_5 T_softmax_maxelem T_softmax_exp",
    "sid_6 sid_10 sid_5 T_softmax_exp T_softmax_expsum",
    "sid_6 sid_10 sid_5 T_softmax_exp T_softmax_expsum T_softmax_norm",
    "sid_6 sid_10 sid_5 T_softmax_norm",
    "sid_5 sid_4",  # layout_transform_1
    "sid_5 sid_4 data_pad",
    "sid_5 data_pad conv2d_NCHWc_global sid_3",
    "sid_5 sid_3 sid_2",  # layout_transform
    "sid_5 sid_2 sid_20",  # reshape_1
    "sid_2 sid_20 compute compute_global sid_19",
    "sid_2 sid_19 sid_18",  # reshape
    "sid_2 sid_18 T_softmax_maxelem_1",
    "sid_2 sid_18 T_softmax_maxelem_1 T_softmax_exp_1",
    "sid_2 sid_18 T_softmax_exp_1 T_softmax_expsum_1",
    "sid_2 sid_18 T_softmax_exp_1 T_softmax_expsum_1 T_softmax_norm_1",
    "sid_2 sid_18 T_softmax_norm_1",
    "sid_21 sid_22 sid_23",  # constants, which lie in pools of their own
]


@pytest.mark.parametrize(
    "mod", [MULTIPLE_CALLS, multiple_calls()], ids=["resource_handle", "no_resource_handle"]
)
def test_conflicts(mod):
    assert conflicts(mod) == conflicts_of(LIVE)


def test_inner_buffers_are_live_at_each_call():
    assert {name: len(ranges) for name, ranges in live(MULTIPLE_CALLS).items()} == {
        name: 2 if name in CALLED_TWICE else 1 for name in conflicts_of(LIVE)
    }


def test_memory_pressure_is_without_constants():
    padded, sums, tensor = 1092 * 4, 36 * 4, 3456
    assert analyze(MULTIPLE_CALLS).memory_pressure == padded + sums + 2 * tensor == 11424


def test_constants_are_placed_in_constant_pools():
    pools = {
        name: [pool.pool_name for pool in info.pool_candidates]
        for name, info in buffers(MULTIPLE_CALLS).items()
    }
    assert pools == {
        name: ["global_const_workspace" if name in CONSTANTS else "global_workspace"]
        for name in conflicts_of(LIVE)
    }
