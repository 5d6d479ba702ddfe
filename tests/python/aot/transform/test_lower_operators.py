"""Operator PrimFuncs become flat loops over typed pointers."""

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import IRModule, PointerType
from tvm.script import tirx as T

from usmp.aot.transform.lower_operators import LowerOperators
from usmp.aot.transform.pass_buffers_as_pointers import pass_buffers_as_pointers
from usmp.planning.session import planning_session
from usmp.tir.nodes import nodes_of


def lower(func):
    return LowerOperators()(IRModule({"f": func}))["f"]


def test_blocks_become_flat_loops_over_pointers():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4, 8), "int8"), B: T.Buffer((4, 8), "int8")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.int8(1)

    @T.prim_func(s_tir=True, private=True)
    def after(A: T.handle("int8"), B: T.handle("int8")):
        A_1 = T.decl_buffer((32,), "int8", data=A)
        B_1 = T.decl_buffer((32,), "int8", data=B)
        for i, j in T.grid(4, 8):
            B_1[i * 8 + j] = A_1[i * 8 + j] + T.int8(1)

    tvm.ir.assert_structural_equal(lower(before), after)


def test_no_pointer_is_promised_to_be_the_only_one():
    @T.prim_func(s_tir=True)
    def before(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        T.func_attr({"tirx.noalias": True, "op_pattern": 0})
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]

    attrs = lower(before).attrs
    assert "tirx.noalias" not in attrs
    assert attrs["op_pattern"] == 0
    assert attrs["global_symbol"] == "before"


def test_buffers_shrink_to_what_is_accessed():
    @T.prim_func(s_tir=True, private=True)
    def in_block(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for i in range(4):
            with T.sblock("outer"):
                vi = T.axis.spatial(4, i)
                C = T.sblock_alloc_buffer((4,), "int8")
                with T.sblock("producer"):
                    C[vi] = A[vi] + T.int8(1)
                with T.sblock("consumer"):
                    B[vi] = C[vi] + T.int8(1)

    def kernel(last):
        @T.prim_func(s_tir=True, private=True)
        def func(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            for i in range(4):
                C = T.alloc_buffer((4,), "int8")
                C[0] = A[i] + T.int8(1)
                C[last] = C[0] + T.int8(1)
                B[i] = C[last]

        return func

    def size(func):
        (allocation,) = nodes_of(lower(func).body, tirx.AllocBuffer)
        return int(allocation.buffer.shape[0])

    assert [size(func) for func in (in_block, kernel(2), kernel(3))] == [1, 3, 4]


def test_a_parameter_that_is_not_used_is_still_a_pointer():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "float32")):
        B[0] = T.float32(1)

    func = lower(before)
    assert [type(param.ty) for param in func.params] == [PointerType, PointerType]
    assert [str(param.ty.element_type.dtype) for param in func.params] == ["int8", "float32"]
    assert [str(s.buffer.name) for s in func.body.seq if isinstance(s, tirx.DeclBuffer)] == ["B"]


def test_a_number_stays_a_number():
    @T.prim_func(private=True)
    def before(A: T.Buffer((4,), "int8"), n: T.int32):
        A[n] = T.int8(1)

    func = pass_buffers_as_pointers(before)
    assert str(func.params[1].ty) == "int32"


def test_a_buffer_inside_a_loop_is_as_small_as_its_use():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        row = T.sblock_alloc_buffer((4, 8))
        for i in range(4):
            for j in range(8):
                with T.sblock("row"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    row[vi, vj] = A[vi, vj] * T.float32(2)
            for j in range(8):
                with T.sblock("b"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = row[vi, 7 - vj]

    allocations = []
    tvm_ffi.structural_walk(lower(before).body, (tirx.AllocBuffer, allocations.append))
    assert [[int(e) for e in a.buffer.shape] for a in allocations] == [[8]]


def test_operators_of_a_session_are_one_if_what_they_become_is_the_same():
    """Which also depends on the constants that main passes: sums of small ones need no care."""

    @T.prim_func(s_tir=True, private=True)
    def doubled(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + A[vi]

    def lowered(greatest):
        builder = relax.BlockBuilder()
        variable = builder.add_func(doubled, "doubled")
        with builder.function("main", []):
            constant = relax.const(np.full(4, greatest, "int32"))
            output = relax.TensorType((4,), "int32")
            builder.emit_func_output(builder.emit(relax.call_tir(variable, [constant], output)))
        return LowerOperators()(builder.get())

    alone = [lowered(greatest)["doubled"] for greatest in (1, 2**31 - 1)]
    assert not tvm_ffi.structural_equal(*alone)
    with planning_session() as session:
        mods = [session.with_known_functions(lowered(greatest)) for greatest in (1, 2**31 - 1, 2)]
    small, large, again = (mod["doubled"] for mod in mods)
    assert small.same_as(again)
    for func, expected in zip((small, large), alone, strict=True):
        tvm.ir.assert_structural_equal(func, expected)
