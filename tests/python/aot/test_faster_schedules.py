"""What passes make of PrimFuncs that attributes of others hold."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.aot.faster_schedules import with_schedules
from usmp.objects.schedule import faster_schedules, with_faster_schedules
from usmp.passes import with_prim_funcs


@I.ir_module
class Module:
    @T.prim_func
    def slow(p: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=p)
        a[0] = T.int8(1)

    @T.prim_func
    def fast(p: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=p)
        a[0] = T.int8(2)

    @T.prim_func
    def slow_1(p: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=p)
        a[0] = T.int8(3)


def test_each_is_seen_once_and_goes_back_to_where_it_was():
    slow = with_faster_schedules(Module["slow"], [Module["fast"]])
    variables = [Module.get_global_var(name) for name in ("slow", "slow_1")]
    mod = IRModule(dict(zip(variables, (slow, Module["slow_1"]), strict=True)))
    seen = []

    def mark(func):
        seen.append(func)
        return func.with_attr("number", len(seen))

    found = with_schedules(lambda mod: with_prim_funcs(mod, mark), mod)
    assert {str(variable.name_hint) for variable in found.functions} == {"slow", "slow_1"}
    (faster,) = faster_schedules(found["slow"])
    bodies = [func.body for func in (found["slow"], found["slow_1"], faster)]
    expected = [Module[name].body for name in ("slow", "slow_1", "fast")]
    for body, other in zip(bodies, expected, strict=True):
        tvm.ir.assert_structural_equal(body, other, map_free_vars=True)
    numbers = [int(f.attrs["number"]) for f in (found["slow"], found["slow_1"], faster)]
    assert sorted(numbers) == [1, 2, 3]
    assert all(faster_schedules(func) == () for func in seen)


def test_without_them_nothing_is_added():
    assert with_schedules(lambda mod: mod, Module).same_as(Module)
