"""Which statements of `__tvm_main__` must come before which, and what each uses."""

from __future__ import annotations

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.operator_programs import BRANCHES, network
from usmp.planning.operator_order.graph import GraphTensor, TensorUse
from usmp.planning.operator_order.least_peak import least_peak_order
from usmp.planning.operator_order.read_graph import operator_graph
from usmp.transform import CreateAllocatesForIO


def after(mod) -> list[tuple[int, ...]]:
    """The calls that come before each; the graph must have more than one order."""
    graph = operator_graph(mod, preserve_inputs=False, overlap=False)
    assert graph is not None
    return [call.after for call in graph.calls]


def test_tensors_and_what_uses_them():
    graph = operator_graph(BRANCHES, preserve_inputs=False, overlap=False)
    assert graph.tensors == (GraphTensor(64), GraphTensor(64), GraphTensor(16), GraphTensor(16))
    assert [call.after for call in graph.calls] == [(), (), (0,), (1,), (2, 3)]
    assert [[use.tensor for use in call.uses] for call in graph.calls] == [
        [0],
        [1],
        [0, 2],
        [1, 3],
        [2, 3],
    ]
    assert all(not call.reuse_bytes for call in graph.calls)


@pytest.mark.parametrize("preserve_inputs", [False, True])
def test_inputs_and_outputs_that_are_allocated_count(preserve_inputs):
    mod = CreateAllocatesForIO()(BRANCHES)
    graph = operator_graph(mod, preserve_inputs, overlap=False)
    assert graph.tensors == (
        GraphTensor(16, at_entry=True, at_exit=preserve_inputs),
        GraphTensor(16, at_exit=True),
        *(GraphTensor(64), GraphTensor(64), GraphTensor(16), GraphTensor(16)),
    )
    assert [[use.tensor for use in call.uses] for call in graph.calls] == [
        [0, 2],
        [0, 3],
        [2, 4],
        [3, 5],
        [1, 4, 5],
    ]


def test_bytes_that_may_be_shared():
    """The sum takes the place of either operand; one that lives on is no candidate."""
    graph = operator_graph(CreateAllocatesForIO()(BRANCHES), preserve_inputs=True, overlap=True)
    assert {pair: saved for pair, saved in graph.calls[4].reuse_bytes.items() if saved} == {
        **{(4, 1): 16, (5, 1): 16},
        **{pair: graph.calls[4].reuse_bytes[pair] for pair in [(1, 4), (1, 5), (4, 5), (5, 4)]},
    }


@pytest.mark.parametrize(
    ("overlap", "peak", "order"), [(False, 144, (0, 1, 2, 3, 4)), (True, 80, (0, 2, 1, 3, 4))]
)
def test_what_may_be_overwritten_decides_which_order_is_best(overlap, peak, order):
    """`step c e` works in place only if nothing reads c afterwards."""
    sizes = {"c": 64, "d": 16, "e": 64, "f": 16}
    calls = ["widen x c", "step c e", "narrow c d", "narrow e f", "add d f y"]
    graph = operator_graph(network("x y", sizes, calls), False, overlap)
    found = least_peak_order(graph)
    assert (found.peak_bytes, found.order) == (peak, order)


def test_scratch_counts_for_each_call_and_state_does_not():
    @I.ir_module
    class Scratch:
        @T.prim_func
        def twice(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
            s = T.alloc_buffer((32,), "int8")
            for i in range(8):
                s[i] = A[i]
            for i in range(8):
                B[i] = s[i]

        @T.prim_func
        def __tvm_main__(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
            a = T.alloc_buffer((8,), "int8")
            b = T.alloc_buffer((8,), "int8")
            k = T.alloc_buffer((8,), "int8", annotations={"state_tensor": "k"})
            Scratch.twice(x, a)
            Scratch.twice(x, b)
            for i in range(8):
                y[i] = a[i] + b[i] + k[i]

    graph = operator_graph(Scratch, preserve_inputs=False, overlap=False)
    assert graph.tensors == (GraphTensor(8), GraphTensor(8), GraphTensor(32), GraphTensor(32))
    read, written = graph.calls[0].uses[1], graph.calls[0].uses[0]
    # The scratch is live from the first loop on, the result from the second.
    assert (read.tensor, written.tensor) == (2, 0)
    assert read.first < written.first <= read.last
    assert graph.calls[2].uses == (TensorUse(0, 0, 1), TensorUse(1, 0, 1))


def test_a_chain_has_no_graph():
    chain = network("x y", {"a": 64}, ["widen x a", "narrow a y"])
    assert operator_graph(chain, preserve_inputs=False, overlap=False) is None


def test_what_is_overwritten_is_read_before():
    """c is written, read, and written again."""
    calls = ["widen x a", "narrow a c", "add c c y", "narrow a c", "add x x z"]
    mod = network("x y z", {"a": 64, "c": 16}, calls)
    assert after(mod) == [(), (0,), (1,), (0, 1, 2), ()]


def test_parts_of_one_tensor_count_by_themselves():
    """Both halves may be written in any order; who reads bytes of both waits for both."""
    calls = ["widen x low", "widen x high", "narrow low y", "add last last z"]
    views = {"low": "a 0", "high": "a 64", "last": "a 63"}
    mod = network("x y z", {"a": 128}, calls, views)
    assert after(mod) == [(), (), (0,), (0, 1)]


def test_a_pointer_that_is_not_known_may_point_anywhere():
    @I.ir_module
    class Main:
        @T.prim_func
        def fill(A: T.Buffer((16,), "int8")):
            for i in range(16):
                A[i] = T.int8(0)

        @T.prim_func
        def __tvm_main__(n: T.int32, y: T.Buffer((16,), "int8")):
            a = T.alloc_buffer((256,), "int8")
            somewhere = T.decl_buffer((16,), "int8", data=T.address_of(a[n]))
            other = T.decl_buffer((16,), "int8", data=T.address_of(a[192]))
            Main.fill(somewhere)
            Main.fill(y)
            Main.fill(other)

    assert after(Main) == [(), (), (0,)]


def test_loops_and_branches_are_statements_like_others():
    @I.ir_module
    class Main:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((16,), "int8"), y: T.Buffer((16,), "int8")):
            a = T.alloc_buffer((16,), "int8")
            b = T.alloc_buffer((16,), "int8")
            for i in range(16):
                a[i] = x[i]
            if x[0] == T.int8(0):
                b[0] = T.int8(1)
            else:
                b[1] = x[1]
            for i in range(16):
                y[i] = a[i]
            b[2] = x[2]

    assert after(Main) == [(), (), (0,), (1,)]


def test_unknown_functions_stay_in_order():
    """They may have effects that are not known; a pure function of C has none."""

    @I.ir_module
    class Main:
        @T.prim_func
        def sensor(B: T.Buffer((4,), "float32")):
            T.evaluate(T.call_extern("int32", "read_sensor", B.data))

        @T.prim_func
        def __tvm_main__(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            a = T.alloc_buffer((4,), "float32")
            b = T.alloc_buffer((4,), "float32")
            c = T.alloc_buffer((4,), "float32")
            Main.sensor(a)
            b[0] = T.exp(x[0])
            T.evaluate(T.call_extern("int32", "log_values", b.data))
            c[0] = T.call_pure_extern("float32", "sinf", x[0])
            Main.sensor(c)

    assert after(Main) == [(), (), (0, 1), (), (2, 3)]


def test_state_of_an_operator_keeps_its_calls_in_order():
    @I.ir_module
    class Main:
        @T.prim_func
        def count(B: T.Buffer((1,), "int8")):
            n = T.alloc_buffer((1,), "int8", annotations={"state_tensor": "n"})
            n[0] = n[0] + T.int8(1)
            B[0] = n[0]

        @T.prim_func
        def __tvm_main__(y: T.Buffer((1,), "int8"), z: T.Buffer((1,), "int8")):
            Main.count(y)
            z[0] = T.int8(0)
            Main.count(y)

    assert after(Main) == [(), (), (0,)]


def test_nothing_passes_what_may_end_the_run():
    @I.ir_module
    class Main:
        @T.prim_func
        def check(A: T.Buffer((1,), "int8")):
            assert A[0] > T.int8(0), "not positive"

        @T.prim_func
        def __tvm_main__(
            x: T.Buffer((1,), "int8"), y: T.Buffer((1,), "int8"), z: T.Buffer((1,), "int8")
        ) -> T.int32:
            y[0] = x[0]
            z[0] = x[0]
            if x[0] == T.int8(0):
                return 1
            y[0] = T.int8(3)
            z[0] = T.int8(4)
            Main.check(x)
            y[0] = T.int8(5)
            z[0] = T.int8(6)
            return 0

    assert after(Main) == [
        *((), (), (0, 1)),
        *((0, 2), (1, 2), (0, 1, 2, 3, 4)),
        *((3, 5), (4, 5), tuple(range(8))),
    ]


def test_numbers_are_no_memory():
    """Two calls that take the same number have nothing in common."""

    @I.ir_module
    class Main:
        @T.prim_func
        def fill(A: T.Buffer((4,), "int8"), n: T.int8):
            for i in range(4):
                A[i] = n

        @T.prim_func
        def __tvm_main__(n: T.int8, y: T.Buffer((4,), "int8"), z: T.Buffer((4,), "int8")):
            Main.fill(y, n)
            Main.fill(z, n)

    assert after(Main) == [(), ()]


@pytest.mark.parametrize("outer", ["by_pointer", "by_address"])
def test_what_a_callee_passes_on_may_be_used_as_a_whole(outer):
    """It declares 4 bytes, but `inner` writes 8 from there."""

    @I.ir_module
    class Main:
        @T.prim_func
        def inner(p: T.handle("int8")):
            P = T.decl_buffer((8,), "int8", data=p)
            for i in range(8):
                P[i] = T.int8(0)

        @T.prim_func
        def by_pointer(p: T.handle("int8")):
            P = T.decl_buffer((4,), "int8", data=p)
            Main.inner(P.data)

        @T.prim_func
        def by_address(p: T.handle("int8")):
            P = T.decl_buffer((4,), "int8", data=p)
            Main.inner(T.address_of(P[0]))

        @T.prim_func
        def __tvm_main__(x: T.Buffer((4,), "int8")):
            a = T.alloc_buffer((8,), "int8")
            low = T.decl_buffer((4,), "int8", data=a.data)
            high = T.decl_buffer((4,), "int8", data=T.address_of(a[4]))
            T.evaluate(T.call_extern("int32", outer, low.data))
            x[0] = T.int8(1)
            T.evaluate(T.call_extern("int32", outer, high.data))

    assert after(Main) == [(), (), (0,)]


@I.ir_module
class KeptPointer:
    @T.prim_func
    def __tvm_main__(p: T.handle, x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        a = T.alloc_buffer((4,), "int8")
        T.evaluate(T.tvm_struct_set(p, 0, 1, a.data))
        y[0] = x[0]
        y[1] = x[1]


@I.ir_module
class LoadedSize:
    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        n: T.let[T.int32] = x[0]
        y[0] = n
        y[1] = x[1]


@pytest.mark.parametrize("mod", [KeptPointer, LoadedSize])
def test_what_is_not_understood_has_no_graph(mod):
    assert operator_graph(mod, False, False) is None
