"""TVM's tests of StaticPlanBlockMemory (test_transform_static_plan_block_memory.py): behavior.

Each case is planned by TVM's pass and by PlanStorage. Both give the same results in the virtual
machine, and PlanStorage never has more bytes; which storages there are is its own affair.
"""

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.storage_plans import planned
from support.storage_runs import STATIC, compare, ramp
from support.storages import lowered
from usmp.relax.transform import PlanStorage
from usmp.tir.nodes import nodes_of

F32 = "float32"


def planned_tensors(mod, function="main"):
    """Names of the variables that are in planned storage."""
    return {
        str(binding.var.name_hint)
        for binding in nodes_of(mod[function].body, relax.VarBinding)
        if getattr(getattr(binding.value, "op", None), "name", "") == "relax.memory.alloc_tensor"
    }


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((2, 4), F32)):
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, (8,))
            c = R.nn.relu(b)
            d = R.add(c, R.const(1, F32))
            e = R.nn.pad(d, (1, 1))
            f = R.log(R.abs(R.add(e, R.const(2, F32))))
            R.output(f)
        return f


def test_a_chain_shares_storage_and_its_output_is_apart():
    theirs, ours = compare(lowered(Chain), (ramp(2, 4),))
    assert theirs.tensors == ours.tensors == 1
    assert ours.tensor_bytes == 40
    assert ours.storages == 1


@pytest.mark.parametrize("other", ["float32", "int32", "bool"])
def test_tensors_that_nothing_uses_and_of_two_types(other):
    x, y = (
        relax.Var(name, relax.TensorType((2, 3), dtype))
        for name, dtype in zip("xy", (F32, other), strict=True)
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit(relax.op.add(x, x))
        builder.emit(relax.op.maximum(y, y) if other != "bool" else relax.op.logical_or(y, y))
        builder.emit_func_output(x)
    theirs, ours = compare(lowered(builder.get()), (ramp(2, 3), ramp(2, 3, dtype=other)))
    assert theirs.tensors == ours.tensors == 0
    assert ours.storage_bytes == 24


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((2, 3), F32)):
        a = R.exp(x)
        condition = R.less(R.min(x), R.const(0, F32))
        if condition:
            b = R.exp(a)
            c = R.negative(b)
        else:
            d = R.abs(a)
            c = R.reshape(d, (2, 3))
        e = R.add(c, a)
        return e


@pytest.mark.parametrize("add", [0, 1])
def test_conditions_branches_and_what_they_result_in(add):
    compare(lowered(Branches), (ramp(2, 3) + np.float32(add),))


@I.ir_module
class NestedTuple:
    @R.function
    def main(x: R.Tensor((2, 3), F32)):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(x)
            c = R.abs(x)
            pair = (a, b)
            nested = (pair, c)
            inner = nested[0]
            d = R.exp(inner[0])
            e = R.exp(inner[1])
            f = R.exp(nested[1])
            g = R.add(R.add(d, e), f)
            R.output(g)
        return g


def test_a_tensor_in_nested_tuples_is_in_use_until_it_is_read_there():
    theirs, ours = compare(lowered(NestedTuple), (ramp(2, 3),))
    assert ours.tensors == theirs.tensors == 1


def test_an_operator_that_is_no_primfunc_keeps_its_arguments_out():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), F32)):
            R.func_attr({"relax.force_pure": True})
            alloc: R.Tensor((2, 3), F32) = R.builtin.alloc_tensor(R.shape([2, 3]), F32, 0)
            _ = R.add(x, alloc)
            return x

    assert planned_tensors(planned(Module, STATIC)) == set()
    assert planned_tensors(planned(Module, PlanStorage())) == set()


@tvm_ffi.register_global_func("test.static_plan.double", override=True)
def _double(data, result):
    result.copyfrom(2 * data.numpy())


def test_a_packed_function_with_destinations():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2, 3), F32)):
            a: R.Tensor((2, 3), F32) = R.builtin.alloc_tensor(R.shape([2, 3]), F32, 0)
            _ = R.call_packed("test.static_plan.double", x, a, ty_args=[R.Tuple()])
            b: R.Tensor((2, 3), F32) = R.builtin.alloc_tensor(R.shape([2, 3]), F32, 0)
            _1 = R.call_packed("test.static_plan.double", a, b, ty_args=[R.Tuple()])
            c = R.negative(b)
            return c

    compare(lowered(Module), (ramp(2, 3),))


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


@pytest.mark.parametrize("bounded", ["", "n", "mn"])
@pytest.mark.parametrize("lower", [False, True])
def test_symbolic_sizes_with_and_without_bounds(bounded, lower):
    mod = tvm.IRModule({"main": Symbolic["main"]})
    function = Symbolic["main"].with_attr("tir_var_upper_bound", {each: 4 for each in bounded})
    if lower:
        function = function.with_attr("tir_var_lower_bound", {"m": 1, "n": 1})
    mod["main"] = function
    mod = lowered(mod)
    compare(mod, *((ramp(*shape),) for shape in SHAPES), sizes={"m": 3, "n": 4})
    compare(mod, sizes={"m": 4, "n": 4})


def test_what_nothing_reads_or_writes():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), F32)):
            R.func_attr({"relax.force_pure": True})
            alloc: R.Tensor((2, 3), F32) = R.builtin.alloc_tensor(  # noqa: F841
                R.shape([2, 3]), F32, 0
            )
            y = R.negative(x)
            return y

    compare(lowered(Module), (ramp(2, 3),))


def test_reshaped_parameters():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 50), F32), y: R.Tensor((100,), F32)):
            with R.dataflow():
                a = R.reshape(x, (2, 25, 2))
                b = R.reshape(y, (2, 25, 2))
                c = R.add(a, b)
                R.output(c)
            return c

    theirs, ours = compare(lowered(Module), (ramp(2, 50), ramp(100)))
    assert theirs.storages == ours.storages == 0


def test_functions_have_storage_of_their_own():
    @I.ir_module
    class Module:
        @R.function
        def one(x: R.Tensor((8,), F32)):
            with R.dataflow():
                a = R.exp(R.negative(x))
                R.output(a)
            return a

        @R.function
        def other(x: R.Tensor((10,), F32)):
            with R.dataflow():
                a = R.exp(R.abs(x))
                R.output(a)
            return a

    mod = lowered(Module)
    for function, size in (("one", 8), ("other", 10)):
        _, ours = compare(mod, (ramp(size),), function=function)
    assert (ours.storages, ours.storage_bytes) == (2, 32 + 40)


@pytest.mark.parametrize("attribute", ["tir_var_upper_bound", "tir_var_lower_bound"])
def test_bounds_of_the_wrong_type(attribute):
    function = Symbolic["main"].with_attr(attribute, {"n": [4]})
    for planner in (STATIC, PlanStorage()):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            planned(tvm.IRModule({"main": function}), planner)


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


@pytest.mark.parametrize("bounds", [{"n": 20, "m": 7}, {"n": 20}])
@pytest.mark.parametrize("plan_output", [False, True])
def test_operators_that_take_sizes(bounds, plan_output):
    mod = tvm.IRModule(dict(Full.functions_items()))
    function = mod["main"].with_attr("tir_var_upper_bound", bounds)
    if plan_output:
        function = function.with_attr("relax.memory_plan_dynamic_func_output", True)
    mod["main"] = function
    compare(mod, *((tvm_ffi.Shape(shape),) for shape in SHAPES), sizes={"n": 20, "m": 7})


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


def test_views_and_what_makes_their_offset_zero():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def exp(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), F32)
            B = T.match_buffer(b, (n,), F32)
            for i in range(n):
                B[i] = T.exp(A[i])

        @R.function(pure=False)
        def main(data: R.Tensor((256,), F32)):
            cls = Module
            w = R.builtin.alloc_tensor(R.shape([256]), F32, 0)
            cls.exp(data, w)
            x = R.builtin.alloc_tensor(R.shape([256]), F32, 0)
            cls.exp(w, x)
            x1 = R.memory.view(x, [16, 16], F32, 0)
            x2 = R.memory.view(x1, [128], F32, 512)
            x3 = R.memory.ensure_zero_offset(x2)
            y = R.builtin.alloc_tensor(R.shape([128]), F32, 0)
            cls.exp(x3, y)
            z = R.builtin.alloc_tensor(R.shape([128]), F32, 0)
            cls.exp(y, z)
            return z

    compare(Module, (ramp(256) / 8,))


def test_a_builtin_reshape_keeps_its_tensor_in_use():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def reverse(A: T.Buffer((16,), F32), B: T.Buffer((16,), F32)):
            for i in range(16):
                B[i] = A[15 - i]

        @R.function
        def main(x: R.Tensor((16,), F32)):
            R.func_attr({"relax.force_pure": True})
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16]), F32, 0)
            cls.reverse(x, a)
            b = R.call_packed("vm.builtin.reshape", a, R.shape([16]), ty_args=R.Tensor((16,), F32))
            c = R.builtin.alloc_tensor(R.shape([16]), F32, 0)
            cls.reverse(b, c)
            d = R.builtin.alloc_tensor(R.shape([16]), F32, 0)
            cls.reverse(c, d)
            return d

    theirs, ours = compare(Module, (ramp(16),))
    assert theirs.storage_bytes == ours.storage_bytes == 128


def test_a_dataflow_block_may_remain():
    # PrimFuncs that write their arguments are not pure.
    @I.ir_module(check_well_formed=False)
    class Module:
        @T.prim_func(s_tir=True)
        def exp(A: T.Buffer((10,), F32), B: T.Buffer((10,), F32)):
            for i in range(10):
                B[i] = T.exp(A[i])

        @R.function
        def main(x: R.Tensor((10,), F32)):
            cls = Module
            with R.dataflow():
                a: R.Tensor((10,), F32) = R.builtin.alloc_tensor(R.shape([10]), F32, 0)
                _: R.Tuple() = cls.exp(x, a)
                b: R.Tensor((10,), F32) = a
                R.output(b)
            return b

    for planner in (STATIC, PlanStorage()):
        assert planned_tensors(planned(Module, planner)) == set()
