"""Relax modules of one's own: functions that call others, branches, PrimFuncs of plain loops."""

# ruff: noqa: SIM108  Branches of Relax are statements.

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.relax_functions import CASES
from usmp.objects.state_info import StateInfo


@pytest.fixture(scope="module")
def built():
    return usmp.build({name: mod for name, (mod, _) in CASES.items()})


def some_inputs(func, seed):
    """Small integers, so that sums of floats are exact, and conditions that change."""
    generator = np.random.default_rng(seed)
    return {
        str(param.name): generator.integers(
            0 if str(param.ty.dtype) == "bool" else -3, 2, [int(e) for e in param.ty.shape]
        ).astype(str(param.ty.dtype))
        for param in func.params
    }


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("name", CASES)
def test_runs_as_numpy_computes(built, name):
    mod, expected = CASES[name]
    for seed in range(5):
        inputs = some_inputs(mod["main"], seed)
        outputs = list(built.run(inputs, name).values())
        for output, wanted in zip(outputs, expected(**inputs), strict=True):
            np.testing.assert_array_equal(output, wanted)


@pytest.mark.cc
def test_a_branch_reads_and_gives_a_state():
    @I.ir_module
    class Counter:
        @R.function
        def main(reset: R.Tensor((), "bool"), count: R.Tensor((2,), "int32")):
            if reset:
                after = R.const(np.zeros(2, np.int32))
            else:
                after = R.add(count, R.const(1, "int32"))
            return (R.negative(after), after)

    state = StateInfo("count", 1, tvm.runtime.tensor(np.array([5, 7], np.int32)))
    main = Counter["main"].with_attr("states", [state])
    built = usmp.build(tvm.IRModule({"main": main}))
    outputs = [built.run({"reset": np.array(reset)}) for reset in (False, True, False, False)]
    counts = [[int(x) for x in next(iter(given.values()))] for given in outputs]
    assert counts == [[-6, -8], [0, 0], [-1, -1], [-2, -2]]


@pytest.mark.slow
def test_entries_call_private_functions():
    @I.ir_module
    class Entries:
        @R.function
        def first(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return Entries.helper(x)

        @R.function
        def second(x: R.Tensor((4,), "float32")):
            return R.negative(Entries.first(x))

        @R.function(private=True)
        def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.abs(x)

    built = usmp.build(Entries)
    assert {str(v.name_hint) for v in built.ir_mod.functions} >= {"__tvm_first__", "__tvm_second__"}
    assert "helper" not in built.header
