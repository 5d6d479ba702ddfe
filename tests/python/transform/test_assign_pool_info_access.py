"""AssignPoolInfo where several targets access a buffer, and how a pool lists targets."""

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.pool_candidates import candidates, first_line, with_pools
from usmp.objects import ConstantPoolInfo, WorkspacePoolInfo
from usmp.transform import AssignPoolInfo

C = tvm.target.Target("c")
M4 = tvm.target.Target({"kind": "c", "mcpu": "cortex-m4"})
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))
SRAM = WorkspacePoolInfo("sram", [C, M4])
DTCM = WorkspacePoolInfo("dtcm", [M4])
FLASH = ConstantPoolInfo("flash", [C, M4])


@I.ir_module
class Scratch:
    """`op` runs on M4, main on C."""

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
        Scratch.op(a)


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
    mod = with_pools(Scratch, [SRAM], pools)
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
    mod = with_pools(Scratch, [WorkspacePoolInfo("sram", [C, listed])], [FLASH])
    assert candidates(AssignPoolInfo()(mod))["scratch"] == ["sram"]


def test_the_host_of_a_target_does_not_matter():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

    mod = tirx.transform.BindTarget(tvm.target.Target("c", host="llvm"))(Mod)
    assert candidates(AssignPoolInfo()(with_pools(mod, [SRAM]))) == {"a": ["sram"]}


@pytest.mark.parametrize("listed", ["cortex-m4", "cp", "ccc", "cuda", C])
def test_part_of_a_name_is_not_the_target(listed):
    mod = with_pools(Scratch, [WorkspacePoolInfo("other", [listed]), SRAM], [FLASH])
    assert candidates(AssignPoolInfo()(mod))["scratch"] == ["sram"]


def test_no_pool_for_all_targets():
    pools = [WorkspacePoolInfo("dtcm", [C]), WorkspacePoolInfo("wtcm", {C: "ro", "accel": "rw"})]
    with pytest.raises(ValueError) as error:
        AssignPoolInfo()(with_pools(Offloaded, pools))
    assert first_line(error) == (
        "the model: no pool may hold buffer copied, which is written by target c of on_c "
        "and read by target c of on_accel (dtcm: c; wtcm: c (ro), accel)"
    )
