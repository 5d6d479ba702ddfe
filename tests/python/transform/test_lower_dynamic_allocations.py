"""Before and after: `lines` shows `T.call_extern("handle", "usmp_arena_allocate", arena, ...)` as
`allocate(...)`."""

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.dynamic_programs import Net, described, lowered
from support.lowered_allocations import Callers, Copies, allocations, lines, lower, main_of
from usmp.objects.symbolic_size import SymbolicSize


def test_allocations_become_calls_in_the_order_of_a_stack():
    @I.ir_module
    class CopiesInAnArena:
        @T.prim_func(private=True)
        def copy(A: T.handle("int8"), B: T.handle("int8"), n: T.int32):
            a = T.decl_buffer((n,), "int8", data=A)
            b = T.decl_buffer((n,), "int8", data=B)
            for i in range(n):
                b[i] = a[i]

        @T.prim_func(private=True)
        def __tvm_main__(
            x: T.handle("int8"), y: T.handle("int8"), n: T.int32, arena: T.handle
        ) -> T.int32:
            T.func_attr({"takes_arena": True})
            a_elements: T.let[T.int64] = T.Cast("int64", n) * T.int64(16)
            a_bytes: T.let[T.int64] = T.if_then_else(
                a_elements <= T.int64(2147483647), a_elements * T.int64(4), T.int64(-1)
            )
            b_bytes: T.let[T.int64] = T.Cast("int64", n)
            a_block: T.let[T.handle] = T.call_extern(
                "handle", "usmp_arena_allocate", arena, a_bytes, 16
            )
            if T.isnullptr(a_block):
                return -3
            a = T.decl_buffer((n * 16,), "int32", data=a_block)
            CopiesInAnArena.copy(x, a.data, n)
            b_block: T.let[T.handle] = T.call_extern(
                "handle", "usmp_arena_allocate", arena, b_bytes, 128
            )
            if T.isnullptr(b_block):
                T.call_extern("int32", "usmp_arena_release", arena, a_block)
                return -3
            b = T.decl_buffer((n,), "int8", data=b_block, align=128)
            CopiesInAnArena.copy(a.data, b.data, n)
            CopiesInAnArena.copy(b.data, y, n)
            T.call_extern("int32", "usmp_arena_release", arena, b_block)
            T.call_extern("int32", "usmp_arena_release", arena, a_block)
            return 0

    after = lower(Copies)
    tvm.ir.assert_structural_equal(IRModule(after.functions), CopiesInAnArena)
    assert after.attrs["dynamic_allocator"] == "arena"
    assert [(a.name, a.function, a.size) for a in after.attrs["dynamic_allocations"]] == [
        ("a", "__tvm_main__", "4 * n * 16"),
        ("b", "__tvm_main__", "n"),
    ]


def test_a_module_without_dynamic_allocations_is_returned_as_it_is():
    @I.ir_module
    class Static:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), n: T.int32):
            a = T.alloc_buffer((16,), "int8")
            t = T.alloc_buffer((n,), "int8", scope="local")
            a[0] = t[0]

    assert lower(Static).same_as(Static)


def test_callers_look_at_the_status_and_release_what_they_have():
    after = lower(Callers)
    tvm.ir.assert_structural_equal(after["plain"], Callers["plain"])
    assert lines(after["other"]) == [
        "status = op(A, n, arena)",
        "if status != 0:",
        "    return status",
        "return 0",
    ]
    assert lines(after["__tvm_main__"]) == [
        "status = other(x, n, arena)",
        "if status != 0:",
        "    return status",
        'a_bytes = T.Cast("int64", n)',
        "a_block = allocate(a_bytes, 16)",
        "if T.isnullptr(a_block):",
        "    return -3",
        'a = T.decl_buffer((n,), "int8", data=a_block)',
        "plain(a.data, n)",
        'status_1 = T.call_extern("int32", "other", a.data, n, arena)',
        "if status_1 != 0:",
        "    release(a_block)",
        "    return status_1",
        "release(a_block)",
        "return 0",
    ]


def test_the_arena_comes_before_the_pools():
    main = lowered(described(Net))["__tvm_main__"]
    assert [p.name for p in main.params] == ["x", "count", "y", "arena", "global_workspace_0_var"]


def test_what_a_loop_allocates_each_iteration_releases():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        A = T.decl_buffer((n,), "int8", data=x)
        outer = T.alloc_buffer((n,), "int16")
        outer[0] = T.int16(1)
        for i in range(n):
            a = T.alloc_buffer((i,), "int8")
            a[0] = A[i]
            if A[i] == T.int8(1):
                b = T.alloc_buffer((n,), "int8")
                b[0] = a[0]
                continue
            if A[i] == T.int8(2):
                break
            A[i] = a[0]
        A[0] = T.Cast("int8", outer[0])

    assert allocations(lower(main_of(main))["__tvm_main__"]) == [
        *("+outer", "+a", "+b", "-b", "-a", "continue", "-a", "break", "-a", "-outer", "return")
    ]


def test_a_return_releases_everything_and_computes_its_value_before():
    @T.prim_func
    def main(x: T.handle("int32"), n: T.int32) -> T.int32:
        A = T.decl_buffer((n,), "int32", data=x)
        a = T.alloc_buffer((n,), "int32")
        a[0] = A[0]
        while A[0] > 0:
            b = T.alloc_buffer((n + 1,), "int32")
            b[0] = A[0]
            if b[0] == 7:
                return 7
            A[0] = b[0] - 1
        return a[0]

    after = lower(main_of(main))["__tvm_main__"]
    assert allocations(after) == ["+a", "+b", "-b", "-a", "return", "-b", "-a", "return"]
    assert lines(after)[-3:] == ["result = a[0]", "release(a_block)", "return result"]


def test_a_size_that_may_leave_64_bits_is_computed_by_functions_that_say_so():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32, m: T.int32):
        a = T.alloc_buffer((n * m * n + 1,), "int8")
        b = T.alloc_buffer((T.max((n + 3) // 4 - m % 8, 1),), "int8")
        T.evaluate(T.call_extern("int32", "op", a.data, b.data))

    text = lines(lower(main_of(main))["__tvm_main__"])
    product = 'T.Cast("int64", n) * T.Cast("int64", m)'
    assert text[:3] == [
        'a_elements = T.call_pure_extern("int64", "tvmgen_size_add", '
        f'T.call_pure_extern("int64", "tvmgen_size_multiply", {product}, T.Cast("int64", n)), '
        "T.int64(1))",
        "a_bytes = T.if_then_else(a_elements <= T.int64(2147483647), a_elements, T.int64(-1))",
        'b_bytes = T.max((T.Cast("int64", n) + T.int64(3)) // T.int64(4) '
        '- T.Cast("int64", m) % T.int64(8), T.int64(1))',
    ]


def test_tvms_functions():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n,), "float32")
        T.evaluate(T.call_extern("int32", "op", x, a.data))

    after = lower(main_of(main), dynamic="TVMBackendAllocWorkspace")
    assert after.attrs["dynamic_allocator"] == "TVMBackendAllocWorkspace"
    assert lines(after["__tvm_main__"]) == [
        'a_bytes = T.Cast("int64", n) * T.int64(4)',
        "if a_bytes < T.int64(0):",
        "    return -3",
        'a_block = T.call_extern(T.handle().ty, "TVMBackendAllocWorkspace", 1, 0, '
        'T.Cast("uint64", a_bytes), 2, 32)',
        "if T.isnullptr(a_block):",
        "    return -3",
        "a = T.decl_buffer((n,), data=a_block)",
        'T.call_extern("int32", "op", x, a.data)',
        'T.call_extern("int32", "TVMBackendFreeWorkspace", 1, 0, a_block)',
        "return 0",
    ]
    assert [p.name for p in after["__tvm_main__"].params] == ["x", "n"]


def test_poison():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        b = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, b.data))

    poisoned = lowered(described_main(main), poison=True)["__tvm_main__"]
    fill = ["for poisoned in range(a_bytes):", "    a_block_poisoned[poisoned] = T.uint8(165)"]
    assert lines(poisoned) == [
        'a_bytes = T.Cast("int64", n)',
        "a_block = allocate(a_bytes, 16)",
        "if T.isnullptr(a_block):",
        "    return -3",
        'a_block_poisoned = T.decl_buffer((a_bytes,), "uint8", data=a_block)',
        'a = T.decl_buffer((n,), "int8", data=a_block)',
        *fill,
        'T.call_extern("int32", "op", x, a.data)',
        'b = T.decl_buffer((n,), "int8", data=a_block)',
        *fill,
        'T.call_extern("int32", "op", x, b.data)',
        *fill,
        "release(a_block)",
        "return 0",
    ]


def described_main(func):
    """A module of one function with its target."""
    return tirx.transform.BindTarget(tvm.target.Target("c"))(main_of(func))


def test_the_reason_names_the_sizes_without_bound():
    @T.prim_func
    def sized(x: T.handle("int32"), n: T.int32, m: T.int32):
        counts = T.decl_buffer((1,), "int32", data=x)
        k: T.let[T.int32] = counts[0]
        a = T.alloc_buffer((n * m * 2,), "int8")
        b = T.alloc_buffer((k,), "int8")
        c = T.alloc_buffer((counts[0],), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data, b.data, c.data))

    sizes = [SymbolicSize("n", 1, 8), SymbolicSize("m", 1, None)]
    mod = main_of(sized.with_attr("symbolic_sizes", sizes))
    reasons = {a.name: a.why for a in lower(mod).attrs["dynamic_allocations"]}
    assert reasons == {
        "a": "m has no upper bound; give --max m=N to plan it",
        "b": "it depends on k, which only the run knows",
        "c": "it depends on what memory holds during the run",
    }
