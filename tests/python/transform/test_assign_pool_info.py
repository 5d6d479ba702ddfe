import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.objects import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes import CONSTANT_MEMORY_POOLS_ATTR, WORKSPACE_MEMORY_POOLS_ATTR
from usmp.transform import AssignPoolInfo

C = tvm.target.Target("c")
M4 = tvm.target.Target({"kind": "c", "mcpu": "cortex-m4"})
M33 = tvm.target.Target({"kind": "c", "mcpu": "cortex-m33"})
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))
SRAM = WorkspacePoolInfo("sram", [C, M4])
DTCM = WorkspacePoolInfo("dtcm", [M4])
DRAM = WorkspacePoolInfo("dram", [C, M4])
FLASH = ConstantPoolInfo("flash", [C, M4])
OCTO_FLASH = ConstantPoolInfo("octo_flash", [M4])


@I.ir_module
class Before:
    @T.prim_func
    def op(A: T.Buffer((4,), "int8")):
        T.func_attr({"target": M4})
        scratch = T.alloc_buffer((4,), "int8")
        weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        scratch[0] = weights[0]
        A[0] = scratch[0]

    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": C})
        a = T.alloc_buffer((4,), "int8")
        Before.op(a)


def with_pools(mod, workspace=(), constant=()):
    attrs = {}
    if workspace:
        attrs[WORKSPACE_MEMORY_POOLS_ATTR] = WorkspaceMemoryPools(workspace)
    if constant:
        attrs[CONSTANT_MEMORY_POOLS_ATTR] = ConstantMemoryPools(constant)
    return mod.with_attrs(attrs)


def allocations(mod):
    found = {}

    def on_allocation(stmt):
        found[stmt.buffer.name] = stmt

    for func in mod.functions.values():
        tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    return found


def candidates(mod):
    return {
        name: [pool.pool_name for pool in stmt.annotations["candidate_memory_pools"]]
        for name, stmt in allocations(mod).items()
        if "candidate_memory_pools" in stmt.annotations
    }


def first_line(error):
    """The message without the source that TVM shows below it."""
    return str(error.value).partition("\n")[0]


def test_pools_by_target_in_the_order_of_the_user():
    mod = with_pools(Before, [DRAM, DTCM, SRAM], [OCTO_FLASH, FLASH])
    assert candidates(AssignPoolInfo()(mod)) == {
        "a": ["dram", "sram"],
        "scratch": ["dram", "dtcm", "sram"],
        "weights": ["octo_flash", "flash"],
    }


def test_only_annotations_are_added():
    @I.ir_module
    class Expected:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            T.func_attr({"target": M4})
            scratch = T.alloc_buffer(
                (4,), "int8", annotations={"candidate_memory_pools": [DTCM, DRAM]}
            )
            weights = T.alloc_buffer(
                (4,),
                "int8",
                annotations={"constant_data": DATA, "candidate_memory_pools": [FLASH]},
            )
            scratch[0] = weights[0]
            A[0] = scratch[0]

        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [DRAM]})
            Expected.op(a)

    After = AssignPoolInfo()(with_pools(Before, [DTCM, DRAM], [FLASH]))
    assert tirx.analysis.verify_well_formed(After)
    tvm.ir.assert_structural_equal(After, with_pools(Expected, [DTCM, DRAM], [FLASH]))


def test_default_pools():
    after = AssignPoolInfo()(Before)
    assert candidates(after) == {
        "a": ["global_workspace"],
        "scratch": ["global_workspace"],
        "weights": ["global_const_workspace"],
    }
    stmts = allocations(after)
    (workspace,) = stmts["scratch"].annotations["candidate_memory_pools"]
    (constant,) = stmts["weights"].annotations["candidate_memory_pools"]
    assert isinstance(workspace, WorkspacePoolInfo)
    assert isinstance(constant, ConstantPoolInfo)
    for pool in (workspace, constant):
        assert pool.is_internal
        assert pool.size_hint_bytes == -1
        assert {str(target) for target in pool.targets} == {str(C), str(M4)}
        assert len(pool.targets) == 2


def test_workspace_pools_of_the_user_and_default_constant_pool():
    after = AssignPoolInfo()(with_pools(Before, [SRAM]))
    assert candidates(after) == {
        "a": ["sram"],
        "scratch": ["sram"],
        "weights": ["global_const_workspace"],
    }


def test_constant_pools_of_the_user_and_default_workspace_pool():
    after = AssignPoolInfo()(with_pools(Before, constant=[FLASH]))
    assert candidates(after) == {
        "a": ["global_workspace"],
        "scratch": ["global_workspace"],
        "weights": ["flash"],
    }


def test_candidate_pools_that_are_there_stay():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            chosen = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [DRAM]})
            free = T.alloc_buffer((4,), "int8")
            chosen[0] = T.int8(1)
            free[0] = T.int8(1)

    after = AssignPoolInfo()(with_pools(Mod, [SRAM, DRAM]))
    assert candidates(after) == {"chosen": ["dram"], "free": ["sram", "dram"]}


def test_a_candidate_pool_that_cannot_be_accessed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [SRAM, DTCM]})
            a[0] = T.int8(1)

    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(with_pools(Mod, [SRAM]))
    assert first_line(error) == (
        "__tvm_main__: buffer a has the candidate pool dtcm, which may not be written by target c "
        "of __tvm_main__ (dtcm: c mcpu=cortex-m4)"
    )


def test_candidate_pools_that_list_no_targets_are_trusted():
    anywhere = WorkspacePoolInfo("anywhere", [])

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [anywhere]})
            a[0] = T.int8(1)

    assert candidates(AssignPoolInfo()(Mod)) == {"a": ["anywhere"]}


def test_other_scopes_get_no_pools():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            register = T.alloc_buffer((4,), "int8", scope="local")
            workspace = T.alloc_buffer((4,), "int8", scope="global.workspace")
            register[0] = T.int8(1)
            workspace[0] = T.int8(1)

    assert candidates(AssignPoolInfo()(with_pools(Mod, [SRAM]))) == {"workspace": ["sram"]}


def test_targets_of_a_pool_by_name():
    mod = with_pools(Before, [WorkspacePoolInfo("by_name", ["c"]), DTCM])
    assert candidates(AssignPoolInfo()(mod))["a"] == ["by_name"]


def test_functions_without_allocations_need_no_target():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

    tvm.ir.assert_structural_equal(AssignPoolInfo()(Mod), Mod)


def test_no_target():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op():
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = T.int8(1)

    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(Mod)
    assert first_line(error) == (
        "op has no target, so it is not known which memory it may access; "
        "apply tirx.transform.BindTarget"
    )


@pytest.mark.parametrize(
    ("workspace", "constant", "message"),
    [
        (
            [DTCM],
            [FLASH],
            "__tvm_main__: no pool may hold buffer a, which is allocated by target c of "
            "__tvm_main__ and written by target c mcpu=cortex-m4 of op (dtcm: c mcpu=cortex-m4)",
        ),
        (
            [SRAM, DTCM],
            [ConstantPoolInfo("rom", [C, M33]), ConstantPoolInfo("otp", ["accel"])],
            "op: no pool may hold buffer weights, which is read by target c mcpu=cortex-m4 of op "
            "(rom: c, c mcpu=cortex-m33; otp: accel)",
        ),
    ],
)
def test_no_pool_for_a_target(workspace, constant, message):
    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(with_pools(Before, workspace, constant))
    assert first_line(error) == message


# ---- access by several targets

ACCEL = tvm.target.Target({"kind": "c", "keys": ["accel", "cpu"]})


@I.ir_module
class Offloaded:
    """`copied` is written by c and read by accel, `made` the other way round."""

    @T.prim_func
    def on_accel(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        T.func_attr({"target": ACCEL})
        scratch = T.alloc_buffer((4,), "int8")
        scratch[0] = A[0]
        B[0] = scratch[0]

    @T.prim_func
    def on_c(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        T.func_attr({"target": C})
        scratch_c = T.alloc_buffer((4,), "int8")
        scratch_c[0] = A[0]
        B[0] = scratch_c[0]

    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        T.func_attr({"target": C})
        copied = T.alloc_buffer((4,), "int8")
        made = T.alloc_buffer((4,), "int8")
        own = T.alloc_buffer((4,), "int8")
        Offloaded.on_c(x, copied)
        Offloaded.on_accel(copied, made)
        Offloaded.on_c(made, own)
        Offloaded.on_c(own, y)


def test_every_function_that_accesses_a_buffer_counts():
    pools = [
        WorkspacePoolInfo("dtcm", [C]),
        WorkspacePoolInfo("local", ["accel"]),
        WorkspacePoolInfo("shared", [C, "accel"]),
    ]
    assert candidates(AssignPoolInfo()(with_pools(Offloaded, pools))) == {
        "copied": ["shared"],
        "made": ["shared"],
        "own": ["dtcm", "shared"],
        "scratch": ["local", "shared"],
        "scratch_c": ["dtcm", "shared"],
    }


def test_a_target_that_may_only_read():
    pools = [
        WorkspacePoolInfo("from_c", {C: "rw", "accel": "ro"}),
        WorkspacePoolInfo("from_accel", {C: "ro", "accel": "rw"}),
        WorkspacePoolInfo("shared", [C, "accel"]),
    ]
    assert candidates(AssignPoolInfo()(with_pools(Offloaded, pools))) == {
        "copied": ["from_c", "shared"],
        "made": ["from_accel", "shared"],
        "own": ["from_c", "shared"],
        "scratch": ["from_accel", "shared"],
        "scratch_c": ["from_c", "shared"],
    }


def test_what_an_unknown_function_does_may_be_a_write():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", a.data))
            T.evaluate(
                T.call_extern(
                    "int32", "f", T.tvm_access_ptr(T.type_annotation("int8"), b.data, 0, 4, 1)
                )
            )

    pools = [WorkspacePoolInfo("rom", {C: "ro"}), SRAM]
    assert candidates(AssignPoolInfo()(with_pools(Mod, pools))) == {
        "a": ["sram"],
        "b": ["rom", "sram"],
    }


def test_the_application_writes_the_inputs():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
            T.evaluate(x[0])

    pools = [WorkspacePoolInfo("rom", {C: "ro"}), SRAM]
    assert candidates(AssignPoolInfo()(with_pools(Mod, pools))) == {"x": ["sram"]}


def test_constants_are_only_read():
    pools = [ConstantPoolInfo("flash", {C: "ro", M4: "ro"})]
    mod = with_pools(Before, [SRAM], pools)
    assert candidates(AssignPoolInfo()(mod))["weights"] == ["flash"]


def test_a_function_without_target_runs_where_its_caller_does():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": M4})
            a = T.alloc_buffer((4,), "int8")
            Mod.op(a)

    pools = [WorkspacePoolInfo("rom", {M4: "ro"}), DTCM, WorkspacePoolInfo("sram", [C])]
    assert candidates(AssignPoolInfo()(with_pools(Mod, pools))) == {"a": ["dtcm"]}


@pytest.mark.parametrize("listed", ["c", "cpu", M4])
def test_a_target_is_listed_by_kind_key_or_as_it_is(listed):
    assert "cpu" in list(M4.keys)
    mod = with_pools(Before, [WorkspacePoolInfo("sram", [C, listed])], [FLASH])
    assert candidates(AssignPoolInfo()(mod))["scratch"] == ["sram"]


@pytest.mark.parametrize("listed", ["cortex-m4", "cp", "ccc", "cuda", C])
def test_part_of_a_name_is_not_the_target(listed):
    mod = with_pools(Before, [WorkspacePoolInfo("other", [listed]), SRAM], [FLASH])
    assert candidates(AssignPoolInfo()(mod))["scratch"] == ["sram"]


def test_no_pool_for_all_targets():
    pools = [WorkspacePoolInfo("dtcm", [C]), WorkspacePoolInfo("wtcm", {C: "ro", "accel": "rw"})]
    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(with_pools(Offloaded, pools))
    assert first_line(error) == (
        "__tvm_main__: no pool may hold buffer copied, which is written by target c of on_c "
        "and read by target c of on_accel (dtcm: c; wtcm: c (ro), accel)"
    )
