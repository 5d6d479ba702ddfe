"""PlanStorage: what it makes of Relax functions, and what these allocate when they run."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.filecheck_files import module_of
from support.storages import allocations_of_runs, lowered, run
from usmp.relax.storage.allocated_bytes import allocations_of
from usmp.relax.transform import PlanStorage

Before = module_of("plan_storage")
"""Three operators, of which the second can work in place."""


def without_facts(mod):
    functions = {
        variable: func.without_attr("usmp.storage_plan")
        if isinstance(func, relax.Function)
        else func
        for variable, func in mod.functions.items()
    }
    return tvm.IRModule(functions)


def test_the_facts_of_a_function():
    (facts,) = usmp.storage_plan(PlanStorage()(Before))
    assert facts == usmp.FunctionStorage(
        "main",
        (usmp.MemoryStorage(0, "global", 128, 128, True, 3, 1),),
        left_bytes=0,
        num_left=0,
        output_bytes=64,
    )
    assert str(facts).splitlines() == [
        "main: device 0, global: 128 bytes (optimal), 3 tensors, 1 in place",
        "main: left to TVM: 0 bytes in 0",
        "main: outputs: 64 bytes",
    ]


def test_without_overlap():
    (facts,) = usmp.storage_plan(PlanStorage(overlap=False)(Before))
    assert [(each.bytes, each.num_in_place) for each in facts.storages] == [(128, 0)]
    with tvm.transform.PassContext(disabled_pass=["OverlapInputsAndOutputs"]):
        assert usmp.storage_plan(PlanStorage()(Before)) == (facts,)


def test_one_allocation_beside_the_output():
    sizes, result = allocations_of_runs(Before, PlanStorage(), [np.arange(16, dtype="float32")])
    assert sizes == [128, 64]
    np.testing.assert_array_equal(result, 8 * np.arange(16, dtype="float32")[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("which", [True, False])
def test_branches_share_bytes(which):
    @I.ir_module
    class Branches:
        @R.function
        def main(x: R.Tensor((64,), "float32"), which: R.Tensor((), "bool")) -> R.Tensor(
            (64,), "float32"
        ):
            a = R.flip(x, axis=0)
            if which:
                b = R.flip(a, axis=0)
                c = R.tanh(b)
                d = R.flip(c, axis=0)
                e = R.add(d, a)
                r = R.flip(e, axis=0)
            else:
                b1 = R.flip(a, axis=0)
                c1 = R.add(b1, a)
                r = R.flip(c1, axis=0)
            f = R.add(r, x)
            g = R.flip(f, axis=0)
            return g

    mod = lowered(Branches)
    planned = PlanStorage()(mod)
    (facts,) = usmp.storage_plan(planned)
    (storage,) = facts.storages
    inner = sum(size for size in allocations_of(mod["main"]).tensors.values()) - 256
    assert storage.bytes < inner / 2
    x = np.random.default_rng(0).standard_normal(64).astype("float32")
    ours = run(planned, x, np.array(which))
    a = x[::-1]
    expected = np.tanh(x)[::-1] + a if which else x + a
    np.testing.assert_allclose(ours, (expected[::-1] + x)[::-1], rtol=1e-6)


def test_each_function_has_its_storage_and_what_it_gives_away_is_left_to_tvm():
    @I.ir_module
    class Several:
        @R.function(private=True)
        def inner(x: R.Tensor((32,), "float32")) -> R.Tensor((32,), "float32"):
            a = R.flip(x, axis=0)
            b = R.tanh(a)
            c = R.flip(b, axis=0)
            return c

        @R.function
        def main(x: R.Tensor((32,), "float32")) -> R.Tensor((32,), "float32"):
            cls = Several
            a = R.flip(x, axis=0)
            b = cls.inner(a)
            c = cls.inner(b)
            d = R.add(c, x)
            e = R.flip(d, axis=0)
            return e

    planned = PlanStorage()(lowered(Several))
    facts = {each.function: each for each in usmp.storage_plan(planned)}
    assert [each.num_tensors for each in facts["inner"].storages] == [2]
    assert [each.num_tensors for each in facts["main"].storages] == [1]
    assert (facts["main"].num_left, facts["main"].left_bytes) == (1, 128)
    x = np.random.default_rng(0).standard_normal(32).astype("float32")
    of_both = np.tanh(np.tanh(x))
    np.testing.assert_allclose(run(planned, x), of_both + x[::-1], atol=1e-6)


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        R.func_attr({"tir_var_upper_bound": {"n": 20}})
        a = R.flip(x, axis=0)
        b = R.tanh(a)
        c = R.flip(b, axis=1)
        d = R.add(c, a)
        e = R.flip(d, axis=0)
        return e


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 20])
def test_symbolic_sizes_have_the_places_of_their_bounds(size):
    planned = PlanStorage(require_bounds=True)(lowered(Symbolic))
    (facts,) = usmp.storage_plan(planned)
    assert [each.bytes for each in facts.storages] == [3 * 20 * 8 * 4]
    x = np.random.default_rng(0).standard_normal((size, 8)).astype("float32")
    a = x[::-1]
    np.testing.assert_allclose(run(planned, x), (np.tanh(a)[:, ::-1] + a)[::-1], atol=1e-6)


def with_bounds(mod, bounds):
    changed = mod.clone()
    changed.update_func(
        changed.get_global_var("main"), mod["main"].with_attr("tir_var_upper_bound", bounds)
    )
    return changed


def test_sizes_without_a_bound_are_left_to_tvm():
    mod = with_bounds(lowered(Symbolic), {})
    planned = PlanStorage()(mod)
    tvms = relax.transform.StaticPlanBlockMemory()(mod)
    (facts,) = usmp.storage_plan(planned)
    assert facts.storages == ()
    assert_structural_equal(without_facts(planned)["main"], tvms["main"], map_free_vars=True)


def test_a_bound_that_is_required():
    mod = with_bounds(lowered(Symbolic), {"m": 7})
    with pytest.raises(
        ValueError,
        match=r"main: the size of main\.\w+, of shape R\.shape\(\[n, 8\]\), has no bound, since "
        r'"n" has none; write the largest, as '
        r'R\.func_attr\(\{"tir_var_upper_bound": \{"m": 7, "n": 1024\}\}\)',
    ):
        PlanStorage(require_bounds=True)(mod)


def test_bounds_that_are_no_dictionary():
    with pytest.raises(ValueError, match="main: tir_var_upper_bound is 7, not a dictionary"):
        PlanStorage()(with_bounds(lowered(Symbolic), 7))


def test_what_was_planned_stays_so():
    once = PlanStorage()(lowered(Symbolic))
    assert_structural_equal(PlanStorage()(once), once)


@pytest.mark.parametrize("bound", [0, -3])
def test_a_bound_that_is_no_size(bound):
    with pytest.raises(ValueError, match=f'main: the bound {bound} of "n" .* is no size'):
        PlanStorage()(with_bounds(lowered(Symbolic), {"n": bound}))


def test_a_bound_of_another_type_is_the_error_of_tvm():
    mod = with_bounds(lowered(Symbolic), {"n": [4]})
    with pytest.raises(TypeError) as of_tvm:
        relax.transform.StaticPlanBlockMemory()(mod)
    with pytest.raises(TypeError) as ours:
        PlanStorage()(mod)
    assert str(of_tvm.value).splitlines()[0] in str(ours.value)


@tvm.register_global_func("test.plan_storage.twice", override=True)
def twice(x, y):
    y.copyfrom(x.numpy() * 2)


@pytest.mark.slow
def test_what_a_packed_function_gets_is_left_to_tvm():
    @I.ir_module
    class Packed:
        @R.function
        def main(x: R.Tensor((16,), "float32")) -> R.Tensor((48,), "float32"):
            with R.dataflow():
                a = R.flip(x, axis=0)
                b = R.call_dps_packed("test.plan_storage.twice", (a,), R.Tensor((16,), "float32"))
                c = R.concat([b, b, b], axis=0)
                d = R.tanh(c)
                e = R.nn.relu(d)
                f = R.flip(e, axis=0)
                R.output(f)
            return f

    planned = PlanStorage()(lowered(Packed))
    (facts,) = usmp.storage_plan(planned)
    assert [(each.bytes, each.num_tensors) for each in facts.storages] == [(192, 3)]
    assert (facts.num_left, facts.left_bytes) == (2, 128)
    x = np.random.default_rng(0).standard_normal(16).astype("float32")
    expected = np.maximum(np.tanh(np.tile(2 * x[::-1], 3)), 0)[::-1]
    np.testing.assert_allclose(run(planned, x), expected, atol=1e-6)


def test_a_function_that_takes_less_with_tvms_planner_is_left_to_it():
    @I.ir_module
    class FewerWithTVM:
        @R.function
        def main(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
            with R.dataflow():
                a = R.flip(x, axis=0)
                b = R.call_dps_packed("test.plan_storage.twice", (a,), R.Tensor((16,), "float32"))
                c = R.flip(b, axis=0)
                d = R.flip(c, axis=0)
                R.output(d)
            return d

    mod = lowered(FewerWithTVM)
    planned = PlanStorage()(mod)
    (facts,) = usmp.storage_plan(planned)
    assert (facts.storages, facts.num_left, facts.left_bytes) == ((), 2, 128)
    assert facts.needs_less_by_tvm
    assert "left to TVM: 128 bytes in 2, since its own plan of the function" in str(facts)
    x = np.arange(16, dtype="float32")
    np.testing.assert_array_equal(run(planned, x), 2 * x[::-1])


def test_tiny_tensors_take_no_more_than_with_tvm():
    @I.ir_module
    class Tiny:
        @R.function
        def main(x: R.Tensor((3,), "int8")) -> R.Tensor((3,), "int8"):
            with R.dataflow():
                a = R.flip(x, axis=0)
                b = R.add(a, x)
                c = R.flip(b, axis=0)
                d = R.add(c, b)
                e = R.flip(d, axis=0)
                R.output(e)
            return e

    mod = lowered(Tiny)
    tvms = relax.transform.StaticPlanBlockMemory()(mod)
    planned = PlanStorage()(mod)
    assert allocations_of(planned["main"]).bytes <= allocations_of(tvms["main"]).bytes
    x = np.array([1, 2, 3], "int8")
    b = x[::-1] + x
    np.testing.assert_array_equal(run(planned, x), (b[::-1] + b)[::-1])


def test_what_tvm_estimates():
    assert "there are 2 constant-size" in relax.analysis.estimate_memory_usage(
        PlanStorage()(Before)
    )


def test_options_that_are_wrong():
    with pytest.raises(ValueError, match='unknown algorithm "best"; known: auto'):
        PlanStorage(algorithm="best")
    with pytest.raises(ValueError, match="work_budget must be at least 1"):
        PlanStorage(work_budget=0)
