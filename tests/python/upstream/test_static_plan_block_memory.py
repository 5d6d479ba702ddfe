"""TVM's tests of StaticPlanBlockMemory (test_transform_static_plan_block_memory.py): behavior.

Each case is planned by TVM's pass and by PlanStorage. Both give the same results in the virtual
machine, and PlanStorage never has more bytes; which storages there are is its own affair.
"""

import numpy as np
import pytest
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


@pytest.mark.slow
def test_a_chain_shares_storage_and_its_output_is_apart():
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

    theirs, ours = compare(lowered(Chain), (ramp(2, 4),))
    assert theirs.tensors == ours.tensors == 1
    assert ours.tensor_bytes == 40
    assert ours.storages == 1


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("add", [0, 1])
def test_conditions_branches_and_what_they_result_in(add):
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

    compare(lowered(Branches), (ramp(2, 3) + np.float32(add),))


@pytest.mark.slow
def test_a_tensor_in_nested_tuples_is_in_use_until_it_is_read_there():
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
