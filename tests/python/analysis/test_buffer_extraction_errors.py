"""What extract_buffer_info refuses."""

import pytest
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import DATA, FLASH, SRAM, analyze, buffers
from usmp.analysis import extract_buffer_info


def test_missing_candidate_pools():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op():
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            Mod.op()

    with pytest.raises(ValueError, match=r"^op: buffer scratch has no candidate pools; apply "):
        extract_buffer_info(Mod["__tvm_main__"], Mod)


@pytest.mark.parametrize("annotation", [SRAM, ["sram"]], ids=["pool", "name"])
def test_candidate_pools_that_are_no_list_of_pools(annotation):
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": annotation})
            a[0] = T.int8(1)

    for run in (analyze, lambda mod: extract_buffer_info(mod["__tvm_main__"], mod)):
        with pytest.raises(ValueError) as error:
            run(Mod)
        assert str(error.value).startswith(
            '__tvm_main__: the annotation "candidate_memory_pools" of buffer a must be a list of '
            "memory pools, but is "
        )


def test_constant_data_that_is_no_tensor():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"constant_data": "abcd"})
            T.evaluate(a[0])

    with pytest.raises(ValueError) as error:
        analyze(Mod)
    assert str(error.value) == (
        '__tvm_main__: the annotation "constant_data" of buffer a must be a tvm.runtime.Tensor, '
        "but is abcd"
    )


def test_a_constant_in_a_workspace_pool():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer(
                (4,),
                "int8",
                annotations={"candidate_memory_pools": [FLASH, SRAM], "constant_data": DATA},
            )
            T.evaluate(a[0])

    with pytest.raises(ValueError) as error:
        extract_buffer_info(Mod["__tvm_main__"], Mod)
    assert str(error.value) == (
        "__tvm_main__: buffer a is a constant, so it cannot be placed in the workspace pool sram"
    )


def test_a_variable_in_a_constant_pool():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [FLASH]})
            a[0] = T.int8(1)

    with pytest.raises(ValueError) as error:
        extract_buffer_info(Mod["__tvm_main__"], Mod)
    assert str(error.value) == (
        "__tvm_main__: buffer a is not a constant, "
        "so it cannot be placed in the constant pool flash"
    )


@pytest.mark.parametrize("annotation", ["fixed_offset", "live_throughout", "state_tensor"])
def test_annotations_of_what_cannot_be_planned(annotation):
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            for i in T.parallel(4):
                a = T.alloc_buffer((4,), "int8", annotations={annotation: 1})
                a[i] = T.int8(1)

    with pytest.raises(ValueError) as error:
        analyze(Mod)
    assert str(error.value) == (
        f"__tvm_main__: buffer a is annotated with {annotation}, but cannot be planned: its size "
        "is not static, its scope is not global, or it stands in a loop that is not serial"
    )


def test_a_constant_that_is_written():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            constant = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            Mod.op(constant)

    with pytest.raises(ValueError) as error:
        analyze(Mod)
    assert str(error.value) == (
        "__tvm_main__: constant constant is written, but constants lie in read-only memory; "
        "copy it to a buffer first"
    )


def test_a_constant_that_is_given_to_an_unknown_function():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            constant = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            T.evaluate(T.call_extern("int32", "kernel", constant.data))

    assert set(buffers(Mod)) == {"constant"}


@pytest.mark.parametrize("elements", [3, 5])
def test_a_constant_that_is_not_as_large_as_its_data(elements):
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            constant = T.alloc_buffer((elements,), "int8", annotations={"constant_data": DATA})
            T.evaluate(constant[0])

    with pytest.raises(ValueError) as error:
        analyze(Mod)
    assert str(error.value) == (
        f"__tvm_main__: constant constant has {elements} bytes, but its data has 4"
    )


def test_a_main_function_of_another_module():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.evaluate(1)

    with pytest.raises(ValueError, match=r"^main_func is not a function of the module$"):
        extract_buffer_info(tirx.PrimFunc([], tirx.Evaluate(1)), Mod)


def test_recursion():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            Mod.__tvm_main__()

    with pytest.raises(ValueError, match=r"^recursion cannot be planned statically: "):
        extract_buffer_info(Mod["__tvm_main__"], Mod)
