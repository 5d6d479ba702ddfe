"""Modules with symbolic sizes at certain ones."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.symbolic_models import with_interface
from usmp.analysis.symbolic.instances import (
    Instances,
    InstanceStore,
    all_sizes,
    combinations_of,
    upper_bounds,
)
from usmp.objects.symbolic_size import SymbolicSize
from usmp.tir.nodes import nodes_of

SEQ = SymbolicSize("seq", 1, 8)


@I.ir_module
class Once:
    """`inner` is called with one size, `fill` with two."""

    @T.prim_func(private=True)
    def fill(p: T.handle("int8"), n: T.int32):
        P = T.decl_buffer((n,), "int8", data=p)
        s = T.alloc_buffer((n,), "int8")
        for i in range(n):
            s[i] = T.int8(1)
        for i in range(n):
            P[i] = s[i]

    @T.prim_func(private=True)
    def inner(p: T.handle("int8"), n: T.int32):
        P = T.decl_buffer((n * 2,), "int8", data=p)
        s = T.alloc_buffer((n * 2,), "int8")
        for i in range(n * 2):
            s[i] = P[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), seq: T.int32):
        a = T.alloc_buffer((seq * 2,), "int8")
        b = T.alloc_buffer((T.max(seq, 4),), "int8")
        Once.fill(a.data, seq * 2)
        Once.fill(b.data, seq)
        Once.inner(a.data, seq)


def instances() -> Instances:
    mod = with_interface(Once, ([], []), [SEQ])
    return Instances(mod, "__tvm_main__", InstanceStore())


def test_statements_are_the_same_one_by_one():
    found = instances()
    instance = found.at({"seq": 3})
    for variable, func in instance.mod.functions.items():
        before, after = (nodes_of(f.body, tirx.Stmt) for f in (Once[variable.name_hint], func))
        assert [type(stmt) for stmt in before] == [type(stmt) for stmt in after]
        names = [
            [s.buffer.name for s in nodes_of(f.body, tirx.AllocBuffer)]
            for f in (Once[variable.name_hint], func)
        ]
        assert names[0] == names[1]


def test_allocations_are_paired_one_to_one():
    instance = instances().at({"seq": 3})
    made = [s for f in instance.mod.functions.values() for s in nodes_of(f.body, tirx.AllocBuffer)]
    of = [s for f in Once.functions.values() for s in nodes_of(f.body, tirx.AllocBuffer)]
    assert set(instance.allocations) == set(made)
    assert len(set(instance.allocations.values())) == len(made) == len(of) == 4
    assert all(a.buffer.name == b.buffer.name for a, b in instance.allocations.items())


def shapes(instance) -> dict[str, str]:
    return {
        f"{variable.name_hint}.{stmt.buffer.name}": str(stmt.buffer.shape[0])
        for variable, func in instance.mod.functions.items()
        for stmt in nodes_of(func.body, tirx.AllocBuffer)
    }


def test_a_function_that_is_called_with_two_sizes_stays_symbolic():
    assert shapes(instances().at({"seq": 3})) == {
        "__tvm_main__.a": "6",
        "__tvm_main__.b": "4",
        "fill.s": "n",
        "inner.s": "6",
    }


def test_extents_are_of_the_sizes_of_the_main_function():
    found = {f"{s.buffer.name}": str(e) for s, e in instances().extents().items()}
    assert found == {"a": "seq * 2", "b": "T.max(seq, 4)", "s": "seq * 2"}


def test_instances_are_made_once():
    mod, store = with_interface(Once, ([], []), [SEQ]), InstanceStore()
    first, again, other = (
        Instances(mod, "__tvm_main__", store).at({"seq": n}).mod for n in (3, 3, 4)
    )
    assert first["inner"].same_as(again["inner"])
    assert not first["inner"].same_as(other["inner"])


def test_sizes_the_largest_first():
    sizes = [SymbolicSize("a", 1, 2), SymbolicSize("b", 3, 4)]
    assert [tuple(each.values()) for each in all_sizes(sizes)] == [(2, 4), (2, 3), (1, 4), (1, 3)]
    assert combinations_of(sizes) == 4
    assert combinations_of([*sizes, SymbolicSize("c")]) is None
    assert upper_bounds([*sizes, SymbolicSize("c")]) == {"a": 2, "b": 4}


def test_recursion():
    @I.ir_module
    class Endless:
        @T.prim_func
        def again(n: T.int32):
            Endless.again(n)

        @T.prim_func
        def __tvm_main__(seq: T.int32):
            Endless.again(seq)

    mod = with_interface(Endless, ([], []), [SEQ])
    with pytest.raises(ValueError, match="again"):
        Instances(mod, "__tvm_main__", InstanceStore())
