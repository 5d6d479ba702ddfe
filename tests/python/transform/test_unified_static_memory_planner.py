import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir.transform import PassContext, Sequential
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.objects import (
    BufferInfoKind,
    ConstantMemoryPools,
    ConstantPoolInfo,
    Executor,
    PoolAllocation,
    PoolInfoProperties,
    TensorInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    INPUT_TENSORS_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    MEMORY_PLAN_ATTR,
    OUTPUT_TENSORS_ATTR,
    POOL_ARGS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.transform import UnifiedStaticMemoryPlanner

TARGET = tvm.target.Target("c")
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))


@I.ir_module
class Chain:
    """x -> a (32 bytes) -> b (48 bytes) -> c (16 bytes) -> y"""

    @T.prim_func
    def op(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((16,), "int8", data=p)
        Q = T.decl_buffer((16,), "int8", data=q)
        for i in range(16):
            Q[i] = P[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        a = T.alloc_buffer((32,), "int8")
        b = T.alloc_buffer((48,), "int8")
        c = T.alloc_buffer((16,), "int8")
        Chain.op(x, a.data)
        Chain.op(a.data, b.data)
        Chain.op(b.data, c.data)
        Chain.op(c.data, y)


@I.ir_module
class WithScratch:
    """`first` needs scratch, `second` needs a constant, `third` neither."""

    @T.prim_func
    def first(p: T.handle("int8"), q: T.handle("int8")):
        scratch = T.alloc_buffer((16,), "int8")
        T.evaluate(T.call_extern("int32", "f", p, scratch.data, q))

    @T.prim_func
    def second(p: T.handle("int8"), q: T.handle("int8")):
        weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        T.evaluate(T.call_extern("int32", "g", p, weights.data, q))

    @T.prim_func
    def third(p: T.handle("int8"), q: T.handle("int8")):
        T.evaluate(T.call_extern("int32", "h", p, q))

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        WithScratch.first(x, y)
        WithScratch.second(x, y)
        WithScratch.third(x, y)


def bound(mod, pools=(), constant_pools=(), **attrs):
    if pools:
        attrs[WORKSPACE_MEMORY_POOLS_ATTR] = WorkspaceMemoryPools(pools)
    if constant_pools:
        attrs[CONSTANT_MEMORY_POOLS_ATTR] = ConstantMemoryPools(constant_pools)
    return tirx.transform.BindTarget(TARGET)(mod).with_attrs(attrs)


def workspace(name, size_hint_bytes=-1):
    return WorkspacePoolInfo(name, [TARGET], PoolInfoProperties(size_hint_bytes))


def plan(mod, pools=(), constant_pools=(), **config):
    with PassContext(config={f"tir.usmp.{key}": value for key, value in config.items()}):
        planned = UnifiedStaticMemoryPlanner()(bound(mod, pools, constant_pools))
    assert tirx.analysis.verify_well_formed(planned)
    return planned


def places(planned):
    return {b.name: (b.pool_name, b.byte_offset) for b in planned.attrs[MEMORY_PLAN_ATTR].buffers}


def offsets(planned):
    return {name: offset for name, (_, offset) in places(planned).items()}


def pool_args(func_or_mod):
    return [
        (arg.pool_info.pool_name, arg.allocated_size) for arg in func_or_mod.attrs[POOL_ARGS_ATTR]
    ]


def with_io(mod):
    main = mod["__tvm_main__"].with_attrs(
        {
            INPUT_TENSORS_ATTR: [TensorInfo("in", [16], "int8")],
            OUTPUT_TENSORS_ATTR: [TensorInfo("out", [16], "int8")],
        }
    )
    told = tvm.IRModule(mod.functions, attrs=mod.attrs)
    told.update_func(mod.get_global_var("__tvm_main__"), main)
    return told


def first_line(error):
    """The message without the source that TVM shows below it."""
    return str(error.value).partition("\n")[0]


@pytest.fixture
def algorithm():
    """Register a planning algorithm for one test, as `tir.usmp.algo.<name>`."""
    registered = []

    def register(name, function):
        tvm_ffi.register_global_func(f"tir.usmp.algo.{name}", function)
        registered.append(name)

    yield register
    for name in registered:
        tvm_ffi.registry.remove_global_func(f"tir.usmp.algo.{name}")


def test_allocations_become_views_of_the_pool():
    @I.ir_module
    class Expected:
        @T.prim_func
        def op(p: T.handle("int8"), q: T.handle("int8")):
            P = T.decl_buffer((16,), "int8", data=p)
            Q = T.decl_buffer((16,), "int8", data=q)
            for i in range(16):
                Q[i] = P[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), pool_var: T.handle("uint8")):
            pool = T.decl_buffer((80,), "uint8", data=pool_var, align=16)
            a = T.decl_buffer((32,), "int8", data=T.address_of(pool[48]))
            b = T.decl_buffer((48,), "int8", data=T.address_of(pool[0]))
            c = T.decl_buffer((16,), "int8", data=T.address_of(pool[48]))
            Expected.op(x, a.data)
            Expected.op(a.data, b.data)
            Expected.op(b.data, c.data)
            Expected.op(c.data, y)

    planned = plan(Chain)
    expected = bound(Expected)
    for name in ("op", "__tvm_main__"):
        func = planned[name].without_attr(POOL_ARGS_ATTR)
        tvm.ir.assert_structural_equal(func, expected[name], map_free_vars=True)


def test_the_plan_is_left_on_the_module():
    memory_plan = plan(Chain).attrs[MEMORY_PLAN_ATTR]
    assert memory_plan.algorithm == "greedy_by_size"
    assert memory_plan.memory_pressure == 80
    assert [
        (b.name, b.function, b.kind, b.pool_name, b.byte_offset, b.size_bytes)
        for b in memory_plan.buffers
    ] == [
        ("a", "__tvm_main__", BufferInfoKind.INTERMEDIATE, "global_workspace", 48, 32),
        ("b", "__tvm_main__", BufferInfoKind.INTERMEDIATE, "global_workspace", 0, 48),
        ("c", "__tvm_main__", BufferInfoKind.INTERMEDIATE, "global_workspace", 48, 16),
    ]
    # Each call takes two positions: the bounds of its loop, and the loop's body.
    assert [[(s.start, s.stop) for s in b.live_ranges] for b in memory_plan.buffers] == [
        [(0, 4)],
        [(2, 6)],
        [(4, 8)],
    ]


def test_scratch_is_reported_with_its_function():
    memory_plan = plan(WithScratch).attrs[MEMORY_PLAN_ATTR]
    assert [(b.name, b.function) for b in memory_plan.buffers] == [
        ("scratch", "first"),
        ("weights", "second"),
    ]


@pytest.mark.parametrize(
    ("name", "expected", "peak"),
    [
        ("greedy_by_size", {"a": 48, "b": 0, "c": 48}, 80),
        ("greedy_by_conflicts", {"a": 48, "b": 0, "c": 48}, 80),
        ("no_sharing", {"a": 0, "b": 32, "c": 80}, 96),
    ],
)
def test_algorithm_by_name(name, expected, peak):
    planned = plan(Chain, algorithm=name)
    assert offsets(planned) == expected
    assert pool_args(planned) == [("global_workspace", peak)]
    assert planned.attrs[MEMORY_PLAN_ATTR].algorithm == name


def test_workspace_byte_alignment():
    mod = Chain.with_attr(EXECUTOR_ATTR, Executor("aot", {"workspace-byte-alignment": 64}))
    assert offsets(plan(mod)) == {"a": 64, "b": 0, "c": 64}


# ---- pools


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
        planned["__tvm_main__"].without_attr(POOL_ARGS_ATTR), bound(Mod)["__tvm_main__"]
    )


# ---- inputs and outputs


def test_inputs_and_outputs_in_the_workspace():
    planned = plan(with_io(Chain), use_workspace_io=True)
    # The input is dead before b is written, and b before the output is.
    assert offsets(planned) == {"in": 0, "out": 0, "a": 48, "b": 0, "c": 48}
    assert [param.name for param in planned["__tvm_main__"].params] == ["global_workspace_0_var"]
    listed = planned.attrs[IO_TENSOR_POOL_ALLOCATIONS_ATTR]
    assert {name: place.byte_offset for name, place in listed.items()} == {"in": 0, "out": 0}
    kinds = {b.name: b.kind for b in planned.attrs[MEMORY_PLAN_ATTR].buffers}
    assert kinds == {
        "in": BufferInfoKind.INPUT,
        "out": BufferInfoKind.OUTPUT,
        "a": BufferInfoKind.INTERMEDIATE,
        "b": BufferInfoKind.INTERMEDIATE,
        "c": BufferInfoKind.INTERMEDIATE,
    }


@pytest.mark.parametrize("config", [{}, {"use_workspace_io": False}])
def test_inputs_and_outputs_stay_with_the_caller(config):
    planned = plan(with_io(Chain), **config)
    assert set(places(planned)) == {"a", "b", "c"}
    assert len(planned["__tvm_main__"].params) == 3
    assert dict(planned.attrs[IO_TENSOR_POOL_ALLOCATIONS_ATTR]) == {}


# ---- custom algorithms


def stacked(buffers, memory_pressure):
    """One buffer after the other, 64 bytes apart."""
    return {
        buffer: PoolAllocation(buffer.pool_candidates[0], 64 * index)
        for index, buffer in enumerate(buffers)
    }


def test_custom_algorithm_wins(algorithm):
    seen = []

    def mine(buffers, memory_pressure):
        seen.append(([buffer.name_hint for buffer in buffers], memory_pressure))
        return stacked(buffers, memory_pressure)

    algorithm("mine", mine)
    planned = plan(Chain, custom_algorithm="mine", algorithm="greedy_by_size")
    assert seen == [(["a", "b", "c"], 80)]
    assert offsets(planned) == {"a": 0, "b": 64, "c": 128}
    assert planned.attrs[MEMORY_PLAN_ATTR].algorithm == "mine"


def overlapping(buffers, memory_pressure):
    return {buffer: PoolAllocation(buffer.pool_candidates[0], 0) for buffer in buffers}


def overlapping_without_conflicts(buffers, memory_pressure):
    for buffer in buffers:
        buffer.set_conflicts([])
    return overlapping(buffers, memory_pressure)


def incomplete(buffers, memory_pressure):
    return dict(list(stacked(buffers, memory_pressure).items())[1:])


def unaligned(buffers, memory_pressure):
    return {
        buffer: PoolAllocation(allocation.pool_info, allocation.byte_offset + 1)
        for buffer, allocation in stacked(buffers, memory_pressure).items()
    }


def elsewhere(buffers, memory_pressure):
    pool = workspace("elsewhere")
    return {buffer: PoolAllocation(pool, 64 * index) for index, buffer in enumerate(buffers)}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (overlapping, r'buffers "a" .* and "b" .* share bytes'),
        (overlapping_without_conflicts, r'buffers "a" .* and "b" .* both are live at position'),
        (incomplete, r'buffer "a" has no allocation'),
        (unaligned, r'buffer "a" .* is not aligned'),
        (elsewhere, r'buffer "a" .* is in a pool that is not one of its candidates'),
        (stacked, r'buffer "b" .* the size hint of the pool is 100 bytes'),
    ],
)
def test_a_broken_plan_is_refused(algorithm, broken, reason):
    algorithm("broken", broken)
    with pytest.raises(ValueError, match=f"^USMP plan check: {reason}"):
        plan(Chain, [workspace("sram", 100)], custom_algorithm="broken")


def test_unknown_algorithm():
    with pytest.raises(ValueError) as error:
        plan(Chain, algorithm="nope")
    assert first_line(error).startswith("The selected USMP algorithm : nope is not defined.")


def test_unknown_custom_algorithm():
    with pytest.raises(ValueError) as error:
        plan(Chain, custom_algorithm="nope")
    assert first_line(error).startswith("The selected custom USMP algorithm : nope is not defined.")


# ---- as a pass among others


def test_in_a_sequence():
    passes = [tirx.transform.BindTarget(TARGET), UnifiedStaticMemoryPlanner()]
    with PassContext(config={"tir.usmp.algorithm": "no_sharing"}):
        planned = Sequential(passes)(Chain)
    assert offsets(planned) == {"a": 0, "b": 32, "c": 80}


def test_name():
    assert UnifiedStaticMemoryPlanner().info.name == "tir.usmp.UnifiedStaticMemoryPlanner"


def test_the_module_that_is_planned_is_not_changed():
    mod = bound(WithScratch)
    before = tvm.ir.load_json(tvm.ir.save_json(mod))
    UnifiedStaticMemoryPlanner()(mod)
    tvm.ir.assert_structural_equal(mod, before)


def test_the_result_is_always_the_same():
    first, second = (tvm.ir.save_json(plan(WithScratch)) for _ in range(2))
    assert first == second
