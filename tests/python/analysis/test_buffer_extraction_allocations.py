"""Which allocations are planned, and with which size, alignment and place."""

import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import DATA, analyze, buffers, live
from usmp.objects import BufferInfoKind


def test_only_static_global_memory_is_planned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(n: T.int32):
            dynamic = T.alloc_buffer((n,), "int8")
            register = T.alloc_buffer((4,), "int8", scope="local")
            shared = T.alloc_buffer((4,), "int8", scope="shared")
            workspace = T.alloc_buffer((4,), "int8", scope="global.workspace")
            plain = T.alloc_buffer((4,), "int8")
            scalable = T.alloc_buffer((4,), "float32xvscalex4")  # noqa: F841
            dynamic[0] = T.int8(1)
            register[0] = T.int8(1)
            shared[0] = T.int8(1)
            workspace[0] = T.int8(1)
            plain[0] = T.int8(1)

    assert set(buffers(Mod)) == {"workspace", "plain"}


def test_what_parallel_iterations_hold_is_not_planned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            called = T.alloc_buffer((4,), "int8")
            called[0] = T.int8(1)
            A[0] = called[0]

        @T.prim_func
        def __tvm_main__():
            outside = T.alloc_buffer((4,), "int8")
            for i in T.parallel(4):
                inside = T.alloc_buffer((4,), "int8")
                inside[0] = T.int8(1)
                for j in range(4):
                    deeper = T.alloc_buffer((4,), "int8")
                    deeper[j] = inside[0]
                    outside[i] = deeper[j]
                Mod.op(outside)

    assert set(buffers(Mod)) == {"outside"}


def test_functions_that_main_does_not_reach_are_not_planned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def unreached():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            b = T.alloc_buffer((4,), "int8")
            b[0] = T.int8(1)

    assert set(buffers(Mod)) == {"b"}


def test_sizes():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            empty = T.alloc_buffer((0, 4), "int8")  # noqa: F841
            flags = T.alloc_buffer((5,), "bool")  # noqa: F841
            wide = T.alloc_buffer((3, 5), "float64")  # noqa: F841
            lanes = T.alloc_buffer((3,), "int8x4")  # noqa: F841
            strided = T.alloc_buffer((3, 4), "int16", strides=[10, 2])  # noqa: F841
            shifted = T.alloc_buffer((4,), "int16", elem_offset=8)  # noqa: F841
            T.evaluate(1)

    assert {name: info.size_bytes for name, info in buffers(Mod).items()} == {
        "empty": 0,
        "flags": 5,
        "wide": 120,
        "lanes": 12,
        "strided": (2 * 10 + 3 * 2 + 1) * 2,
        "shifted": (8 + 4) * 2,
    }


def test_alignments():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            byte = T.alloc_buffer((4,), "int8")  # noqa: F841
            double = T.alloc_buffer((4,), "float64")  # noqa: F841
            constant = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})  # noqa: F841
            T.evaluate(1)

    def alignments(options):
        return {name: info.alignment for name, info in buffers(Mod, options).items()}

    assert alignments(None) == {"byte": 16, "double": 16, "constant": 16}
    options = {"workspace-byte-alignment": 4, "constant-byte-alignment": 2}
    assert alignments(options) == {"byte": 4, "double": 8, "constant": 2}


def test_an_alignment_that_the_buffer_asks_for():
    """TVM writes 64 into every buffer, so 64 says nothing."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            usual = T.alloc_buffer((4,), "int8", align=64)  # noqa: F841
            small = T.alloc_buffer((4,), "int8", align=2)  # noqa: F841
            large = T.alloc_buffer((4,), "int8", align=128)  # noqa: F841
            odd = T.alloc_buffer((4,), "int8", align=72)  # noqa: F841
            lanes = T.alloc_buffer((2,), "int8x32")  # noqa: F841
            T.evaluate(1)

    assert {name: info.alignment for name, info in buffers(Mod).items()} == {
        "usual": 16,
        "small": 16,
        "large": 128,
        "odd": 144,
        "lanes": 32,
    }


def test_an_alignment_that_is_annotated():
    """Annotated alignments count from 1 on, and suit the elements and the executor too."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            small = T.alloc_buffer((4,), "int8", annotations={"alignment": 2})  # noqa: F841
            usual = T.alloc_buffer((4,), "int8", annotations={"alignment": 64})  # noqa: F841
            large = T.alloc_buffer((4,), "int8", align=128, annotations={"alignment": 32})  # noqa: F841
            T.evaluate(1)

    alignments = {name: info.alignment for name, info in buffers(Mod).items()}
    assert alignments == {"small": 16, "usual": 64, "large": 128}


@pytest.mark.parametrize("alignment", [0, -8, 24])
def test_an_annotated_alignment_that_is_none(alignment):
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"alignment": alignment})  # noqa: F841
            T.evaluate(1)

    with pytest.raises(ValueError) as error:
        analyze(Mod)
    assert str(error.value) == (
        f'the annotation "alignment" of buffer a must be a power of two (bytes), not {alignment}'
    )


def test_pinned_buffers():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            free = T.alloc_buffer((4,), "int8")  # noqa: F841
            pinned = T.alloc_buffer((4,), "int8", annotations={"fixed_offset": 64})  # noqa: F841
            T.evaluate(1)

    assert {name: info.fixed_offset for name, info in buffers(Mod).items()} == {
        "free": None,
        "pinned": 64,
    }


def test_a_pin_that_is_not_aligned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"fixed_offset": 8})  # noqa: F841
            T.evaluate(1)

    with pytest.raises(ValueError) as error:
        analyze(Mod)
    assert str(error.value) == (
        'fixed_offset of buffer "a" must be a multiple of its alignment, 16, but is 8'
    )


def test_live_throughout():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            state = T.alloc_buffer((4,), "int8", annotations={"live_throughout": True})
            x = T.alloc_buffer(
                (4,), "int8", annotations={"input_tensor": "x", "live_throughout": True}
            )
            y = T.alloc_buffer(
                (4,), "int8", annotations={"output_tensor": "y", "live_throughout": True}
            )
            other = T.alloc_buffer((4,), "int8", annotations={"live_throughout": False})
            T.evaluate(x[0])  # 0
            state[0] = state[0] + T.int8(1)  # 1
            y[0] = other[0]  # 2

    assert live(Mod) == {"state": [(0, 3)], "x": [(0, 3)], "y": [(0, 3)], "other": [(2, 3)]}


def test_state():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            state = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "h/0"})
            unused = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "c"})  # noqa: F841
            before = T.alloc_buffer((4,), "int8")
            after = T.alloc_buffer((4,), "int8")
            before[0] = T.int8(1)  # 0
            state[0] = state[0] + before[0]  # 1
            after[0] = T.int8(1)  # 2

    assert live(Mod) == {"h/0": [(0, 3)], "c": [(0, 3)], "before": [(0, 2)], "after": [(2, 3)]}
    kinds = {info.name_hint: info.kind for info in analyze(Mod).buffer_info_stmts}
    assert kinds == {
        "h/0": BufferInfoKind.STATE,
        "c": BufferInfoKind.STATE,
        "before": BufferInfoKind.INTERMEDIATE,
        "after": BufferInfoKind.INTERMEDIATE,
    }


def test_names_are_unique():
    first, second, third, taken = (
        tirx.decl_buffer((4,), "int8", name) for name in ("a", "a", "a", "a_1")
    )
    stores = [tirx.BufferStore(b, tirx.const(1, "int8"), [0]) for b in (first, second, third)]
    body = [*(tirx.AllocBuffer(b) for b in (first, taken, second, third)), *stores]
    func = tirx.PrimFunc([], tirx.SeqStmt(body))
    infos = analyze(tvm.IRModule({"__tvm_main__": func})).buffer_info_stmts
    assert [info.name_hint for info in infos] == ["a", "a_1", "a_2", "a_3"]
