"""What TVM's planner got wrong at v0.18.0 and never mended: each defect as a test.

The names say what happened there; here it does not.
"""

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import buffers, conflicts
from support.placement_graphs import graph, offsets, pool, run
from support.planner_views import bound, plan, pool_args, workspace
from support.planner_views import offsets as planned_offsets
from support.relax_models import Attention
from usmp import Executor, WorkspaceMemoryPools, build
from usmp.analysis import memory_pressure
from usmp.codegen.interface.module_interface import interface_of
from usmp.codegen.sources.source import print_sources
from usmp.objects import (
    BufferInfo,
    ConstantPoolInfo,
    LiveRange,
    PoolInfoProperties,
    TensorInfo,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    OUTPUT_TENSORS_ATTR,
    POOL_ARGS_ATTR,
)
from usmp.transform import AssignPoolInfo, CreateAllocatesForIO

ALGORITHMS = ["greedy_by_size", "greedy_by_conflicts", "hill_climb"]
C = tvm.target.Target("c")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_1_greedy_overlapped_buffers_in_a_limited_pool(algorithm):
    def buffers_in(size_hint_bytes):
        return graph(
            {"b0": 55, "b1": 52, "b2": 49, "b3": 5},
            {"b2": ["b0", "b1", "b3"], "b0": ["b1", "b2"], "b1": ["b0", "b2"]},
            [pool("sram", size_hint_bytes)],
        )

    with pytest.raises(ValueError, match="the space available in the provided pools exceeded"):
        run(algorithm, buffers_in(152))
    assert len(run(algorithm, buffers_in(156))) == 4


def test_2_inputs_and_outputs_were_live_only_while_accessed():
    @I.ir_module
    class TwoInputsTwoOutputs:
        @T.prim_func
        def op(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
            for i in range(8):
                B[i] = A[i]

        @T.prim_func
        def __tvm_main__(
            in1: T.Buffer((8,), "int8"),
            in2: T.Buffer((8,), "int8"),
            out1: T.Buffer((8,), "int8"),
            out2: T.Buffer((8,), "int8"),
        ):
            TwoInputsTwoOutputs.op(in1, out1)
            TwoInputsTwoOutputs.op(in2, out2)

    assert conflicts(CreateAllocatesForIO()(TwoInputsTwoOutputs)) == {
        "in1": {"in2", "out1"},
        "in2": {"in1", "out1", "out2"},
        "out1": {"in1", "in2", "out2"},
        "out2": {"in2", "out1"},
    }


@I.ir_module
class Accumulating:
    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        y[0] = T.int8(0)
        for i in range(4):
            y[0] = y[0] + x[i]


@I.ir_module
class ExternOnly:
    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        T.evaluate(T.call_extern("int32", "kernel", x.data, y.data))


@I.ir_module
class TwoCallLevels:
    @T.prim_func
    def inner(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        B[0] = A[0]

    @T.prim_func
    def outer(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        TwoCallLevels.inner(A, B)

    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        TwoCallLevels.outer(x, y)


@I.ir_module
class UnusedInput:
    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        y[0] = T.int8(1)


@pytest.mark.parametrize("mod", [Accumulating, ExternOnly, TwoCallLevels, UnusedInput])
def test_3_inputs_and_outputs_were_not_told_apart(mod):
    main = CreateAllocatesForIO()(mod)["__tvm_main__"]
    roles = [
        {key: value for key, value in stmt.annotations.items() if key.endswith("_tensor")}
        for stmt in main.body.seq[:2]
    ]
    assert roles == [{"input_tensor": "x"}, {"output_tensor": "y"}]
    assert list(main.params) == []


@I.ir_module
class CarriedByAnInnerLoop:
    @T.prim_func
    def __tvm_main__():
        carried = T.alloc_buffer((4,), "int8")
        for _i in range(4):
            for j in range(4):
                carried[j] = carried[j] + T.int8(1)
            later = T.alloc_buffer((4,), "int8")
            later[0] = T.int8(1)


@I.ir_module
class CarriedByAWhileLoop:
    @T.prim_func
    def __tvm_main__(n: T.Buffer((1,), "int32")):
        carried = T.alloc_buffer((4,), "int8")
        while n[0] < 4:
            carried[0] = carried[0] + T.int8(1)
            later = T.alloc_buffer((4,), "int8")
            later[0] = T.int8(1)


@I.ir_module
class CarriedByCallsInALoop:
    @T.prim_func
    def op(A: T.Buffer((4,), "int8")):
        A[0] = A[0] + T.int8(1)

    @T.prim_func
    def __tvm_main__():
        carried = T.alloc_buffer((4,), "int8")
        for _i in range(4):
            CarriedByCallsInALoop.op(carried)
            later = T.alloc_buffer((4,), "int8")
            CarriedByCallsInALoop.op(later)


@pytest.mark.parametrize("mod", [CarriedByAnInnerLoop, CarriedByAWhileLoop, CarriedByCallsInALoop])
def test_4_what_a_loop_carries_was_overwritten(mod):
    assert conflicts(mod) == {"carried": {"later"}, "later": {"carried"}}


def test_5_a_serial_loop_in_a_parallel_one_shared_its_scratch():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            for _i in T.parallel(4):
                for j in range(4):
                    scratch = T.alloc_buffer((4,), "int8")
                    scratch[j] = T.int8(1)

    assert buffers(Mod) == {}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_6_offsets_had_the_alignment_of_the_neighbor(algorithm):
    p = pool()
    a, b = BufferInfo("a", 10, [p], 1), BufferInfo("b", 10, [p], 16)
    a.set_conflicts([b])
    found = offsets(algorithm, {"a": a, "b": b})
    assert found["b"] % 16 == 0


def test_6_memory_pressure_and_pools_ignored_alignment():
    always = [LiveRange(0, 1)]
    p = pool()
    assert memory_pressure([BufferInfo(n, 10, [p], 16, always) for n in "ab"]) == 26

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", align=256)
            a[0] = T.int8(1)

    (arg,) = plan(Mod).attrs[POOL_ARGS_ATTR.name]
    assert arg.alignment == 256


def test_7_temporaries_of_a_loop_body_conflicted():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            for _i in range(4):
                first = T.alloc_buffer((4,), "int8")
                first[0] = T.int8(1)
                second = T.alloc_buffer((4,), "int8")
                second[0] = T.int8(1)

    assert conflicts(Mod) == {"first": set(), "second": set()}


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "hill_climb"])
def test_7_gaps_were_filled_by_hill_climb_only(algorithm):
    """`low` lies at [0, 50) and b at [100, 160); `gap` fits between."""
    buffers = graph(
        {"a": 100, "b": 60, "low": 50, "gap": 40},
        {"b": ["a", "low", "gap"], "low": ["gap"]},
    )
    ends = [offset + buffers[n].size_bytes for n, offset in offsets(algorithm, buffers).items()]
    assert max(ends) == 160


ONE, TWO = (tvm.runtime.tensor(np.full(4, value, "int8")) for value in (1, 2))


@I.ir_module
class ConstantsOnly:
    @T.prim_func
    def __tvm_main__(y: T.Buffer((4,), "int8")):
        one = T.alloc_buffer((4,), "int8", annotations={"constant_data": ONE})
        two = T.alloc_buffer((4,), "int8", annotations={"constant_data": TWO})
        y[0] = one[0] + two[0]


@pytest.fixture(scope="module")
def packed():
    """One output, two constants, and a packed interface."""
    main = ConstantsOnly["__tvm_main__"].with_attrs(
        {INPUT_TENSORS_ATTR.name: [], OUTPUT_TENSORS_ATTR.name: [TensorInfo("y", [4], "int8")]}
    )
    executor = Executor("aot", {"interface-api": "packed"})
    return tvm.IRModule({"__tvm_main__": main}).with_attr("executor", executor)


def test_8_external_pools_were_lost_with_the_packed_interface(packed):
    """They are arguments of the packed function, after the inputs and outputs."""
    planned = plan(packed, [], [ConstantPoolInfo("rom", [C])])
    _, source = print_sources(planned, interface_of(planned, "default"))
    assert (
        "  tvmgen_default___tvm_main__(\n"
        "      (int8_t*)addresses[0],\n"
        "      (const uint8_t*)addresses[1]);\n" in source
    )


def test_8_the_packed_interface_has_no_places_for_inputs_and_outputs(packed):
    planned = plan(packed, use_workspace_io=True)
    with pytest.raises(ValueError, match="is only compatible with interface_api c"):
        interface_of(planned, "default")


def test_9_constant_pools_were_one_blob_and_needed_a_workspace_pool():
    """Each pool has its own parameter and content, wherever its name sorts."""
    limit = PoolInfoProperties(size_hint_bytes=4)
    pools = [ConstantPoolInfo("zrom", [C], None, limit), ConstantPoolInfo("arom", [C], None, limit)]
    planned = plan(ConstantsOnly, [], pools)
    assert pool_args(planned) == [("arom", 4), ("zrom", 4)]
    content = [
        [constant.data.numpy()[0] for constant in arg.pool_info.constant_info_array]
        for arg in planned.attrs[POOL_ARGS_ATTR.name]
    ]
    assert sorted(content) == [[1], [2]]
    names = [param.name for param in planned["__tvm_main__"].params]
    assert names == ["y", "arom_0_var", "zrom_1_var"]


def test_9_sizes_were_32_bits():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((T.int64(2**33),), "int8")
            b = T.alloc_buffer((T.int64(2**33),), "int8")
            a[0] = T.int8(1)
            b[0] = a[0]

    assert pool_args(plan(Mod, disabled_pass=("OverlapInputsAndOutputs",))) == [
        ("global_workspace", 2**34)
    ]


def test_10_every_function_took_every_pool_and_in_an_order_of_its_own():
    """Seven pools of one buffer each: more than a small map keeps in order."""

    @I.ir_module
    class ManyPools:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = A[0]

        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            c = T.alloc_buffer((4,), "int8")
            d = T.alloc_buffer((4,), "int8")
            e = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)
            b[0] = a[0]
            c[0] = b[0]
            d[0] = c[0]
            e[0] = a[0] + b[0] + c[0] + d[0]
            ManyPools.op(e)

    pools = [workspace(f"pool{i}", 4) for i in (6, 2, 5, 0, 4, 1, 3)]
    planned = plan(ManyPools, pools, disabled_pass=("OverlapInputsAndOutputs",))
    used = pool_args(planned)
    assert len(used) == 5 and used == sorted(used)
    (in_op,) = pool_args(planned["op"])
    call = planned["__tvm_main__"].body.seq[-1].value
    passed = [argument.name for argument in call.args[1:]]
    assert passed == [f"{in_op[0]}_{used.index(in_op)}_var"]
    assert [p.name for p in planned["__tvm_main__"].params] == [
        f"{name}_{index}_var" for index, (name, _) in enumerate(used)
    ]


def test_11_hill_climb_went_on_from_swaps_that_it_had_undone_and_differed_by_platform():
    """It ends with the best of all attempts, at offsets that are the same on every machine."""
    sizes = {"b0": 131072, "b1": 65568, "b2": 8192, "b3": 15360, "b4": 65568, "b5": 4096}
    conflicting = {"b0": ["b1", "b2", "b3", "b4", "b5"], "b2": ["b1", "b3"], "b4": ["b3", "b5"]}
    buffers = graph(sizes, conflicting | {"b3": ["b5"]})
    ends = [offset + sizes[name] for name, offset in offsets("hill_climb", buffers).items()]
    assert max(ends) == 131072 + 65568 + 15360 + 4096  # both greedy ones take 4096 more
    assert list(offsets("hill_climb", buffers).values()) == [
        0,
        131072,
        196640,
        131072,
        146432,
        212000,
    ]


@pytest.mark.slow
def test_12_bytes_of_a_pool_counted_once_for_each_of_its_targets():
    sram = WorkspacePoolInfo("sram", [C, "accel", "cpu"])
    factory = build(Attention, workspace_memory_pools=WorkspaceMemoryPools([sram]))
    memory = factory.metadata["modules"]["default"]["memory"]
    (main,) = memory["functions"]["main"]
    (peak,) = [p["peak_bytes"] for p in memory["pools"] if p["name"] == "sram"]
    assert main["workspace_size_bytes"] == peak


def test_13_names_that_are_no_c_identifiers_came_into_the_code():
    main = TwoCallLevels["__tvm_main__"].with_attrs(
        {
            INPUT_TENSORS_ATTR.name: [TensorInfo("serving/x:0", [4], "int8")],
            OUTPUT_TENSORS_ATTR.name: [TensorInfo("1/y", [4], "int8")],
        }
    )
    functions = {v: f for v, f in TwoCallLevels.functions.items() if v.name_hint != "__tvm_main__"}
    mod = tvm.IRModule({**functions, TwoCallLevels.get_global_var("__tvm_main__"): main})
    planned = plan(mod, use_workspace_io=True)
    (source,) = print_sources(planned, interface_of(planned, "default"))
    assert "places.serving_x_0 = " in source
    assert "serving/x" not in source and "1/y" not in source


@pytest.mark.cc
@pytest.mark.parametrize("listed", ["cc", "", "cpu0", "ac"])
def test_14_targets_matched_by_part_of_their_names(listed):
    pools = [WorkspacePoolInfo("other", [listed]), WorkspacePoolInfo("sram", [C])]
    mod = AssignPoolInfo()(bound(CarriedByAnInnerLoop, pools))
    main = mod["__tvm_main__"]
    (candidate,) = main.body.seq[0].annotations["candidate_memory_pools"]
    assert candidate.pool_name == "sram"


def test_15_a_number_after_a_name_made_it_the_name_of_another():
    names = ["a", "a1", "a_1", "a", "a"]
    stmts = [tirx.AllocBuffer(tirx.decl_buffer((4,), "int8", name)) for name in names]
    stores = [tirx.BufferStore(s.buffer, tirx.const(1, "int8"), [0]) for s in stmts]
    main = tirx.PrimFunc([], tirx.SeqStmt([*stmts, *stores]))
    found = planned_offsets(plan(tvm.IRModule({"__tvm_main__": main})))
    assert len(found) == 5
    assert {"a", "a1", "a_1"} < set(found)
