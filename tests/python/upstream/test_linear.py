"""TVM's `test_linear` (test_tir_usmp_analysis_extract_bufferinfo.py): the start of a MobileNet."""

import pytest
from tvm.script import tirx as T

from support.buffer_views import TARGET, analyze, buffers, conflicts
from support.tvm_operators import cast_subtract, convolution, max_pool_cast, module, suffixed
from usmp.objects import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import WORKSPACE_MEMORY_POOLS_ATTR


@T.prim_func
def main(input: T.handle, output: T.handle):
    sid_9 = T.alloc_buffer((301056,), "int8")
    sid_8 = T.alloc_buffer((802816,), "int8")
    T.call_extern("int32", "cast_subtract", input, T.lookup_param("p0"), sid_9.data)
    T.call_extern(
        "int32", "conv2d", sid_9.data, T.lookup_param("p1"), T.lookup_param("p2"), sid_8.data
    )
    T.call_extern("int32", "max_pool2d_cast", sid_8.data, output)


LINEAR = module(
    main,
    {
        "cast_subtract": cast_subtract(150528),
        "conv2d": suffixed(convolution(150528, 157323, 12544, 1, 64, "uint8"), "_7"),
        "max_pool2d_cast": suffixed(max_pool_cast(802816, 200704), "_2"),
    },
)


def test_sizes():
    assert {name: info.size_bytes for name, info in buffers(LINEAR).items()} == {
        "sid_9": 301056,
        "sid_8": 802816,
        "PaddedInput_7": 314646,
        "Conv2dOutput_7": 256,
        "tensor_2": 200704,
    }


def test_conflicts():
    assert conflicts(LINEAR) == {
        "sid_9": {"PaddedInput_7"},
        "sid_8": {"PaddedInput_7", "Conv2dOutput_7", "tensor_2"},
        "PaddedInput_7": {"sid_9", "sid_8", "Conv2dOutput_7"},
        "Conv2dOutput_7": {"sid_8", "PaddedInput_7"},
        "tensor_2": {"sid_8"},
    }


@pytest.mark.slow
def test_memory_pressure():
    assert analyze(LINEAR).memory_pressure == 314646 + 256 + 802816 == 1117718


def test_alignment():
    assert {info.alignment for info in buffers(LINEAR).values()} == {16}


@pytest.mark.parametrize(
    "names", [["fast_memory", "slow_memory"], ["slow_memory", "fast_memory"]], ids=str
)
def test_candidate_pools_are_in_the_users_order(names):
    pools = WorkspaceMemoryPools([WorkspacePoolInfo(name, [TARGET]) for name in names])
    found = buffers(LINEAR.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, pools)).values()
    assert [[pool.pool_name for pool in info.pool_candidates] for info in found] == [names] * 5
