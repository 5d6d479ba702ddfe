"""The planner with pools of the user: preference, limits, pins, constants."""

import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_views import (
    DATA,
    TARGET,
    Chain,
    WithScratch,
    bound,
    places,
    plan,
    pool_args,
    workspace,
)
from usmp.objects import ConstantPoolInfo, PoolInfoProperties
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR, POOL_ARGS_ATTR

SQUARE = tvm.runtime.tensor(DATA.numpy().reshape(2, 2))


def test_functions_take_only_the_pools_that_they_use():
    planned = plan(WithScratch)
    assert {v.name_hint: pool_args(func) for v, func in planned.functions.items()} == {
        "first": [("global_workspace", 16)],
        "second": [("global_const_workspace", 4)],
        "third": [],
        "__tvm_main__": [("global_const_workspace", 4), ("global_workspace", 16)],
    }
    assert {v.name_hint: len(func.params) for v, func in planned.functions.items()} == {
        "first": 3,
        "second": 3,
        "third": 2,
        "__tvm_main__": 4,
    }
    constants, scratch = planned["__tvm_main__"].params[2:]
    calls = [s.value for s in planned["__tvm_main__"].body.seq if isinstance(s, tirx.Evaluate)]
    assert [list(call.args[2:]) for call in calls] == [[scratch], [constants], []]


def test_a_full_pool_spills_to_the_next():
    planned = plan(Chain, [workspace("fast", 64), workspace("slow")])
    assert places(planned) == {"b": ("fast", 0), "a": ("slow", 0), "c": ("fast", 48)}
    assert pool_args(planned) == [("fast", 64), ("slow", 32)]


def test_pools_in_the_order_of_the_user():
    planned = plan(Chain, [workspace("slow"), workspace("fast", 64)])
    assert {pool for pool, _ in places(planned).values()} == {"slow"}
    assert pool_args(planned) == [("slow", 80)]


def test_pools_of_the_user_for_constants():
    flash = ConstantPoolInfo("flash", [TARGET])
    planned = plan(WithScratch, [workspace("sram")], [flash])
    assert places(planned) == {"scratch": ("sram", 0), "weights": ("flash", 0)}


def test_pools_that_are_too_small():
    with pytest.raises(ValueError, match="exceeded"):
        plan(Chain, [workspace("fast", 79)])


def test_pools_that_are_just_large_enough():
    assert pool_args(plan(Chain, [workspace("fast", 80)])) == [("fast", 80)]


def test_what_parallel_iterations_hold_stays():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(y: T.handle("int8")):
            Y = T.decl_buffer((4,), "int8", data=y)
            for i in T.parallel(4):
                scratch = T.alloc_buffer((4,), "int8")
                scratch[0] = T.int8(1)
                Y[i] = scratch[0]

    planned = plan(Mod)
    assert places(planned) == {}
    loop = planned["__tvm_main__"].body.seq[1]
    assert isinstance(loop.body.seq[0], tirx.AllocBuffer)


def test_nothing_to_plan():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "f", x, y))

    planned = plan(Mod)
    assert pool_args(planned) == []
    assert places(planned) == {}
    tvm.ir.assert_structural_equal(
        planned["__tvm_main__"].without_attr(POOL_ARGS_ATTR.name), bound(Mod)["__tvm_main__"]
    )


# ---- pins and exclusion by the schedule


def test_pins_and_candidates_of_the_schedule():
    fast, slow = workspace("fast", 64), workspace("slow")

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((32,), "int8", annotations={"candidate_memory_pools": [slow]})
            b = T.alloc_buffer((48,), "int8", annotations={"fixed_offset": 16})
            c = T.alloc_buffer((16,), "int8")
            b[0] = a[0]
            c[0] = b[0]

    planned = plan(Mod, [fast, slow])
    assert places(planned) == {"a": ("slow", 0), "b": ("fast", 16), "c": ("fast", 0)}


# ---- constants


@I.ir_module
class SharedConstants:
    """`w` of both operators is the same, and so is `k` of main."""

    @T.prim_func
    def first(p: T.handle("int8"), q: T.handle("int8")):
        w = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        T.evaluate(T.call_extern("int32", "f", p, w.data, q))

    @T.prim_func
    def second(p: T.handle("int8"), q: T.handle("int8")):
        w = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        T.evaluate(T.call_extern("int32", "g", p, w.data, q))

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        k = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        SharedConstants.first(x, k.data)
        SharedConstants.second(k.data, y)


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "no_sharing"])
def test_identical_constants_are_stored_once(algorithm):
    planned = plan(SharedConstants, algorithm=algorithm)
    assert pool_args(planned) == [("global_const_workspace", 4)]
    (pool,) = planned.attrs[POOL_ARGS_ATTR.name]
    (constant,) = pool.pool_info.constant_info_array
    assert constant.data.numpy().tolist() == [0, 1, 2, 3]
    (placed,) = planned.attrs[MEMORY_PLAN_ATTR.name].buffers
    assert (placed.name, placed.byte_offset, list(placed.identical)) == ("k", 0, ["w", "w_1"])
    for name in ("first", "second", "__tvm_main__"):
        views = [s for s in planned[name].body.seq if isinstance(s, tirx.DeclBuffer)]
        assert [int(v.data.args[0].indices[0]) for v in views[1:]] == [0]


def test_identical_constants_may_differ_in_shape():
    """Bytes and element type count: a pool is flat."""

    @I.ir_module
    class Shapes:
        @T.prim_func
        def op(p: T.handle("int8"), q: T.handle("int8")):
            w = T.alloc_buffer((4,), "int8", annotations={"constant_data": SQUARE})
            T.evaluate(T.call_extern("int32", "f", p, w.data, q))

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            k = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            Shapes.op(x, k.data)
            Shapes.op(k.data, y)

    planned = plan(Shapes)
    assert pool_args(planned) == [("global_const_workspace", 4)]


def test_constants_that_do_not_fit_spill():
    flash = ConstantPoolInfo("flash", [TARGET], None, PoolInfoProperties(size_hint_bytes=3))
    planned = plan(SharedConstants, [], [flash, ConstantPoolInfo("rom", [TARGET])])
    assert places(planned) == {"k": ("rom", 0)}
