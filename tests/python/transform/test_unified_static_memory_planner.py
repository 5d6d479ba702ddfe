import pytest
import tvm
from tvm import tirx
from tvm.ir.transform import PassContext, Sequential
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_views import (
    TARGET,
    Chain,
    Copies,
    WithScratch,
    bound,
    offsets,
    places,
    plan,
    pool_args,
    with_io,
    workspace,
)
from usmp.algorithms import get_algorithm
from usmp.analysis import (
    assign_stmt_pool_allocations,
    check_plan,
    create_array_buffer_info,
    extract_buffer_info,
)
from usmp.objects import BufferInfoKind, Executor
from usmp.objects.attributes.module_attributes import (
    EXECUTOR_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    MEMORY_PLAN_ATTR,
    POOL_ARGS_ATTR,
)
from usmp.transform import (
    AssignPoolInfo,
    ConvertPoolAllocationsToOffsets,
    CreateAllocatesForIO,
    UnifiedStaticMemoryPlanner,
)


def test_allocations_become_views_of_the_pool():
    @I.ir_module
    class Expected:
        @T.prim_func
        def op(p: T.handle("int8"), q: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "f", p, q))

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

    planned = plan(Chain, algorithm="greedy_by_size")
    expected = bound(Expected)
    for name in ("op", "__tvm_main__"):
        func = planned[name].without_attr(POOL_ARGS_ATTR.name)
        tvm.ir.assert_structural_equal(func, expected[name], map_free_vars=True)


def test_the_plan_is_left_on_the_module():
    memory_plan = plan(Chain, algorithm="greedy_by_size").attrs[MEMORY_PLAN_ATTR.name]
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
    assert [[(s.start, s.stop) for s in b.live_ranges] for b in memory_plan.buffers] == [
        [(0, 2)],
        [(1, 3)],
        [(2, 4)],
    ]


def test_scratch_is_reported_with_its_function():
    memory_plan = plan(WithScratch).attrs[MEMORY_PLAN_ATTR.name]
    assert [(b.name, b.function) for b in memory_plan.buffers] == [
        ("scratch", "first"),
        ("weights", "second"),
    ]


@pytest.mark.parametrize(
    ("name", "expected", "peak"),
    [
        ("greedy_by_size", {"a": 48, "b": 0, "c": 48}, 80),
        ("greedy_by_conflicts", {"a": 48, "b": 0, "c": 48}, 80),
        ("hill_climb", {"a": 48, "b": 0, "c": 48}, 80),
        ("no_sharing", {"a": 0, "b": 32, "c": 80}, 96),
    ],
)
def test_algorithm_by_name(name, expected, peak):
    planned = plan(Chain, algorithm=name)
    assert offsets(planned) == expected
    assert pool_args(planned) == [("global_workspace", peak)]
    assert planned.attrs[MEMORY_PLAN_ATTR.name].algorithm == name


def test_workspace_byte_alignment():
    mod = Chain.with_attr(EXECUTOR_ATTR.name, Executor("aot", {"workspace-byte-alignment": 64}))
    assert offsets(plan(mod)) == {"a": 64, "b": 0, "c": 64}


# ---- inputs and outputs


def test_inputs_and_outputs_in_the_workspace():
    planned = plan(with_io(Chain), use_workspace_io=True)
    # The input is dead before b is written, and b before the output is.
    assert offsets(planned) == {"in": 0, "out": 0, "a": 48, "b": 0, "c": 48}
    assert [param.name for param in planned["__tvm_main__"].params] == ["global_workspace_0_var"]
    listed = planned.attrs[IO_TENSOR_POOL_ALLOCATIONS_ATTR.name]
    assert {name: place.byte_offset for name, place in listed.items()} == {"in": 0, "out": 0}
    kinds = {b.name: b.kind for b in planned.attrs[MEMORY_PLAN_ATTR.name].buffers}
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
    assert dict(planned.attrs[IO_TENSOR_POOL_ALLOCATIONS_ATTR.name]) == {}


# ---- safe overlap


def overlaps(planned):
    return {b.name: dict(b.overlaps.items()) for b in planned.attrs[MEMORY_PLAN_ATTR.name].buffers}


@pytest.mark.parametrize(
    "algorithm", ["auto", "exact", "greedy_by_size", "greedy_by_conflicts", "hill_climb"]
)
def test_an_output_may_overwrite_its_dying_input(algorithm):
    planned = plan(Copies, algorithm=algorithm)
    assert offsets(planned) == {"a": 0, "b": 0, "c": 0}
    assert overlaps(planned) == {"a": {}, "b": {"a": 0}, "c": {"b": 0}}
    memory_plan = planned.attrs[MEMORY_PLAN_ATTR.name]
    (bound,) = memory_plan.pool_bounds.values()
    assert (bound.lower_bound_bytes, bound.optimal) == (48, True)
    assert memory_plan.memory_pressure == 80


def test_live_buffers_stay_apart_where_overlap_is_switched_off():
    planned = plan(Copies, disabled_pass=("OverlapInputsAndOutputs",))
    assert offsets(planned) == {"a": 48, "b": 0, "c": 48}
    assert overlaps(planned) == {"a": {}, "b": {}, "c": {}}
    (bound,) = planned.attrs[MEMORY_PLAN_ATTR.name].pool_bounds.values()
    assert (bound.lower_bound_bytes, bound.optimal) == (80, True)


@pytest.mark.parametrize("disabled", [("OverlapInputsAndOutputs",), ()])
def test_preserved_inputs_share_their_bytes_with_nobody(disabled):
    io = {"use_workspace_io": True, "preserve_inputs": True}
    planned = plan(with_io(Copies), disabled_pass=disabled, **io)
    placed = {b.name: b for b in planned.attrs[MEMORY_PLAN_ATTR.name].buffers}
    kept = placed.pop("in")
    end = max(r.stop for r in placed["out"].live_ranges)
    assert [(r.start, r.stop) for r in kept.live_ranges] == [(0, end)]
    first = kept.byte_offset
    assert all(
        b.byte_offset + b.size_bytes <= first or first + kept.size_bytes <= b.byte_offset
        for b in placed.values()
    )
    assert pool_args(planned) == [("global_workspace", 96 if disabled else 64)]


def test_inputs_that_are_not_preserved_are_overwritten():
    planned = plan(with_io(Copies), use_workspace_io=True)
    assert overlaps(planned)["a"] == {"in": 0}
    assert pool_args(planned) == [("global_workspace", 48)]


def test_inputs_of_the_caller_are_always_preserved():
    planned = plan(with_io(Copies), preserve_inputs=True)
    tvm.ir.assert_structural_equal(planned, plan(with_io(Copies)))


# ---- as a pass among others


def test_in_a_sequence():
    passes = [tirx.transform.BindTarget(TARGET), UnifiedStaticMemoryPlanner()]
    with PassContext(config={"tir.usmp.algorithm": "no_sharing"}):
        planned = Sequential(passes)(Chain)
    assert offsets(planned) == {"a": 0, "b": 32, "c": 80}


def test_step_by_step():
    """What the planner does, by hand."""
    mod = AssignPoolInfo()(CreateAllocatesForIO()(bound(with_io(Chain), [workspace("sram")])))
    analysis = extract_buffer_info(mod["__tvm_main__"], mod)
    buffers = create_array_buffer_info(analysis.buffer_info_stmts)
    allocations = get_algorithm("greedy_by_size")(buffers, analysis.memory_pressure)
    check_plan(buffers, allocations)
    stmts = assign_stmt_pool_allocations(analysis.buffer_info_stmts, allocations)
    by_hand = ConvertPoolAllocationsToOffsets(stmts)(mod)
    planned = plan(with_io(Chain), [workspace("sram")], use_workspace_io=True)
    tvm.ir.assert_structural_equal(by_hand, planned.without_attr(MEMORY_PLAN_ATTR.name))


def test_a_module_that_is_planned_already():
    with pytest.raises(ValueError) as error:
        UnifiedStaticMemoryPlanner()(plan(WithScratch))
    assert str(error.value).partition("\n")[0] == (
        "the module is planned already; plan the one that it was made from"
    )


def test_no_main_function():
    with pytest.raises(ValueError) as error:
        UnifiedStaticMemoryPlanner()(tvm.IRModule({}))
    assert str(error.value).partition("\n")[0] == (
        "main function is not in the module; it must be __tvm_main__"
    )


def test_every_step_is_seen_by_instruments():
    seen = []

    @tvm.ir.instrument.pass_instrument
    class Recorder:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    mod = bound(with_io(Chain))
    with PassContext(instruments=[Recorder()], config={"tir.usmp.use_workspace_io": True}):
        UnifiedStaticMemoryPlanner()(mod)
    assert seen == [
        "usmp.UnifiedStaticMemoryPlanner",
        "usmp.CreateAllocatesForIO",
        "usmp.AssignPoolInfo",
        "usmp.ConvertPoolAllocationsToOffsets",
    ]


def test_name():
    assert UnifiedStaticMemoryPlanner().info.name == "usmp.UnifiedStaticMemoryPlanner"


def test_the_module_that_is_planned_is_not_changed():
    mod = bound(WithScratch)
    before = tvm.ir.load_json(tvm.ir.save_json(mod))
    UnifiedStaticMemoryPlanner()(mod)
    tvm.ir.assert_structural_equal(mod, before)


def test_the_result_is_always_the_same():
    first, second = (tvm.ir.save_json(plan(WithScratch)) for _ in range(2))
    assert first == second
