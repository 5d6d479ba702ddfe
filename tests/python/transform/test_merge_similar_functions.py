"""MergeSimilarFunctions: what becomes one function, what its parameters are, what stays apart."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir import Call, IRModule, TupleType
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.tir.nodes import sequence
from usmp.transform import MergeSimilarFunctions


@I.ir_module
class Scaled:
    """Two functions with loops of 4 and of 6 rows, and one that does something else."""

    @T.prim_func(private=True)
    def four(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": T.target("c"), "schedule": {"tile": "1 pixel"}})
        a = T.decl_buffer((32,), "int8", data=p)
        b = T.decl_buffer((32,), "int8", data=q)
        for y in range(4):
            for x in range(8):
                b[y * 8 + x] = a[y * 8 + x] + T.int8(1)
        for y in range(4):
            b[y * 8 + 5] = b[y * 8 + 6] + b[y * 8 + 7] + b[y * 8 + 4] + b[y * 8 + 3]

    @T.prim_func(private=True)
    def six(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": T.target("c"), "schedule": {"tile": "2 pixels"}})
        a = T.decl_buffer((96,), "int8", data=p)
        b = T.decl_buffer((96,), "int8", data=q)
        for y in range(6):
            for x in range(16):
                b[y * 16 + x] = a[y * 16 + x] + T.int8(1)
        for y in range(6):
            b[y * 16 + 13] = b[y * 16 + 14] + b[y * 16 + 15] + b[y * 16 + 4] + b[y * 16 + 11]

    @T.prim_func(private=True)
    def other(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        a = T.decl_buffer((32,), "int8", data=p)
        b = T.decl_buffer((32,), "int8", data=q)
        for y in range(4):
            for x in range(8):
                b[y * 8 + x] = a[y * 8 + x] - T.int8(1)

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        Scaled.four(x, y)
        Scaled.six(x, y)
        Scaled.other(x, y)


def names(mod):
    return {str(variable.name_hint) for variable in mod.functions}


def test_one_function_takes_what_differs():
    @I.ir_module
    class Shared:
        """What becomes of it."""

        @T.prim_func(private=True)
        def six_shared(p: T.handle("int8"), q: T.handle("int8"), rows: T.int32, column: T.int32):
            T.func_attr({"merged_functions": ["six", "four"], "target": T.target("c")})
            a = T.decl_buffer((96,), "int8", data=p)
            b = T.decl_buffer((96,), "int8", data=q)
            for y in range(rows):
                for x in range(column + 5):
                    b[y * (column + 5) + x] = a[y * (column + 5) + x] + T.int8(1)
            for y in range(rows):
                b[y * (column + 5) + (column + 2)] = (
                    b[y * (column + 5) + (column + 3)]
                    + b[y * (column + 5) + (column + 4)]
                    + b[y * (column + 5) + 4]
                    + b[y * (column + 5) + column]
                )

        @T.prim_func(private=True)
        def six(p: T.handle("int8"), q: T.handle("int8")):
            T.func_attr(
                {
                    "target": T.target("c"),
                    "schedule": {"tile": "2 pixels"},
                    "shared_function": "six_shared",
                }
            )
            Shared.six_shared(p, q, 6, 11)

        @T.prim_func(private=True)
        def four(p: T.handle("int8"), q: T.handle("int8")):
            T.func_attr(
                {
                    "target": T.target("c"),
                    "schedule": {"tile": "1 pixel"},
                    "shared_function": "six_shared",
                }
            )
            Shared.six_shared(p, q, 4, 3)

    merged = MergeSimilarFunctions()(Scaled)
    assert names(merged) == {"__tvm_main__", "four", "six", "other", "six_shared"}
    for name in ("__tvm_main__", "other"):
        tvm.ir.assert_structural_equal(merged[name], Scaled[name])
    tvm.ir.assert_structural_equal(merged["six_shared"], Shared["six_shared"])
    for name in ("six", "four"):
        tvm.ir.assert_structural_equal(
            IRModule({v: merged[v.name_hint] for v in merged.functions if v.name_hint == name}),
            IRModule({v: Shared[v.name_hint] for v in Shared.functions if v.name_hint == name}),
            map_free_vars=True,
        )
    assert merged.attrs["code"] == "small"


@pytest.mark.slow
def test_rarely_used_functions_only():
    """Those of 4, 5 and 6 iterations have 2 % of the accesses."""
    mod = operators(stores, 400, 500, 4, 5, 6)
    merged = MergeSimilarFunctions("balanced")(mod)
    assert merged.attrs["code"] == "balanced"
    assert names(merged) - names(mod) == {"op2_shared"}
    assert list(merged["op2_shared"].attrs["merged_functions"]) == ["op2", "op3", "op4"]


def test_two_rarely_used_functions_stay_as_they_are():
    """The code of what they share would be about as much."""
    mod = operators(stores, 400, 500, 4, 5)
    assert names(MergeSimilarFunctions("balanced")(mod)) == names(mod)


def test_kinds_of_code():
    message = 'code that shares functions is "balanced" or "small", not "fast"'
    with pytest.raises(ValueError, match=message):
        MergeSimilarFunctions("fast")


def test_what_is_merged_stays_as_it_is():
    merged = MergeSimilarFunctions()(Scaled)
    tvm.ir.assert_structural_equal(MergeSimilarFunctions()(merged), merged)


def operators(make, *sizes):
    """A module of operators that `make` makes of sizes, with names in this order, called once."""
    functions = {tvm.ir.GlobalVar(f"op{n}"): make(size) for n, size in enumerate(sizes)}
    x = tirx.Var("x", tvm.ir.PointerType(tvm.ir.PrimType("int32")))
    calls = [Call(op, [x], ret_ty=TupleType([])) for op in functions]
    main = tirx.PrimFunc([x], sequence(map(tirx.Evaluate, calls)))
    functions[tvm.ir.GlobalVar("__tvm_main__")] = main.with_attr("target", tvm.target.Target("c"))
    return IRModule(functions)


def stores(size, local=4, times=4, divisor=3, shift=2, wide=5, narrow=1, target="c"):
    """A loop of `size` that has constants of all kinds."""

    @T.prim_func(private=True)
    def op(p: T.handle("int32")):
        a = T.decl_buffer((512,), "int32", data=p)
        scratch = T.alloc_local((local,), "int32")
        for i in range(size):
            scratch[0] = a[i] // divisor + T.shift_right(a[i], shift)
            a[i] = scratch[0] + T.Cast("int32", T.Cast("int64", a[i]) * T.int64(wide))
            T.evaluate(T.call_extern("int32", "f", narrow))
            with T.attr("k", "pragma_unroll_explicit", 1):
                for k in range(times):
                    a[i] = a[i] + k
        for i in range(size):
            a[i] = a[i] + a[i + 1] + a[i + 2] + a[i + 3] + a[i + 4] + a[i + 5] + a[i + 6]
        for i in range(size):
            a[i] = a[i] - a[i + 1] - a[i + 2] - a[i + 3] - a[i + 4] - a[i + 5] - a[i + 6]

    return op.with_attr("target", tvm.target.Target(target))


def test_arguments_of_calls_may_differ():
    merged = MergeSimilarFunctions()(operators(lambda n: stores(8 + n, narrow=n), 1, 2))
    assert names(merged) == {"op0", "op1", "op0_shared", "__tvm_main__"}
    calls = [[int(a) for a in merged[name].body.value.args[1:]] for name in ("op0", "op1")]
    assert calls == [[1], [2]]


@pytest.mark.parametrize(
    "difference",
    [
        {"local": 5},
        {"times": 5},
        {"divisor": 5},
        {"shift": 3},
        {"wide": 6},
        {"target": {"kind": "c", "mcpu": "cortex-m4"}},
    ],
    ids=lambda difference: next(iter(difference)),
)
def test_what_compilers_have_to_know_keeps_functions_apart(difference):
    mod = operators(lambda other: stores(8 + bool(other), **other), {}, difference)
    merged = MergeSimilarFunctions()(mod)
    assert names(merged) == {"op0", "op1", "__tvm_main__"}
    tvm.ir.assert_structural_equal(merged["op1"], mod["op1"])


def test_calls_of_small_functions_would_be_more_code():
    def small(size):
        @T.prim_func(private=True)
        def op(p: T.handle("int32")):
            a = T.decl_buffer((64,), "int32", data=p)
            for i in range(size):
                a[i] = a[i] + 1

        return op.with_attr("target", tvm.target.Target("c"))

    assert names(MergeSimilarFunctions()(operators(small, 4, 5))) == {"op0", "op1", "__tvm_main__"}


@pytest.mark.slow
def test_functions_are_numbered_in_order_and_names_stay_unique():
    mod = operators(stores, *range(4, 16))
    mod.update_func(tvm.ir.GlobalVar("op0_shared"), stores(20, divisor=7))
    merged = MergeSimilarFunctions()(mod)
    (shared,) = names(merged) - names(mod)
    assert shared != "op0_shared"
    assert list(merged[shared].attrs["merged_functions"]) == [f"op{n}" for n in range(12)]
