"""TVM's test_tir_analysis_calculate_workspace.py, and what is special about flat TIR."""

import numpy as np
import pytest
import tvm
from tvm.script import tirx as T

from usmp.analysis import calculate_constant_bytes, calculate_workspace_bytes


def constant(size):
    return tvm.runtime.tensor(np.arange(size, dtype="int8"))


@T.prim_func
def global_allocations(Output: T.Buffer((1,), "int32")):
    PaddedInput = T.alloc_buffer((131072,), "int16")
    PaddedInput[0] = T.int16(1)
    DepthwiseConv2d = T.alloc_buffer((100352,), "int32")
    for i in range(100352):
        DepthwiseConv2d[i] = T.cast(PaddedInput[0], "int32")
    Output[0] = DepthwiseConv2d[0]


@T.prim_func
def nested_allocations(Output: T.Buffer((1,), "int32")):
    sid = T.alloc_buffer((8,), "int8", annotations={"constant_data": constant(8)})
    for _i in range(4):
        first = T.alloc_buffer((130,), "int8")
        for _j in range(4):
            inner = T.alloc_buffer((70,), "int8")
            inner[0] = first[0] + sid[0]
        for _j in range(4):
            larger = T.alloc_buffer((90,), "int8")
            larger[0] = first[0]
        Output[0] = T.cast(first[0], "int32")
    second = T.alloc_buffer((101,), "int8")
    Output[0] = T.cast(second[0], "int32")


@pytest.mark.parametrize(("alignment", "expected"), [(1, 663552), (10, 663560)])
def test_global_allocations(alignment, expected):
    assert calculate_workspace_bytes(global_allocations, alignment) == expected
    assert calculate_constant_bytes(global_allocations, alignment) == 0


@pytest.mark.parametrize(("alignment", "expected", "constants"), [(1, 220, 8), (100, 300, 100)])
def test_a_body_ends_the_scope_of_what_it_allocates(alignment, expected, constants):
    assert calculate_workspace_bytes(nested_allocations, alignment) == expected
    assert calculate_constant_bytes(nested_allocations, alignment) == constants


def test_vector_lanes_count():
    @T.prim_func
    def func():
        a = T.alloc_buffer((4,), "float32x4")  # noqa: F841
        T.evaluate(1)

    assert calculate_workspace_bytes(func, 1) == 64


def test_branches_are_alternatives():
    @T.prim_func
    def func(n: T.int32):
        outside = T.alloc_buffer((10,), "int8")
        if n > 0:
            yes = T.alloc_buffer((30,), "int8")
            outside[0] = yes[0]
        else:
            no = T.alloc_buffer((20,), "int8")
            outside[0] = no[0]

    assert calculate_workspace_bytes(func, 1) == 40


def test_other_scopes_and_dynamic_sizes_do_not_count():
    @T.prim_func
    def func(n: T.int32):
        dynamic = T.alloc_buffer((n,), "int8")  # noqa: F841
        register = T.alloc_buffer((4,), "int8", scope="local")  # noqa: F841
        workspace = T.alloc_buffer((4,), "int8", scope="global.workspace")  # noqa: F841
        T.evaluate(1)

    assert calculate_workspace_bytes(func, 1) == 4


@pytest.mark.parametrize("calculate", [calculate_workspace_bytes, calculate_constant_bytes])
def test_an_alignment_without_meaning(calculate):
    with pytest.raises(ValueError, match=r"_byte_alignment must be at least 1 byte, but is 0$"):
        calculate(global_allocations, 0)
