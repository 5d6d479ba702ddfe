"""TVM's tests of StaticPlanBlockMemory with symbolic sizes, as test_static_plan_block_memory.py."""

import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.storage_plans import planned
from support.storage_runs import STATIC, compare, ramp
from support.storages import lowered
from usmp.relax.transform import PlanStorage

F32 = "float32"


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("m", "n"), F32)):
        m, n = T.int64(), T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, (m * n,))
            c = R.negative(b)
            d = R.nn.pad(c, (1, 1))
            e = R.exp(R.abs(d))
            f = R.add(e, d)
            R.output(f)
        return f


SHAPES = [(3, 4), (1, 1), (2, 3), (3, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounded", "lower"), [("", False), ("n", True), ("mn", False), ("mn", True)]
)
def test_symbolic_sizes_with_and_without_bounds(bounded, lower):
    mod = tvm.IRModule({"main": Symbolic["main"]})
    function = Symbolic["main"].with_attr("tir_var_upper_bound", {each: 4 for each in bounded})
    if lower:
        function = function.with_attr("tir_var_lower_bound", {"m": 1, "n": 1})
    mod["main"] = function
    mod = lowered(mod)
    compare(mod, *((ramp(*shape),) for shape in SHAPES), sizes={"m": 3, "n": 4})
    compare(mod, sizes={"m": 4, "n": 4})


@pytest.mark.parametrize("attribute", ["tir_var_upper_bound", "tir_var_lower_bound"])
def test_bounds_of_the_wrong_type(attribute):
    function = Symbolic["main"].with_attr(attribute, {"n": [4]})
    for planner in (STATIC, PlanStorage()):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            planned(tvm.IRModule({"main": function}), planner)


@pytest.mark.slow
def test_a_size_that_falls_while_another_one_grows():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", "m", "T.max(n - m, 1)"), F32)):
            R.func_attr({"tir_var_upper_bound": {"m": 5, "n": 20}})
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                c = R.exp(b)
                R.output(c)
            return c

    calls = [(ramp(*shape),) for shape in ((20, 5, 15), (20, 1, 19), (3, 5, 1))]
    _, ours = compare(lowered(Module), *calls)
    assert ours.storage_bytes <= 2 * 4 * 20 * 5 * 20


@I.ir_module
class Full:
    @T.prim_func(s_tir=True)
    def full(result: T.handle, n: T.int64, m: T.int64):
        R = T.match_buffer(result, (n, m), F32)
        for i, j in T.grid(n, m):
            with T.sblock("full"):
                vi, vj = T.axis.remap("SS", [i, j])
                R[vi, vj] = T.float32(3) + T.Cast(F32, vi) * T.Cast(F32, vj)

    @T.prim_func(s_tir=True)
    def half(x: T.handle, y: T.handle):
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), F32)
        Y = T.match_buffer(y, (n, m), F32)
        for i, j in T.grid(n, m):
            with T.sblock("half"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(0.5)

    @R.function
    def main(s: R.Shape(["n", "m"])):
        n, m = T.int64(), T.int64()
        R.func_attr({"relax.force_pure": True})
        cls = Full
        a: R.Tensor((n, m), F32) = R.builtin.alloc_tensor(R.shape([n, m]), F32, 0)
        _: R.Tuple() = R.vm.call_tir_dyn(cls.full, (a, R.shape([n, m])))
        b: R.Tensor((n, m), F32) = R.builtin.alloc_tensor(R.shape([n, m]), F32, 0)
        _1: R.Tuple() = cls.half(a, b)
        c: R.Tensor((n, m), F32) = R.builtin.alloc_tensor(R.shape([n, m]), F32, 0)
        _2: R.Tuple() = cls.half(b, c)
        return c


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{"n": 20, "m": 7}, {"n": 20}])
@pytest.mark.parametrize("plan_output", [False, True])
def test_operators_that_take_sizes(bounds, plan_output):
    mod = tvm.IRModule(dict(Full.functions_items()))
    function = mod["main"].with_attr("tir_var_upper_bound", bounds)
    if plan_output:
        function = function.with_attr("relax.memory_plan_dynamic_func_output", True)
    mod["main"] = function
    compare(mod, *((tvm_ffi.Shape(shape),) for shape in SHAPES), sizes={"n": 20, "m": 7})


@pytest.mark.slow
def test_scratch_of_bytes_that_depends_on_sizes():
    @I.ir_module
    class Module:
        @T.prim_func(private=True, s_tir=True)
        def running(data: T.handle, scratch: T.handle, result: T.handle):
            b, v, s = T.int64(), T.int64(), T.int64()
            A = T.match_buffer(data, (b, v), F32)
            S = T.match_buffer(scratch, (s,), "uint8")
            B = T.match_buffer(result, (b, v), F32)
            for i, j in T.grid(b, v):
                S[i * v + j] = T.uint8(1)
                B[i, j] = A[i, j] + T.Cast(F32, S[i * v + j])

        @R.function
        def main(x: R.Tensor(("b", "v"), F32)):
            b, v = T.int64(), T.int64()
            R.func_attr(
                {
                    "relax.force_pure": True,
                    "relax.memory_plan_dynamic_func_output": True,
                    "tir_var_upper_bound": {"b": 32},
                    "tir_non_negative_var": ["v"],
                }
            )
            cls = Module
            scratch: R.Tensor((2 * (b * v * 4) + 4096,), "uint8") = R.builtin.alloc_tensor(
                R.shape([2 * (b * v * 4) + 4096]), "uint8", 0
            )
            a: R.Tensor((b, v), F32) = R.builtin.alloc_tensor(R.shape([b, v]), F32, 0)
            _ = cls.running(x, scratch, a)
            y: R.Tensor((b, v), F32) = R.call_packed(
                "vm.builtin.reshape", a, R.shape([b, v]), ty_args=(R.Tensor((b, v), F32),)
            )
            return y

    compare(Module, (ramp(3, 4),), (ramp(32, 4),), sizes={"b": 32, "v": 4})
