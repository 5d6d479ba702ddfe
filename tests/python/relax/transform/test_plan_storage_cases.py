"""PlanStorage on functions that are written to be hard for it, beside TVM's own pass."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import usmp
from support.storage_plans import planned
from support.storage_runs import compare, ramp
from support.storages import lowered, machine_of
from usmp.relax.transform import PlanStorage

I32 = "int32"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "float8_e4m3fn", "int4"])
def test_elements_of_any_type(dtype):
    x = relax.Var("x", relax.TensorType((3, 5), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for kind in (dtype, "float32", dtype, "float32"):
                value = builder.emit(relax.op.astype(relax.op.flip(value, axis=0), kind))
                value = builder.emit(relax.op.reshape(value, (5, 3)))
                value = builder.emit(relax.op.permute_dims(value))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    # TVM's virtual machine runs no elements of half a byte.
    calls = [] if dtype == "int4" else [(ramp(3, 5),)]
    compare(lowered(builder.get()), *calls)


@pytest.mark.slow
def test_tensors_of_no_elements():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((0, 4), "float32"), y: R.Tensor((2, 4), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.concat([a, y], axis=0)
                c = R.negative(b)
                d = R.concat([R.negative(a), c], axis=0)
                R.output(d)
            return d

    compare(lowered(Module), (ramp(0, 4), ramp(2, 4)))


@I.ir_module
class SameArgument:
    @T.prim_func(private=True, s_tir=True)
    def turned(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32), C: T.Buffer((16,), I32)):
        for i in range(16):
            C[i] = A[i] - 2 * B[15 - i]

    @T.prim_func(private=True, s_tir=True)
    def added(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32), C: T.Buffer((16,), I32)):
        for i in range(16):
            C[i] = A[i] + 3 * B[i]

    @R.function
    def main(x: R.Tensor((16,), I32)):
        R.func_attr({"relax.force_pure": True})
        cls = SameArgument
        a: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
        _ = cls.added(x, x, a)
        b: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
        _1 = cls.turned(a, a, b)
        c: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
        _2 = cls.added(b, b, c)
        d: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
        _3 = cls.turned(c, c, d)
        e: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
        _4 = cls.added(d, c, e)
        return e


@pytest.mark.slow
def test_one_tensor_is_both_arguments():
    _, ours = compare(SameArgument, (ramp(16, dtype=I32),))
    # The reversed one cannot have the place of its argument.
    assert ours.storage_bytes == 2 * 64


@pytest.mark.slow
def test_operators_with_two_outputs():
    @I.ir_module
    class TwoOutputs:
        @T.prim_func(private=True, s_tir=True)
        def together(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32), C: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = A[i] + 1
                C[i] = A[i] * 2

        @T.prim_func(private=True, s_tir=True)
        def across(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32), C: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = A[i] + 1
                C[i] = A[15 - i] * 2

        @T.prim_func(private=True, s_tir=True)
        def join(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32), C: T.Buffer((16,), I32)):
            for i in range(16):
                C[i] = A[i] - B[i]

        @R.function
        def main(x: R.Tensor((16,), I32)):
            R.func_attr({"relax.force_pure": True})
            cls = TwoOutputs
            a: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            b: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _ = cls.together(x, a, b)
            c: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _1 = cls.join(a, b, c)
            d: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            e: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _2 = cls.together(c, d, e)
            f: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _3 = cls.join(e, d, f)
            g: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            h: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _4 = cls.across(f, g, h)
            i: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _5 = cls.join(g, h, i)
            return i

    compare(TwoOutputs, (ramp(16, dtype=I32),))


@pytest.mark.slow
def test_operators_that_take_numbers_and_that_add_to_their_output():
    @I.ir_module
    class Numbers:
        @T.prim_func(private=True, s_tir=True)
        def plus(A: T.Buffer((16,), I32), k: T.int64, B: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = A[i] + T.Cast(I32, k)

        @T.prim_func(private=True, s_tir=True)
        def zero(B: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = 0

        @T.prim_func(private=True, s_tir=True)
        def accumulate(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = B[i] * 2 - A[15 - i]

        @R.function
        def main(x: R.Tensor((16,), I32)):
            R.func_attr({"relax.force_pure": True})
            cls = Numbers
            a: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _ = cls.plus(x, R.prim_value(3), a)
            b: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _1 = cls.plus(a, R.prim_value(5), b)
            c: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _2 = cls.zero(c)
            _3 = cls.accumulate(a, c)
            _4 = cls.accumulate(b, c)
            d: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _5 = cls.plus(c, R.prim_value(-1), d)
            return d

    compare(Numbers, (ramp(16, dtype=I32),))


@pytest.mark.slow
def test_a_function_that_calls_itself_and_may_return_its_argument():
    @I.ir_module
    class Recursion:
        @T.prim_func(private=True, s_tir=True)
        def half(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = A[i] // 2

        @T.prim_func(private=True, s_tir=True)
        def turn(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = A[15 - i]

        @T.prim_func(private=True, s_tir=True)
        def is_small(A: T.Buffer((16,), I32), B: T.Buffer((), "bool")):
            B[()] = A[3] < 2

        @R.function(pure=False)
        def main(x: R.Tensor((16,), I32)) -> R.Tensor((16,), I32):
            cls = Recursion
            small: R.Tensor((), "bool") = R.builtin.alloc_tensor(R.shape([]), "bool", 0)
            _ = cls.is_small(x, small)
            if small:
                result = x
            else:
                a: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
                _1 = cls.half(x, a)
                b: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
                _2 = cls.turn(a, b)
                c: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
                _3 = cls.half(a, c)
                d = cls.main(b)
                e: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
                _4 = cls.turn(c, e)
                f: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
                _5 = cls.turn(e, f)
                result = d
            return result

    compare(Recursion, (np.arange(16, dtype=I32) * 11,), (np.zeros(16, I32),))


def test_a_storage_for_each_device():
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 0)]})

        @T.prim_func(private=True, s_tir=True)
        def turn(A: T.Buffer((16,), I32), B: T.Buffer((16,), I32)):
            for i in range(16):
                B[i] = A[15 - i]

        @R.function
        def main(x: R.Tensor((16,), I32)):
            R.func_attr({"relax.force_pure": True})
            cls = Module
            a: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _ = cls.turn(x, a)
            b: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 1)
            _1 = cls.turn(a, b)
            c: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _2 = cls.turn(b, c)
            d: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 1)
            _3 = cls.turn(c, d)
            e: R.Tensor((16,), I32) = R.builtin.alloc_tensor(R.shape([16]), I32, 0)
            _4 = cls.turn(d, e)
            return e

    _, ours = compare(Module)
    assert ours.storages == 2


@pytest.mark.slow
def test_a_field_of_a_tuple_is_live_for_itself():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 192), "float32")) -> R.Tensor((4, 64), "float32"):
            with R.dataflow():
                parts = R.split(R.exp(x), 3, axis=1)
                a = R.flip(parts[0], axis=1)
                b = R.flip(R.add(a, parts[1]), axis=1)
                c = R.flip(R.add(b, parts[2]), axis=1)
                R.output(c)
            return c

    module = lowered(Module)
    compare(module, (ramp(4, 192),))
    (facts,) = usmp.storage_plan(PlanStorage()(module))
    assert (facts.storages[0].num_tensors, facts.left_bytes) == (8, 0)
    # The whole and two of its parts; the third one takes bytes of the whole.
    part = 4 * 64 * 4
    assert facts.bytes == (3 + 2) * part


def test_functions_of_others_may_be_there():
    module = tvm.IRModule({"main": lowered(SameArgument)["main"]})
    for variable, func in SameArgument.functions.items():
        if str(variable.name_hint) != "main":
            module[variable] = func
    module["outside"] = relax.ExternFunc("outside")
    assert isinstance(PlanStorage()(module)["outside"], relax.ExternFunc)


def test_a_module_without_tensors_to_plan():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return x

    _, ours = compare(lowered(Module))
    assert ours.total_bytes == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "words"),
    [
        (17, 'main: "n" is above 16, its upper bound in tir_var_upper_bound'),
        (1, 'main: "n" is below 2, its lower bound in tir_var_lower_bound'),
    ],
)
def test_a_size_out_of_its_bounds(size, words):
    @I.ir_module
    class Bounded:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            R.func_attr({"tir_var_upper_bound": {"n": 16}, "tir_var_lower_bound": {"n": 2}})
            with R.dataflow():
                a = R.flip(R.exp(x), axis=0)
                b = R.add(R.flip(a, axis=0), a)
                R.output(b)
            return b

    machine = machine_of(planned(lowered(Bounded), PlanStorage()))
    machine["main"](tvm.runtime.tensor(ramp(16)))
    with pytest.raises(ValueError, match=words):
        machine["main"](tvm.runtime.tensor(ramp(size)))


@pytest.mark.slow
def test_bytes_of_symbolic_sizes_are_compared_at_their_bounds():
    """TVM leaves what crosses a branch alone: that is no less than a place for it."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
            R.func_attr({"tir_var_upper_bound": {"n": 16}})
            a = R.exp(x)
            if c:  # noqa: SIM108
                b = R.flip(a, axis=0)
            else:
                b = R.negative(a)
            d = R.add(R.flip(b, axis=0), a)
            return d

    mod = lowered(Module)
    (facts,) = usmp.storage_plan(planned(mod, PlanStorage()))
    assert facts.left_bytes == 0
    compare(mod, (ramp(5), np.array(True)), (ramp(16), np.array(False)))
