"""PlanStorage on functions with branches, where a plan of TVM's own pass may crash."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.managed_models import called_function
from support.random_relax import random_function
from support.storage_plans import planned
from support.storage_runs import STATIC, arrays
from support.storages import lowered, machine_of
from usmp.relax.storage.bound_storages import storages_are_bound
from usmp.relax.transform import PlanStorage

LONGEST = 7


@pytest.mark.parametrize("condition", [False, True])
def test_a_storage_of_one_branch_is_not_used_after_it(condition):
    # Else the test is of no use.
    @I.ir_module
    class StorageOfOneBranch:
        @T.prim_func(private=True, s_tir=True)
        def turn(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
            for i in range(16):
                B[i] = A[15 - i]

        @R.function(pure=False)
        def main(x: R.Tensor((16,), "int32"), c: R.Tensor((), "bool")):
            cls = StorageOfOneBranch
            if c:
                a: R.Tensor((16,), "int32") = R.builtin.alloc_tensor(R.shape([16]), "int32", 0)
                _ = cls.turn(x, a)
                result = x
            else:
                result = x
            b: R.Tensor((16,), "int32") = R.builtin.alloc_tensor(R.shape([16]), "int32", 0)
            _1 = R.call_packed("test.managed.call", b, ty_args=R.Tuple())
            d: R.Tensor((16,), "int32") = R.builtin.alloc_tensor(R.shape([16]), "int32", 0)
            _2 = cls.turn(x, d)
            return (result, d)

    assert not storages_are_bound(planned(StorageOfOneBranch, STATIC)["main"])
    machine = machine_of(planned(StorageOfOneBranch, PlanStorage()))
    x = np.arange(16, dtype="int32")
    with called_function("call", lambda data: data.copyfrom(7 * x)):
        results = arrays(machine["main"](*map(tvm.runtime.tensor, (x, np.array(condition)))))
    np.testing.assert_array_equal(results, [x, x[::-1]])


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_random_functions_compute_what_numpy_does(seed):
    mod, compute = random_function(seed)
    mod["main"] = mod["main"].with_attr("tir_var_upper_bound", {"n": LONGEST})
    machine = machine_of(planned(lowered(mod), PlanStorage()))
    # TVM's pass takes it that what a packed function returns is no argument of it.
    with called_function("call", lambda _: None), called_function("rows", copied):
        for number, rows in enumerate((LONGEST, 2, LONGEST, 5)):
            random = np.random.default_rng(number)
            inputs = {each: random.integers(-9, 9, (rows, 16)).astype("float32") for each in "xy"}
            inputs |= {"c0": np.array(bool(number & 1)), "c1": np.array(bool(number & 2))}
            found = arrays(machine["main"](*map(tvm.runtime.tensor, inputs.values())))
            expected = compute(dict(inputs))
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)


def copied(data):
    return tvm.runtime.tensor(data.numpy())
