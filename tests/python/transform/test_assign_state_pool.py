"""AssignPoolInfo with a pool of its own for the states: they lie there, and nothing else does."""

from __future__ import annotations

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.target import Target

from support.pool_candidates import candidates, first_line, with_pools
from usmp import PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes.annotations import CANDIDATE_MEMORY_POOL_ATTR
from usmp.objects.attributes.module_attributes import STATE_MEMORY_POOL_ATTR
from usmp.planning.session import planning_session
from usmp.transform import AssignPoolInfo

C = Target("c")
SRAM, DTCM, BACKUP = (WorkspacePoolInfo(name, [C]) for name in ("sram", "dtcm", "backup"))


@I.ir_module
class Before:
    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": T.target("c")})
        last = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "last"})
        a = T.alloc_buffer((4,), "int8")
        Before.op(last.data, a.data)

    @T.prim_func(private=True)
    def op(x: T.handle("int8"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        kept = T.alloc_buffer((1,), "int8", annotations={"state_tensor": "kept"})
        scratch = T.alloc_buffer((1,), "int8")
        T.call_extern("void", "f", x, y, kept.data, scratch.data)


def assigned(pool, *workspace, mod=Before):
    given = with_pools(mod, workspace).with_attr(STATE_MEMORY_POOL_ATTR.name, pool)
    return AssignPoolInfo()(given)


def message_of(*arguments, **options) -> str:
    with pytest.raises(ValueError) as error:
        assigned(*arguments, **options)
    return first_line(error)


def test_a_new_pool():
    assert candidates(assigned(BACKUP, SRAM, DTCM)) == {
        "last": ["backup"],
        "a": ["sram", "dtcm"],
        "kept": ["backup"],
        "scratch": ["sram", "dtcm"],
    }


def test_one_of_the_workspace_pools():
    assert candidates(assigned(DTCM, SRAM, DTCM)) == {
        "last": ["dtcm"],
        "a": ["sram"],
        "kept": ["dtcm"],
        "scratch": ["sram"],
    }


def test_beside_the_pool_that_there_is_by_default():
    assert candidates(assigned(BACKUP)) == {
        "last": ["backup"],
        "a": ["global_workspace"],
        "kept": ["backup"],
        "scratch": ["global_workspace"],
    }


def test_twice_is_once():
    once = assigned(BACKUP, SRAM)
    assert candidates(AssignPoolInfo()(once)) == candidates(once)


def test_another_state_pool_gives_other_candidates_in_one_session():
    with planning_session():
        first, second = assigned(BACKUP, SRAM), assigned(DTCM, SRAM)
        without = AssignPoolInfo()(with_pools(Before, [SRAM]))
    found = [candidates(mod)["last"] for mod in (first, second, without)]
    assert found == [["backup"], ["dtcm"], ["sram"]]


@I.ir_module
class Chosen:
    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": T.target("c")})
        a = T.alloc_buffer(
            (4,), "int8", annotations={CANDIDATE_MEMORY_POOL_ATTR: [SRAM, BACKUP, DTCM]}
        )
        last = T.alloc_buffer(
            (4,),
            "int8",
            annotations={CANDIDATE_MEMORY_POOL_ATTR: [SRAM, BACKUP], "state_tensor": "last"},
        )
        a[0] = last[0]


def test_pools_that_were_chosen_before():
    found = candidates(assigned(BACKUP, SRAM, mod=Chosen))
    assert found == {"a": ["sram", "dtcm"], "last": ["backup"]}


def test_pools_that_were_chosen_before_and_leave_none():
    other = WorkspacePoolInfo("other", [C])
    assert message_of(other, SRAM, mod=Chosen) == (
        "__tvm_main__: buffer last may only lie in the state pool other, but its candidate pools "
        "are sram, backup"
    )

    @I.ir_module
    class OnlyThere:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": T.target("c")})
            a = T.alloc_buffer((4,), "int8", annotations={CANDIDATE_MEMORY_POOL_ATTR: [BACKUP]})
            a[0] = T.int8(1)

    assert message_of(BACKUP, SRAM, mod=OnlyThere) == (
        "__tvm_main__: buffer a may not lie in the state pool backup, but its candidate pools "
        "are backup"
    )


def test_a_state_pool_that_a_target_may_not_write():
    pool = WorkspacePoolInfo("backup", {"c": "ro"})
    assert message_of(pool, SRAM) == (
        "the model: no pool may hold buffer last, which is written by target c of op "
        "(backup: c (ro))"
    )


def test_pools_that_are_refused():
    large = WorkspacePoolInfo("sram", [C], PoolInfoProperties(size_hint_bytes=64))
    assert message_of(SRAM, SRAM) == (
        'state pool "sram" is the only workspace pool, and holds nothing but state; '
        "add a workspace pool for everything else"
    )
    assert message_of(large, SRAM, DTCM) == (
        'state pool "sram": a workspace pool of this name has other properties; '
        "give the same pool for both, or only its name as the state pool"
    )
    assert message_of(WorkspacePoolInfo("global_workspace", [C])) == (
        'state pool "global_workspace": the workspace pool that everything else is in has this '
        "name; give the state pool another one"
    )
    assert message_of("sram", SRAM) == (
        'the attribute "state_memory_pool" of the module must be a WorkspacePoolInfo, not sram'
    )
