"""What a planner reads from a Relax function, and what it makes of it."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax
from tvm.ir import Call
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.managed_models import Called, DataDependent, Functions, TwoOutputs
from usmp.analysis.relax_functions.function_memory import is_in_host_memory, managed_functions
from usmp.analysis.relax_functions.read_function import bindings_of, read_function
from usmp.runtime import compile_managed
from usmp.runtime.planner.module import rewrite
from usmp.tir.nodes import nodes_of


@I.ir_module
class Views:
    """`a` is used through a view that is in a tuple, after `c` was allocated."""

    @T.prim_func(private=True)
    def op(x: T.handle, y: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        cls = Views
        a: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        _ = cls.op(x, a)
        b = R.reshape(a, R.shape([n * 4]))
        pair = (b, x)
        c: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        _1 = cls.op(x, c)
        item = pair[0]
        d: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        _2 = cls.op(item, d)
        e: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        _3 = cls.op(c, e)
        _4 = cls.op(d, e)
        return e


@I.ir_module
class Branch:
    @T.prim_func(private=True)
    def op(x: T.handle, y: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        ("n", 4), "float32"
    ):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        cls = Branch
        a: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        if c:
            t: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
                R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
            )
            _ = cls.op(a, t)
            q = t
        else:
            f: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
                R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
            )
            _1 = cls.op(x, f)
            q = f
        d: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        _2 = cls.op(q, d)
        e: R.Tensor((n, 4), "float32") = R.builtin.alloc_tensor(
            R.shape([n, 4]), R.dtype("float32"), 0, R.str("global")
        )
        _3 = cls.op(d, e)
        return e


def memory_of(mod):
    return read_function(mod, "main", is_in_host_memory)


def spans(memory):
    return {each.name.removeprefix("main."): (each.start, each.stop) for each in memory.tensors}


def killed(memory):
    return {
        last.name: [each.name for each in variables]
        for last, variables in memory.killed_after.items()
    }


def test_a_tensor_lives_until_the_last_use_of_its_views():
    memory = memory_of(Views)
    assert spans(memory) == {"a": (1, 10), "c": (5, 12), "d": (8, 13), "e": (10, 14)}
    assert [each.is_output for each in memory.tensors] == [False, False, False, True]


def test_each_register_is_killed_after_its_last_use():
    memory = memory_of(Views)
    assert killed(memory) == {
        "b": ["a"],
        "item": ["pair"],
        "pair": ["b"],
        "_2": ["item"],
        "_3": ["c"],
        "_4": ["d"],
    }


def test_views_tuples_and_what_is_taken_of_them_are_borrowed():
    memory = memory_of(Views)
    assert (memory.num_borrowed, memory.num_unmanaged, memory.num_scalars) == (3, 0, 0)


def test_what_a_branch_uses_lives_until_both_are_over_and_its_result_until_the_end():
    memory = memory_of(Branch)
    assert spans(memory) == {"a": (1, 10), "t": (3, 15), "f": (6, 15), "d": (10, 14), "e": (12, 15)}
    assert [each.is_in_branch for each in memory.tensors] == [False, True, True, False, False]


def test_what_branches_use_is_killed_after_them():
    memory = memory_of(Branch)
    assert killed(memory) == {"q": ["a"], "_2": ["q"], "_3": ["d"]}


def lowered(mod):
    passes = [
        relax.transform.LegalizeOps(),
        relax.transform.RewriteDataflowReshape(),
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
        relax.transform.CanonicalizeBindings(),
    ]
    return tvm.transform.Sequential(passes)(mod)


def test_every_tensor_that_is_returned_is_an_output():
    memory = memory_of(lowered(TwoOutputs))
    assert [each.is_output for each in memory.tensors] == [False, True, True]


def test_the_result_of_an_unknown_function_may_be_its_argument():
    memory = memory_of(lowered(DataDependent))
    first, *_ = memory.tensors
    assert first.stop == max(each.stop for each in memory.tensors if not each.is_output)
    assert memory.num_unmanaged == 1


def test_sizes_that_depend_on_data_are_not_expected():
    memory = memory_of(lowered(DataDependent))
    assert memory.expected == [0]
    assert len(memory.tensors) == 5


def test_functions_that_others_call_are_not_managed():
    mod = lowered(Functions)
    assert managed_functions(mod) == ["main", "other"]
    names = [each.name for each in memory_of(mod).tensors]
    assert names == ["main.alloc2", "main.alloc3"]


def packed_calls(function):
    """The packed functions that are called, in order, and the first two arguments."""
    return [
        (str(binding.value.op.global_symbol), *map(int_of, binding.value.args[:2]))
        for binding in bindings_of(function.body)
        if isinstance(binding.value, Call) and isinstance(binding.value.op, relax.ExternFunc)
    ]


def int_of(expression):
    return int(expression.value) if hasattr(expression, "value") else None


def test_allocations_become_calls_and_the_sizes_are_said_first():
    memory = memory_of(Views)
    rewritten = rewrite(Views["main"], memory, 7)
    assert packed_calls(rewritten) == [
        ("usmp.runtime.expect_sizes", 7, None),
        *(("usmp.runtime.alloc_tensor", 7, number) for number in range(4)),
    ]
    expected = next(iter(bindings_of(rewritten.body))).value.args[1]
    assert len(expected.values) == 4


def test_kills_stand_where_variables_are_used_last():
    rewritten = rewrite(Branch["main"], memory_of(Branch), 7)
    kills = [
        each.args[0].name
        for each in nodes_of(rewritten.body, Call)
        if getattr(each.op, "name", "") == "relax.vm.kill_object"
    ]
    assert kills == ["a", "q", "d"]


@pytest.mark.slow
def test_the_module_is_the_same_each_time():
    assert compile_managed(Called).tokens == compile_managed(Called).tokens


def test_no_other_than_hosts():
    with pytest.raises(ValueError, match=r"is for hosts, not for the target cuda"):
        compile_managed(Called, tvm.target.Target({"kind": "cuda", "arch": "sm_80"}))


def test_a_module_without_relax_functions():
    functions = {v: f for v, f in Views.functions.items() if v.name_hint == "op"}
    with pytest.raises(ValueError, match="has no Relax function"):
        compile_managed(tvm.IRModule(functions))
