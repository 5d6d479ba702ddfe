import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from support import levels
from support.planner_contexts import planner_context
from support.planner_views import DATA, Chain, bound, plan, with_io, workspace
from support.relax_models import PARAMS, Attention, X
from usmp.objects import Executor
from usmp.transform import PoisonDeadBytes, UnifiedStaticMemoryPlanner


def main_lines(mod):
    """The statements of the main function that run something, as text."""
    text = mod["__tvm_main__"].script().partition("\n\n# Metadata")[0]
    return [line for line in text.split("\n    ")[1:] if "decl_buffer" not in line]


def fill(pool, start, count):
    index = f"poisoned + {start}" if start else "poisoned"
    return [f"for poisoned in range({count}):", f"    {pool}[{index}] = T.uint8(165)"]


def test_dead_bytes_are_overwritten_before_the_first_and_after_each_call():
    # a at [48, 80), b at [0, 48), c at [48, 64)
    planned = plan(Chain, algorithm="greedy_by_size")
    after = PoisonDeadBytes()(planned)
    assert tirx.analysis.verify_well_formed(after)
    pool = "global_workspace_0_buffer_var"
    calls = [line for line in main_lines(planned) if line.startswith("op(")]
    assert len(calls) == 4
    assert [line for line in main_lines(after) if "func_attr" not in line] == [
        *fill(pool, 0, 80),
        calls[0],
        *fill(pool, 0, 48),
        calls[1],
        *fill(pool, 48, 32),
        calls[2],
        *fill(pool, 0, 48),
        *fill(pool, 64, 16),
        calls[3],
        *fill(pool, 0, 80),
    ]


def test_only_the_main_function_changes():
    planned = plan(Chain)
    after = PoisonDeadBytes()(planned)
    tvm.ir.assert_structural_equal(after["op"], planned["op"])
    assert after.attrs["memory_plan"].same_as(planned.attrs["memory_plan"])
    assert after["__tvm_main__"].attrs.keys() == planned["__tvm_main__"].attrs.keys()


def test_each_pool_is_overwritten_up_to_its_peak():
    pools = [workspace("fast", 48), workspace("slow", 1000)]
    text = PoisonDeadBytes()(plan(Chain, pools=pools))["__tvm_main__"].script()
    entry = text[: text.index("op(")]
    assert "for poisoned in range(48):\n        fast_0_buffer_var[poisoned] = T.uint8(165)" in entry
    assert "for poisoned in range(32):\n        slow_1_buffer_var[poisoned] = T.uint8(165)" in entry


def test_constants_are_never_overwritten():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(y: T.Buffer((4,), "int8")):
            weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            for i in range(4):
                y[i] = weights[i]

    tvm.ir.assert_structural_equal(PoisonDeadBytes()(plan(Mod)), plan(Mod))


def test_without_pools_nothing_is_overwritten():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
            for i in range(4):
                y[i] = x[i]

    tvm.ir.assert_structural_equal(PoisonDeadBytes()(plan(Mod)), plan(Mod))


def test_a_module_that_is_not_planned_is_refused():
    with pytest.raises(ValueError, match="not planned; apply UnifiedStaticMemoryPlanner first"):
        PoisonDeadBytes()(bound(Chain))


@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_what_reads_dead_bytes_gets_another_result(target):
    @I.ir_module
    class Remembers:
        """`step` takes its scratch to have in the second call what the first call left there."""

        @T.prim_func
        def step(first: T.int32, p: T.handle("int8"), q: T.handle("int8")):
            P = T.decl_buffer((16,), "int8", data=p)
            Q = T.decl_buffer((16,), "int8", data=q)
            scratch = T.alloc_buffer((16,), "int8")
            for i in range(16):
                if first == 1:
                    scratch[i] = P[i]
                Q[i] = scratch[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            Y = T.decl_buffer((16,), "int8", data=y)
            Remembers.step(1, x, y)
            Remembers.step(0, x, y)
            Y[0] = Y[0] + weights[0]

    mod = tirx.transform.BindTarget(tvm.target.Target(target))(with_io(Remembers))
    planned = UnifiedStaticMemoryPlanner()(mod)
    inputs = {"in": np.arange(16, dtype="int8")}
    results = [
        usmp.AOTExecutorFactoryModule(each, "default").run(inputs)["out"]
        for each in (planned, PoisonDeadBytes()(planned))
    ]
    np.testing.assert_array_equal(results[0], np.arange(16))
    np.testing.assert_array_equal(results[1], np.full(16, np.uint8(0xA5).astype("int8")))


PACKED = Executor("aot", {"interface-api": "packed"})


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("target", "executor", "workspace_io"),
    [
        *[("llvm", None, False), ("c", None, True), ("c", PACKED, False)],
        # Targets and interfaces do not depend on each other.
        *levels.in_long_run([("c", None, False), ("llvm", None, True), ("llvm", PACKED, False)]),
    ],
    ids=str,
)
def test_the_build_option_keeps_the_results(target, executor, workspace_io):
    factories = []
    for debug in ([], ["poison_dead_bytes"]):
        with planner_context({"use_workspace_io": workspace_io, "debug": debug}):
            factories.append(usmp.build(Attention, target, executor, params=PARAMS))
    plain, poisoned = factories
    tvm.ir.assert_structural_equal(poisoned.ir_mod, PoisonDeadBytes()(plain.ir_mod))
    assert "poisoned" in poisoned.ir_mod.script()
    assert poisoned.header == plain.header
    assert poisoned.metadata["modules"] == plain.metadata["modules"]
    outputs = [factory.run({"x": X}) for factory in factories for _ in range(2)]
    assert len({value.tobytes() for output in outputs for value in output.values()}) == 1
