import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import buffers
from usmp.transform import ConvertForLoopsToSerial


def program(loop):
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(y: T.Buffer((4,), "int8")):
            for i in loop(4):
                scratch = T.alloc_buffer((4,), "int8")
                scratch[0] = T.int8(1)
                y[i] = scratch[0]

    return Mod


@pytest.mark.parametrize("loop", [T.parallel, T.vectorized, T.unroll, T.serial])
def test_loops_become_serial(loop):
    after = ConvertForLoopsToSerial()(program(loop))
    assert tirx.analysis.verify_well_formed(after)
    tvm.ir.assert_structural_equal(after, program(T.serial))
    assert set(buffers(after)) == {"scratch"}


def test_bounds_steps_and_annotations_stay():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(y: T.Buffer((16,), "int8")):
            for i in T.unroll(2, 8, step=3, annotations={"key": 1}):
                for j in T.parallel(2):
                    y[i + j] = T.int8(1)

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(y: T.Buffer((16,), "int8")):
            for i in T.serial(2, 8, step=3, annotations={"key": 1}):
                for j in range(2):
                    y[i + j] = T.int8(1)

    tvm.ir.assert_structural_equal(ConvertForLoopsToSerial()(Before), Expected)


def test_threads_stay():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(y: T.Buffer((4,), "int8")):
            for i in T.thread_binding(4, thread="threadIdx.x"):
                y[i] = T.int8(1)

    tvm.ir.assert_structural_equal(ConvertForLoopsToSerial()(Mod), Mod)


def test_the_pass_has_a_name():
    assert ConvertForLoopsToSerial().info.name == "usmp.ConvertForLoopsToSerial"
