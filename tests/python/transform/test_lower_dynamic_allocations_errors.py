"""Which allocations whose size only the run knows are refused, and with which message."""

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import tirx as T

from support.dynamic_programs import Net, described
from support.lowered_allocations import Callers, Copies, lower, main_of
from usmp.objects.arguments.executor import Executor
from usmp.tir.own_function import own_function
from usmp.transform import LowerDynamicAllocations


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
    with pytest.raises(Exception, match='unknown word "malloc" in tir'):
        lower(Copies, dynamic="malloc")


def test_an_alignment_that_tvms_runtime_does_not_give():
    with pytest.raises(Exception, match="b must be aligned to 128 bytes, but what TVM's runtime"):
        lower(Copies, dynamic="TVMBackendAllocWorkspace")


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
