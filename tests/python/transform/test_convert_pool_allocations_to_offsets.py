import pytest
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.pool_conversion import assert_becomes, convert, pool_args
from usmp.objects import WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import POOL_ARGS_ATTR
from usmp.transform import ConvertPoolAllocationsToOffsets

FAST = WorkspacePoolInfo("fast", ["c"])
SLOW = WorkspacePoolInfo("slow", ["c"])


def test_an_allocation_becomes_a_view_of_a_pool():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            X = T.decl_buffer((4,), "int8", data=x)
            a = T.alloc_buffer((4,), "int32")
            a[0] = T.cast(X[0], "int32")

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), fast_0_var: T.handle("uint8")):
            pool = T.decl_buffer((48,), "uint8", data=fast_0_var, align=16)
            X = T.decl_buffer((4,), "int8", data=x)
            a = T.decl_buffer((4,), "int32", data=T.address_of(pool[32]))
            a[0] = T.cast(X[0], "int32")

    assert_becomes(Before, {"a": (FAST, 32)}, Expected)


def test_names_of_parameters_and_buffers():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            a[0] = b[0]

    main = convert(Before, {"a": (SLOW, 0), "b": (FAST, 0)})["__tvm_main__"]
    assert [param.name for param in main.params] == ["fast_0_var", "slow_1_var"]
    names = [stmt.buffer.name for stmt in main.body.seq[:4]]
    assert names == ["fast_0_buffer_var", "slow_1_buffer_var", "a", "b"]


def test_calls_pass_the_pools_that_the_callee_takes():
    @I.ir_module
    class Before:
        @T.prim_func
        def uses_both(a: T.handle("int8")):
            p = T.alloc_buffer((4,), "int8")
            q = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", a, p.data, q.data))

        @T.prim_func
        def uses_slow(a: T.handle("int8")):
            r = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", a, r.data))

        @T.prim_func
        def uses_none(a: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "f", a))

        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            Before.uses_both(x)
            Before.uses_slow(x)
            Before.uses_none(x)

    @I.ir_module
    class Expected:
        @T.prim_func
        def uses_both(a: T.handle("int8"), fast: T.handle("uint8"), slow: T.handle("uint8")):
            fast_pool = T.decl_buffer((4,), "uint8", data=fast, align=16)
            slow_pool = T.decl_buffer((12,), "uint8", data=slow, align=16)
            p = T.decl_buffer((4,), "int8", data=T.address_of(slow_pool[8]))
            q = T.decl_buffer((4,), "int8", data=T.address_of(fast_pool[0]))
            T.evaluate(T.call_extern("int32", "f", a, p.data, q.data))

        @T.prim_func
        def uses_slow(a: T.handle("int8"), slow: T.handle("uint8")):
            slow_pool = T.decl_buffer((12,), "uint8", data=slow, align=16)
            r = T.decl_buffer((4,), "int8", data=T.address_of(slow_pool[4]))
            T.evaluate(T.call_extern("int32", "f", a, r.data))

        @T.prim_func
        def uses_none(a: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "f", a))

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), fast: T.handle("uint8"), slow: T.handle("uint8")):
            fast_pool = T.decl_buffer((4,), "uint8", data=fast, align=16)  # noqa: F841
            slow_pool = T.decl_buffer((12,), "uint8", data=slow, align=16)  # noqa: F841
            Expected.uses_both(x, fast, slow)
            Expected.uses_slow(x, slow)
            Expected.uses_none(x)

    places = {"p": (SLOW, 8), "q": (FAST, 0), "r": (SLOW, 4)}
    assert_becomes(Before, places, Expected)
    after = convert(Before, places)
    assert pool_args(after) == [("fast", 4, 0), ("slow", 12, 1)]
    assert {v.name_hint: pool_args(func) for v, func in after.functions.items()} == {
        "uses_both": [("fast", 4, 0), ("slow", 12, 1)],
        "uses_slow": [("slow", 12, 1)],
        "uses_none": [],
        "__tvm_main__": [("fast", 4, 0), ("slow", 12, 1)],
    }


def test_nested_calls():
    @I.ir_module
    class Before:
        @T.prim_func
        def inner(a: T.handle("int8")) -> T.int32:
            p = T.alloc_buffer((4,), "int8")
            return T.call_extern("int32", "f", a, p.data)

        @T.prim_func
        def outer(a: T.handle("int8"), n: T.int32) -> T.int32:
            return Before.inner(a) + n

        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            T.evaluate(Before.outer(x, Before.outer(x, 1)))

    @I.ir_module
    class Expected:
        @T.prim_func
        def inner(a: T.handle("int8"), fast: T.handle("uint8")) -> T.int32:
            pool = T.decl_buffer((4,), "uint8", data=fast, align=16)
            p = T.decl_buffer((4,), "int8", data=T.address_of(pool[0]))
            return T.call_extern("int32", "f", a, p.data)

        @T.prim_func
        def outer(a: T.handle("int8"), n: T.int32, fast: T.handle("uint8")) -> T.int32:
            pool = T.decl_buffer((4,), "uint8", data=fast, align=16)  # noqa: F841
            return Expected.inner(a, fast) + n

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), fast: T.handle("uint8")):
            pool = T.decl_buffer((4,), "uint8", data=fast, align=16)  # noqa: F841
            T.evaluate(Expected.outer(x, Expected.outer(x, 1, fast), fast))

    assert_becomes(Before, {"p": (FAST, 0)}, Expected)


def test_calls_by_name():
    @I.ir_module
    class Before:
        @T.prim_func
        def op(a: T.handle("int8")):
            p = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", a, p.data))

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), handle: T.handle):
            T.evaluate(T.call_extern("int32", "op", x))
            T.evaluate(T.call_pure_extern("int32", "op", x))
            T.evaluate(T.tvm_call_cpacked("op", x))
            T.evaluate(T.tvm_call_packed("op", x))
            T.evaluate(T.tvm_call_cpacked("op", x, handle))

    @I.ir_module
    class Expected:
        @T.prim_func
        def op(a: T.handle("int8"), fast: T.handle("uint8")):
            pool = T.decl_buffer((4,), "uint8", data=fast, align=16)
            p = T.decl_buffer((4,), "int8", data=T.address_of(pool[0]))
            T.evaluate(T.call_extern("int32", "f", a, p.data))

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), handle: T.handle, fast: T.handle("uint8")):
            pool = T.decl_buffer((4,), "uint8", data=fast, align=16)  # noqa: F841
            T.evaluate(T.call_extern("int32", "op", x, fast))
            T.evaluate(T.call_pure_extern("int32", "op", x, fast))
            T.evaluate(T.tvm_call_cpacked("op", x, fast))
            T.evaluate(T.tvm_call_packed("op", x, fast))
            T.evaluate(T.tvm_call_cpacked("op", x, fast, handle))

    assert_becomes(Before, {"p": (FAST, 0)}, Expected)


def test_functions_that_main_does_not_reach_pass_the_pools_too():
    @I.ir_module
    class Before:
        @T.prim_func
        def op(a: T.handle("int8")):
            p = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", a, p.data))

        @T.prim_func
        def even(a: T.handle("int8")):
            Before.odd(a)
            Before.op(a)

        @T.prim_func
        def odd(a: T.handle("int8")):
            Before.even(a)

        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            Before.op(x)

    after = convert(Before, {"p": (FAST, 0)})
    assert tirx.analysis.verify_well_formed(after)
    assert {v.name_hint: len(f.params) for v, f in after.functions.items()} == {
        "op": 2,
        "even": 2,
        "odd": 2,
        "__tvm_main__": 2,
    }


def test_what_has_no_place_stays():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", scope="local")
            a[0] = T.int8(1)

    assert_becomes(Before, {}, Before)


def test_allocations_in_loops_and_branches():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(n: T.int32):
            for i in range(4):
                a = T.alloc_buffer((4,), "int8")
                a[i] = T.int8(1)
                if i < n:
                    b = T.alloc_buffer((4,), "int8")
                    b[i] = a[i]

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(n: T.int32, fast: T.handle("uint8")):
            pool = T.decl_buffer((20,), "uint8", data=fast, align=16)
            for i in range(4):
                a = T.decl_buffer((4,), "int8", data=T.address_of(pool[16]))
                a[i] = T.int8(1)
                if i < n:
                    b = T.decl_buffer((4,), "int8", data=T.address_of(pool[0]))
                    b[i] = a[i]

    assert_becomes(Before, {"a": (FAST, 16), "b": (FAST, 0)}, Expected)


def test_views_addresses_and_pointers_follow():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            view = T.decl_buffer((1,), "int32", data=a.data)
            p: T.let[T.handle("int8")] = T.address_of(a[1])
            view[0] = 1
            T.evaluate(T.call_extern("int32", "f", p))
            access = T.tvm_access_ptr(T.type_annotation("int8"), a.data, 0, 4, 3)
            T.evaluate(T.call_extern("int32", "f", access))

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(fast: T.handle("uint8")):
            pool = T.decl_buffer((4,), "uint8", data=fast, align=16)
            a = T.decl_buffer((4,), "int8", data=T.address_of(pool[0]))
            view = T.decl_buffer((1,), "int32", data=a.data)
            p: T.let[T.handle("int8")] = T.address_of(a[1])
            view[0] = 1
            T.evaluate(T.call_extern("int32", "f", p))
            access = T.tvm_access_ptr(T.type_annotation("int8"), a.data, 0, 4, 3)
            T.evaluate(T.call_extern("int32", "f", access))

    assert_becomes(Before, {"a": (FAST, 0)}, Expected)


def test_allocated_size_is_the_highest_end():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            low = T.alloc_buffer((40,), "int8")
            high = T.alloc_buffer((3,), "int16")
            low[0] = T.int8(1)
            high[0] = T.int16(1)

    after = convert(Before, {"low": (FAST, 0), "high": (FAST, 36)})
    assert pool_args(after) == [("fast", 42, 0)]


def test_other_attributes_stay():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"mine": 1})
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

    after = convert(Before.with_attr("ours", 2), {"a": (FAST, 0)})
    assert after.attrs["ours"] == 2
    assert after["__tvm_main__"].attrs["mine"] == 1


def test_the_pass_has_a_name():
    assert ConvertPoolAllocationsToOffsets({}).info.name == "usmp.ConvertPoolAllocationsToOffsets"


def test_a_pool_is_aligned_as_its_most_demanding_buffer():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8", align=128)
            c = T.alloc_buffer((1,), "int8x32")
            b[0] = a[0]
            T.evaluate(T.call_extern("int32", "f", c.data))

    after = convert(Before, {"a": (FAST, 0), "b": (SLOW, 0), "c": (FAST, 32)})
    assert {arg.pool_info.pool_name: arg.alignment for arg in after.attrs[POOL_ARGS_ATTR.name]} == {
        "fast": 32,
        "slow": 128,
    }
    pools = after["__tvm_main__"].body.seq[:2]
    assert [int(pool.buffer.data_alignment) for pool in pools] == [32, 128]


@pytest.mark.parametrize("offset", [0, 2**31, 2**40])
def test_large_offsets(offset):
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

    main = convert(Before, {"a": (FAST, offset)})["__tvm_main__"]
    (index,) = main.body.seq[1].data.args[0].indices
    assert int(index) == offset
    assert str(index.ty.dtype) == ("int32" if offset < 2**31 else "int64")
