import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.pool_candidates import allocations, candidates, first_line, with_pools
from usmp.objects import ConstantPoolInfo, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import WORKSPACE_MEMORY_POOLS_ATTR
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
        "of __tvm_main__ (dtcm: c -mcpu=cortex-m4)"
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
            "the model: no pool may hold buffer a, which is allocated by target c of "
            "__tvm_main__ and written by target c -mcpu=cortex-m4 of op (dtcm: c -mcpu=cortex-m4)",
        ),
        (
            [SRAM, DTCM],
            [ConstantPoolInfo("rom", [C, M33]), ConstantPoolInfo("otp", ["accel"])],
            "operator op: no pool may hold buffer weights, which is read by target "
            "c -mcpu=cortex-m4 of op (rom: c, c -mcpu=cortex-m33; otp: accel)",
        ),
    ],
)
def test_no_pool_for_a_target(workspace, constant, message):
    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(with_pools(Before, workspace, constant))
    assert first_line(error) == message


def test_pools_that_are_no_memory_pools():
    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(Before.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, [SRAM]))
    assert first_line(error).startswith(
        'the attribute "workspace_memory_pools" of the module must be WorkspaceMemoryPools, not '
    )
