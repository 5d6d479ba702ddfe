"""What ConvertPoolAllocationsToOffsets leaves on the module, or leaves out."""

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.pool_conversion import convert
from usmp.objects import PoolAllocation, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import IO_TENSOR_POOL_ALLOCATIONS_ATTR
from usmp.transform import AssignPoolInfo, ConvertPoolAllocationsToOffsets

FAST = WorkspacePoolInfo("fast", ["c"])
SLOW = WorkspacePoolInfo("slow", ["c"])


def test_inputs_and_outputs_are_listed():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "in"})
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "out"})
            a = T.alloc_buffer((4,), "int8")
            a[0] = x[0]
            y[0] = a[0]

    after = convert(Before, {"x": (FAST, 16), "y": (SLOW, 0), "a": (FAST, 0)})
    listed = after.attrs[IO_TENSOR_POOL_ALLOCATIONS_ATTR.name]
    assert {
        name: (place.pool_info.pool_name, place.byte_offset) for name, place in listed.items()
    } == {"in": ("fast", 16), "out": ("slow", 0)}


def test_two_tensors_of_one_name():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "t"})
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "t"})
            y[0] = x[0]

    with pytest.raises(ValueError) as error:
        convert(Before, {"x": (FAST, 16), "y": (FAST, 0)})
    assert str(error.value).partition("\n")[0] == (
        'two inputs or outputs are called "t", so they cannot have places in the workspace under '
        "that name; rename one of them"
    )


def test_a_module_that_can_be_printed_and_parsed():
    @I.ir_module
    class Before:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            T.func_attr({"mine": 1})
            A[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": T.target("c")})
            a = T.alloc_buffer((4,), "int8")
            Before.op(a)

    allocation = Before["__tvm_main__"].body.seq[0]
    places = {allocation: PoolAllocation(FAST, 8)}
    mod = Before.with_attr("ours", 2)
    after = ConvertPoolAllocationsToOffsets(places, emit_tvmscript_printable=True)(mod)
    assert not after.attrs
    assert {v.name_hint: list(f.attrs.keys()) for v, f in after.functions.items()} == {
        "op": ["global_symbol"],
        "__tvm_main__": ["global_symbol"],
    }
    parsed = tvm.script.from_source(after.script(), extra_vars={"I": I, "T": T})
    tvm.ir.assert_structural_equal(parsed, after)


def test_what_stays_and_what_is_not_tir_can_be_printed_too():
    @I.ir_module
    class Before:
        @R.function
        def relax_main(x: R.Tensor((4,), "int8")):
            return x

        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": T.target("c")})
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)
            for i in T.parallel(4):
                stays = T.alloc_buffer((4,), "int8")
                stays[i] = a[0]

    mod = AssignPoolInfo()(Before)
    places = {mod["__tvm_main__"].body.seq[0]: PoolAllocation(FAST, 8)}
    after = ConvertPoolAllocationsToOffsets(places, emit_tvmscript_printable=True)(mod)
    assert isinstance(after["relax_main"], relax.Function)
    parsed = tvm.script.from_source(after.script(), extra_vars={"I": I, "T": T, "R": R})
    tvm.ir.assert_structural_equal(parsed, after)
