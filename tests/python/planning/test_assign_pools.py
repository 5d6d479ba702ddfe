"""Which pools may hold each allocation."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.target import Target

from support.pool_candidates import allocations, candidates, with_pools
from usmp import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.planning.assign_pools import AnnotatedFunctions, assign_pools

C, M4 = Target("c"), Target({"kind": "c", "mcpu": "cortex-m4"})
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))


@I.ir_module
class Model:
    """`op` runs on M4, and writes what main on C allocates; `copy` reads and writes."""

    @T.prim_func(private=True)
    def op(p: T.handle("int8")):
        T.func_attr({"target": M4})
        P = T.decl_buffer((4,), "int8", data=p)
        scratch = T.alloc_buffer((4,), "int8")
        weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        local = T.alloc_buffer((1,), "int8", scope="local")
        local[0] = weights[0]
        scratch[0] = local[0]
        P[0] = scratch[0]

    @T.prim_func(private=True)
    def copy(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": C})
        P = T.decl_buffer((4,), "int8", data=p)
        Q = T.decl_buffer((4,), "int8", data=q)
        Q[0] = P[0]

    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": C})
        x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
        a = T.alloc_buffer((4,), "int8")
        b = T.alloc_buffer((4,), "int8")
        Model.op(a.data)
        Model.copy(a.data, b.data)
        Model.copy(x.data, b.data)


def pool(name, *targets, of=WorkspacePoolInfo, **properties):
    access = {target: how for target, how in targets}
    if of is ConstantPoolInfo:
        return ConstantPoolInfo(name, access, None, PoolInfoProperties(**properties))
    return WorkspacePoolInfo(name, access, PoolInfoProperties(**properties))


ALL = pool("all", (C, "rw"), (M4, "rw"))
ONLY_C, ONLY_M4 = pool("only_c", (C, "rw")), pool("only_m4", (M4, "rw"))
M4_WRITES = pool("m4_writes", (C, "ro"), (M4, "rw"))
FLASH = pool("flash", (M4, "ro"), of=ConstantPoolInfo)


def assigned(*workspace, constants=(), mod=Model):
    return assign_pools(with_pools(mod, workspace, constants), AnnotatedFunctions())


def test_pools_of_a_module_without_any_are_its_own():
    mod = assigned()
    own = ["global_workspace"]
    constant = ["global_const_workspace"]
    assert candidates(mod) == {
        **dict.fromkeys(["x", "a", "b", "scratch"], own),
        "weights": constant,
    }
    (workspace,) = allocations(mod)["scratch"].annotations["candidate_memory_pools"]
    assert workspace.is_internal
    assert {str(t) for t in workspace.targets} == {str(C), str(M4)}


def test_pools_may_hold_what_their_targets_access():
    """A target that only reads may hold what other targets write; the application writes x."""
    mod = assigned(ALL, ONLY_C, ONLY_M4, M4_WRITES, constants=[FLASH])
    assert candidates(mod) == {
        "x": ["all", "only_c"],
        "a": ["all", "m4_writes"],
        "b": ["all", "only_c"],
        "scratch": ["all", "only_m4", "m4_writes"],
        "weights": ["flash"],
    }


def test_a_buffer_without_a_pool_is_refused():
    with pytest.raises(ValueError) as caught:
        assigned(ONLY_C, ONLY_M4, pool("ro", (C, "ro"), (M4, "ro")))
    message = str(caught.value).partition("\n")[0].partition(": ")[2]
    assert message == (
        "no pool may hold buffer a, which is read by target c of __tvm_main__ and written by "
        "target c -mcpu=cortex-m4 of op (only_c: c; only_m4: c -mcpu=cortex-m4; ro: c (ro), c "
        "-mcpu=cortex-m4 (ro))"
    )


def test_only_what_a_function_does_is_needed():
    """Constants are read, wherever they are."""
    constants = [pool("x", (C, "rw"), of=ConstantPoolInfo), FLASH]
    assert candidates(assigned(ALL, constants=constants))["weights"] == ["flash"]
    with pytest.raises(
        ValueError, match="weights, which is read by target c -mcpu=cortex-m4 of op"
    ):
        assigned(ALL, constants=constants[:1])


def with_candidates(*pools):
    @I.ir_module
    class Chosen:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": C})
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": list(pools)})
            a[0] = T.int8(0)

    return Chosen


def test_candidates_that_are_there_stay_if_they_can_be_accessed():
    known = AnnotatedFunctions()
    mod = assign_pools(with_candidates(ONLY_C, pool("empty")), known)
    assert candidates(mod) == {"a": ["only_c", "empty"]}
    for pools in ([ALL, ONLY_M4], [pool("ro", (C, "ro"))]):
        with pytest.raises(ValueError) as caught:
            assign_pools(with_candidates(*pools), known)
        name = pools[-1].pool_name
        message = f"__tvm_main__: buffer a has the candidate pool {name}, which may not be written"
        assert str(caught.value).startswith(message)


def test_a_function_without_a_target_is_refused():
    mod = IRModule({"__tvm_main__": with_candidates(ALL)["__tvm_main__"].without_attr("target")})
    assert candidates(assigned(mod=mod)) == {"a": ["all"]}
    main = Model["__tvm_main__"].without_attr("target")
    mod = IRModule({**Model.functions, Model.get_global_var("__tvm_main__"): main})
    with pytest.raises(ValueError, match=r"^__tvm_main__ has no target, so it is not known which"):
        assigned(mod=mod)


def test_the_same_functions_are_annotated_once():
    """Also in another module, unless what they call is another one, or the pools are."""
    known = AnnotatedFunctions()
    given = with_pools(Model, [ALL])
    first = assign_pools(given, known)
    again = assign_pools(IRModule(given.functions, attrs=given.attrs), known)
    assert all(again[name].same_as(func) for name, func in first.functions.items())
    other = assign_pools(with_pools(Model, [pool("y", (C, "rw"), (M4, "rw"))]), known)
    assert candidates(other)["a"] == ["y"]
    changed = IRModule(given.functions, attrs=given.attrs)
    changed.update_func(changed.get_global_var("op"), Model["op"].with_attr("x", 1))
    found = assign_pools(changed, known)
    assert found["copy"].same_as(first["copy"])
    assert not found["__tvm_main__"].same_as(first["__tvm_main__"])
