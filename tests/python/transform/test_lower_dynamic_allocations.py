"""Before and after: `lines` shows `T.call_extern("handle", "usmp_arena_allocate", arena, ...)` as
`allocate(...)`."""

import re

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

from support.dynamic_programs import Net, described, lowered
from usmp.objects.executor import Executor
from usmp.objects.symbolic_size import SymbolicSize
from usmp.tir.own_function import own_function
from usmp.transform import LowerDynamicAllocations


def lower(mod, **options):
    with PassContext(config={f"tir.usmp.{name}": value for name, value in options.items()}):
        after = LowerDynamicAllocations()(mod)
    assert tirx.analysis.verify_well_formed(after)
    return after


def lines(func):
    """Its statements as text, with short names of calls, and without types."""
    text = func.script(show_meta=False).partition("def ")[2].partition(":\n")[2]
    text = re.sub(r'T\.call_extern\((T.handle\(\).ty|"int32"), "usmp_arena_(\w+)", ', r"\2(", text)
    text = re.sub(r": T\.let\[T\.\w+\]", "", text).replace("(arena, ", "(")
    return [line[4:] for line in text.splitlines() if line and "func_attr" not in line]


def allocations(func):
    """What it allocates, uses and releases where nothing fails, in the order of the text."""
    found, skipped = [], None
    for line in lines(func):
        indent = len(line) - len(line.lstrip())
        if skipped is not None and indent > skipped:
            continue
        skipped = indent if line.lstrip().startswith(("if T.isnullptr", "if status")) else None
        if match := re.search(r"(\w+)_block = allocate\((\w+)_bytes", line):
            assert match[1] == match[2]
            found.append(f"+{match[1]}")
        elif match := re.search(r"release\((\w+)_block", line):
            found.append(f"-{match[1]}")
        elif match := re.search(r"(\w+) = T.decl_buffer\(.*data=(\w+)_block", line):
            found += [] if match[1] == match[2] else [f"{match[1]}={match[2]}"]
        elif match := re.search(r"(break|continue|return)", line):
            found.append(match[1])
    return found


@I.ir_module
class Copies:
    @T.prim_func(private=True)
    def copy(A: T.handle("int8"), B: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        b = T.decl_buffer((n,), "int8", data=B)
        for i in range(n):
            b[i] = a[i]

    @T.prim_func(private=True)
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n * 16,), "int32")
        b = T.alloc_buffer((n,), "int8", align=128)
        Copies.copy(x, a.data, n)
        Copies.copy(a.data, b.data, n)
        Copies.copy(b.data, y, n)


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


@I.ir_module
class Callers:
    @T.prim_func(private=True)
    def op(A: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        t = T.alloc_buffer((n,), "int8")
        for i in range(n):
            t[i] = a[i]
        for i in range(n):
            a[i] = t[n - 1 - i]

    @T.prim_func(private=True)
    def other(A: T.handle("int8"), n: T.int32):
        Callers.op(A, n)

    @T.prim_func(private=True)
    def plain(A: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        a[0] = T.int8(1)

    @T.prim_func(private=True)
    def __tvm_main__(x: T.handle("int8"), n: T.int32):
        Callers.other(x, n)
        a = T.alloc_buffer((n,), "int8")
        Callers.plain(a.data, n)
        T.evaluate(T.call_extern("int32", "other", a.data, n))


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


def main_of(body):
    """A module with a main function."""
    return IRModule({"__tvm_main__": body.with_attr("global_symbol", "__tvm_main__")})


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


def test_what_is_used_for_longer_lies_below():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32, m: T.int32):
        A = T.decl_buffer((n,), "int8", data=x)
        a = T.alloc_buffer((n,), "int8")
        b = T.alloc_buffer((m,), "int8")
        T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "both", a.data, b.data))
        A[0] = b[0]
        T.evaluate(T.call_extern("int32", "nothing"))

    after = lower(main_of(main))["__tvm_main__"]
    # Nothing uses the third one.
    assert allocations(after) == ["+b", "+a", "-a", "-b", "return"]


def test_an_address_that_is_kept_may_be_used_to_the_end():
    @T.prim_func
    def main(x: T.handle("int64"), n: T.int32):
        A = T.decl_buffer((n,), "int64", data=x)
        a = T.alloc_buffer((n,), "int8")
        A[0] = T.reinterpret("int64", a.data)
        A[1] = T.int64(1)
        b = T.alloc_buffer((n,), "int8")
        b[0] = T.int8(1)

    assert allocations(lower(main_of(main))["__tvm_main__"]) == ["+a", "+b", "-b", "-a", "return"]


def test_buffers_of_one_size_use_the_same_blocks():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32, m: T.int32):
        a = T.alloc_buffer((n * 4,), "int8")
        b = T.alloc_buffer((n * 8,), "int8")
        c = T.alloc_buffer((n * 2,), "int16")
        d = T.alloc_buffer((8 * n,), "int8")
        e = T.alloc_buffer((m * 4,), "int8")
        f = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        T.evaluate(T.call_extern("int32", "op", a.data, b.data))
        T.evaluate(T.call_extern("int32", "op", b.data, c.data))
        T.evaluate(T.call_extern("int32", "op", c.data, d.data))
        T.evaluate(T.call_extern("int32", "op", d.data, e.data))
        T.evaluate(T.call_extern("int32", "op", e.data, f.data))

    # c is as large as a; f fits into the blocks of both, of which that of a is the smaller one.
    assert allocations(lower(main_of(main))["__tvm_main__"]) == [
        *("+a", "+b", "c=a", "d=b", "+e", "f=a", "-e", "-b", "-a", "return")
    ]


def test_a_block_is_as_large_as_the_largest_buffer_in_it():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n,), "int8")
        b = T.alloc_buffer((n * 4,), "int8", align=256)
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        T.evaluate(T.call_extern("int32", "op", x, b.data))
        c = T.alloc_buffer((n * 8,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, c.data))

    after = lower(main_of(main))["__tvm_main__"]
    # The size of c is known only when the block is there.
    assert "b_block = allocate(b_bytes, 256)" in lines(after)
    assert allocations(after) == ["+b", "a=b", "-b", "+c", "-c", "return"]


def test_buffers_whose_sizes_cannot_be_compared_have_blocks_of_their_own():
    # Memory may hold another size at the time when the second of two is declared.
    @T.prim_func
    def of_other_sizes(x: T.handle("int32"), n: T.int32):
        counts = T.decl_buffer((2,), "int32", data=x)
        a = T.alloc_buffer((n + 1,), "int8")
        b = T.alloc_buffer((n,), "int8")
        c = T.alloc_buffer((counts[0],), "int8")
        d = T.alloc_buffer((counts[0],), "int8")
        T.evaluate(T.call_extern("int32", "op", a.data))
        T.evaluate(T.call_extern("int32", "op", b.data))
        T.evaluate(T.call_extern("int32", "op", c.data))
        T.evaluate(T.call_extern("int32", "op", d.data))

    assert allocations(lower(main_of(of_other_sizes))["__tvm_main__"]) == [
        *("+a", "-a", "+b", "-b", "+c", "-c", "+d", "-d", "return")
    ]


def test_a_block_of_n_elements_has_no_room_for_n_squared():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n * 32,), "int8")
        b = T.alloc_buffer((n * n * 4,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        T.evaluate(T.call_extern("int32", "op", x, b.data))

    after = lower(main_of(main))["__tvm_main__"]
    assert allocations(after) == ["+a", "-a", "+b", "-b", "return"]


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

    after = lower(main_of(main), dynamic_allocator="TVMBackendAllocWorkspace")
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


# ---- what is refused


@T.prim_func
def parallel(x: T.handle("int8"), n: T.int32):
    for _i in T.parallel(n):
        a = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))


@T.prim_func
def vectorized(x: T.handle("int8"), n: T.int32):
    for _i in T.vectorized(4):
        a = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))


@T.prim_func
def threads(x: T.handle("int8"), n: T.int32):
    for _i in T.thread_binding(4, thread="threadIdx.x"):
        a = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))


@T.prim_func
def strided(x: T.handle("int8"), n: T.int32):
    a = T.alloc_buffer((n,), "int8", strides=[n])
    T.evaluate(T.call_extern("int32", "op", x, a.data))


@T.prim_func
def shifted(x: T.handle("int8"), n: T.int32):
    a = T.alloc_buffer((T.shift_left(n, 2),), "int8")
    T.evaluate(T.call_extern("int32", "op", x, a.data))


@T.prim_func
def constant(x: T.handle("int8"), n: T.int32):
    a = T.alloc_buffer((n,), "int8", annotations={"constant_data": 0})
    T.evaluate(T.call_extern("int32", "op", x, a.data))


@T.prim_func
def returning(x: T.handle("int8"), n: T.int32) -> T.int8:
    a = T.alloc_buffer((n,), "int8")
    T.evaluate(T.call_extern("int32", "op", x, a.data))
    return a[0]


@T.prim_func
def huge_maximum(x: T.handle("int8"), n: T.int32):
    a = T.alloc_buffer((T.max(n * n * n, 1),), "int8")
    T.evaluate(T.call_extern("int32", "op", x, a.data))


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (parallel, "buffer a has a size that only the run knows, but loop _i may run several"),
        (vectorized, "buffer a has a size that only the run knows, but loop _i may run several"),
        (threads, "buffer a has a size that only the run knows, but loop _i may run several"),
        (strided, "__tvm_main__: buffer a, whose size only the run knows, has strides"),
        (shifted, "has an extent that cannot be computed without overflow: n << 2;"),
        (constant, "buffer a, whose size only the run knows, is a constant"),
        (returning, "__tvm_main__ returns int8, but it allocates memory of dynamic size"),
        (huge_maximum, "has a maximum or a remainder in its extent of what may leave"),
    ],
)
def test_what_is_refused(func, message):
    with pytest.raises(Exception, match=message):
        LowerDynamicAllocations()(main_of(func))


def with_main(main):
    """`Callers` with another main function."""
    mod = IRModule(Callers.functions)
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    return mod


def test_calls_in_expressions_and_in_parallel_loops_are_refused():
    n, x = tirx.Var("n", "int32"), tirx.Var("x", "handle")
    call = tirx.call_extern("int32", "op", x, n)
    value = tirx.PrimFunc([x, n], tirx.Bind(tirx.Var("v", "int32"), call))
    with pytest.raises(Exception, match="__tvm_main__ calls op in an expression, but op allocates"):
        LowerDynamicAllocations()(with_main(value))
    i = tirx.Var("i", "int32")
    loop = tirx.For(i, 0, n, tirx.ForKind.PARALLEL, tirx.Evaluate(call))
    with pytest.raises(Exception, match=r"op, which is called there, has a size .* but loop i may"):
        LowerDynamicAllocations()(with_main(tirx.PrimFunc([x, n], loop)))
    apart = tirx.PrimFunc([x, n], own_function("part", tirx.Evaluate(call)))
    with pytest.raises(Exception, match=r"statement with usmp\.own_function may run"):
        LowerDynamicAllocations()(with_main(apart))


def test_a_function_with_the_name_of_the_allocator():
    mod = IRModule(Callers.functions)
    mod["usmp_arena_allocate"] = Callers["plain"]
    with pytest.raises(Exception, match="usmp_arena_allocate allocates memory of dynamic size, so"):
        LowerDynamicAllocations()(mod)


def test_an_unknown_allocator():
    with pytest.raises(Exception, match='unknown allocator "malloc" in tir'):
        lower(Copies, dynamic_allocator="malloc")


def test_an_alignment_that_tvms_runtime_does_not_give():
    with pytest.raises(Exception, match="b must be aligned to 128 bytes, but what TVM's runtime"):
        lower(Copies, dynamic_allocator="TVMBackendAllocWorkspace")


@pytest.mark.parametrize(
    ("mod", "message"),
    [
        (described(Net, "llvm"), "code for target llvm allocates nothing while it runs"),
        (
            described(Net).with_attr("board", "mps2-an385"),
            "programs for boards give runs no",
        ),
        (
            described(Net).with_attr("executor", Executor("aot", {"interface-api": "packed"})),
            "the packed interface passes no arena: use --executor-aot-interface-api=c, or bounds",
        ),
    ],
    ids=["llvm", "board", "packed"],
)
def test_where_there_is_no_arena(mod, message):
    with pytest.raises(Exception, match=message) as error:
        LowerDynamicAllocations()(mod)
    assert "the size of a in __tvm_main__ (n bytes) is not bounded" in str(error.value)


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
