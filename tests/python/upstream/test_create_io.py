"""TVM's test_tir_usmp_transform_create_io_allocates.py.

Nothing tells which parameters of `__tvm_main__` are inputs: they are those that are only read.
"""

import pytest
import tvm
from tvm import tirx
from tvm.script import tirx as T

from support.tvm_operators import module
from usmp.transform import CreateAllocatesForIO


@T.prim_func
def cast_subtract(
    Source: T.Buffer((150528,), "uint8"),
    Zero: T.Buffer((1,), "int16"),
    Output: T.Buffer((452,), "int16"),
):
    for i in range(452):
        Output[i] = T.cast(Source[i], "int16") - Zero[0]


@T.prim_func
def one_in_one_out(input: T.Buffer((150528,), "uint8"), output: T.Buffer((452,), "int16")):
    T.call_extern("int32", "cast_subtract", input.data, T.lookup_param("p0"), output.data)


@T.prim_func
def one_in_one_out_allocated():
    input = T.alloc_buffer((150528,), "uint8", annotations={"input_tensor": "input"})
    output = T.alloc_buffer((452,), "int16", annotations={"output_tensor": "output"})
    T.call_extern("int32", "cast_subtract", input.data, T.lookup_param("p0"), output.data)


@T.prim_func
def one_in_two_out(
    input: T.Buffer((150528,), "uint8"),
    output1: T.Buffer((452,), "int16"),
    output2: T.Buffer((452,), "int16"),
):
    T.call_extern("int32", "cast_subtract", input.data, T.lookup_param("p0"), output1.data)
    T.call_extern("int32", "cast_subtract", input.data, T.lookup_param("p1"), output2.data)


@T.prim_func
def one_in_two_out_allocated():
    input = T.alloc_buffer((150528,), "uint8", annotations={"input_tensor": "input"})
    output1 = T.alloc_buffer((452,), "int16", annotations={"output_tensor": "output1"})
    output2 = T.alloc_buffer((452,), "int16", annotations={"output_tensor": "output2"})
    T.call_extern("int32", "cast_subtract", input.data, T.lookup_param("p0"), output1.data)
    T.call_extern("int32", "cast_subtract", input.data, T.lookup_param("p1"), output2.data)


@T.prim_func
def two_in_one_out(
    input1: T.Buffer((150528,), "uint8"),
    input2: T.Buffer((1,), "int16"),
    output: T.Buffer((452,), "int16"),
):
    T.call_extern("int32", "cast_subtract", input1.data, input2.data, output.data)


@T.prim_func
def two_in_one_out_allocated():
    input1 = T.alloc_buffer((150528,), "uint8", annotations={"input_tensor": "input1"})
    input2 = T.alloc_buffer((1,), "int16", annotations={"input_tensor": "input2"})
    output = T.alloc_buffer((452,), "int16", annotations={"output_tensor": "output"})
    T.call_extern("int32", "cast_subtract", input1.data, input2.data, output.data)


@T.prim_func
def two_in_two_out(
    input1: T.Buffer((150528,), "uint8"),
    input2: T.Buffer((150528,), "uint8"),
    output1: T.Buffer((452,), "int16"),
    output2: T.Buffer((452,), "int16"),
):
    T.call_extern("int32", "cast_subtract", input1.data, T.lookup_param("p0"), output1.data)
    T.call_extern("int32", "cast_subtract", input2.data, T.lookup_param("p1"), output2.data)


@T.prim_func
def two_in_two_out_allocated():
    input1 = T.alloc_buffer((150528,), "uint8", annotations={"input_tensor": "input1"})
    input2 = T.alloc_buffer((150528,), "uint8", annotations={"input_tensor": "input2"})
    output1 = T.alloc_buffer((452,), "int16", annotations={"output_tensor": "output1"})
    output2 = T.alloc_buffer((452,), "int16", annotations={"output_tensor": "output2"})
    T.call_extern("int32", "cast_subtract", input1.data, T.lookup_param("p0"), output1.data)
    T.call_extern("int32", "cast_subtract", input2.data, T.lookup_param("p1"), output2.data)


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        (one_in_one_out, one_in_one_out_allocated),
        (one_in_two_out, one_in_two_out_allocated),
        (two_in_one_out, two_in_one_out_allocated),
        (two_in_two_out, two_in_two_out_allocated),
    ],
    ids=["1in1out", "1in2out", "2in1out", "2in2out"],
)
def test_mobilenet_subgraph(main, expected):
    after = CreateAllocatesForIO()(module(main, {"cast_subtract": cast_subtract}))
    assert tirx.analysis.verify_well_formed(after)
    assert list(after["__tvm_main__"].params) == []
    tvm.ir.assert_structural_equal(after["__tvm_main__"].body, expected.body)
    tvm.ir.assert_structural_equal(
        after["cast_subtract"], cast_subtract.with_attr("global_symbol", "cast_subtract")
    )
