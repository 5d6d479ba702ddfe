"""AssignPoolInfo where pools say whether inputs and outputs may lie there, or one is for them."""

from __future__ import annotations

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.target import Target

from support.pool_candidates import candidates, first_line, with_pools
from usmp import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes.annotations import CANDIDATE_MEMORY_POOL_ATTR
from usmp.objects.attributes.module_attributes import IO_MEMORY_POOL_ATTR, STATE_MEMORY_POOL_ATTR
from usmp.planning.session import planning_session
from usmp.transform import AssignPoolInfo

C = Target("c")


def pool(name: str, io: str = "any") -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, [C], PoolInfoProperties(io=io))


CCM, SRAM, PSRAM = (pool(name) for name in ("ccm", "sram", "psram"))


@I.ir_module
class Before:
    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": T.target("c")})
        x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
        y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
        last = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "last"})
        a = T.alloc_buffer((4,), "int8")
        Before.op(x.data, last.data, a.data, y.data)

    @T.prim_func(private=True)
    def op(x: T.handle("int8"), last: T.handle("int8"), a: T.handle("int8"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        rows = T.alloc_buffer((2,), "int8", annotations={"streamed_tensor": 'input "r"'})
        scratch = T.alloc_buffer((1,), "int8")
        T.call_extern("void", "f", x, last, a, y, rows.data, scratch.data)


def assigned(*workspace, io_pool=None, states=None, constants=(), mod=Before):
    given = with_pools(mod, workspace, constants)
    if io_pool is not None:
        given = given.with_attr(IO_MEMORY_POOL_ATTR.name, io_pool)
    if states is not None:
        given = given.with_attr(STATE_MEMORY_POOL_ATTR.name, states)
    return AssignPoolInfo()(given)


def message_of(*workspace, **options) -> str:
    with pytest.raises(ValueError) as error:
        assigned(*workspace, **options)
    return first_line(error)


def io_and_others(mod) -> tuple[list[str], list[str]]:
    """The candidates of inputs, outputs and rows, and those of all else; each the same for all."""
    found = candidates(mod)
    io = {name: found.pop(name) for name in ("x", "y", "rows")}
    (of_io,), (of_others,) = ({*map(tuple, c.values())} for c in (io, found))
    return list(of_io), list(of_others)


def test_without_io():
    assert io_and_others(assigned(CCM, SRAM)) == (["ccm", "sram"], ["ccm", "sram"])


def test_a_pool_for_inputs_and_outputs_only():
    """They prefer it, and may lie in others too, in the order of the list."""
    found = io_and_others(assigned(CCM, PSRAM, pool("sram", "only")))
    assert found == (["sram", "ccm", "psram"], ["ccm", "psram"])


def test_a_pool_without_inputs_and_outputs():
    found = io_and_others(assigned(pool("ccm", "no"), SRAM))
    assert found == (["sram"], ["ccm", "sram"])


def test_both():
    found = io_and_others(assigned(pool("ccm", "no"), pool("sram", "only"), PSRAM))
    assert found == (["sram", "psram"], ["ccm", "psram"])


def test_the_io_pool():
    """Other buffers may lie there too."""
    found = io_and_others(assigned(CCM, SRAM, io_pool=SRAM))
    assert found == (["sram"], ["ccm", "sram"])


def test_the_io_pool_for_nothing_else():
    sram = pool("sram", "only")
    assert io_and_others(assigned(CCM, sram, io_pool=sram)) == (["sram"], ["ccm"])


def test_beside_a_state_pool():
    backup, sram = pool("backup", "no"), pool("sram", "only")
    found = candidates(assigned(CCM, sram, io_pool=sram, states=backup))
    assert found == {
        "x": ["sram"],
        "y": ["sram"],
        "last": ["backup"],
        "a": ["ccm"],
        "rows": ["sram"],
        "scratch": ["ccm"],
    }


def test_twice_is_once():
    once = assigned(pool("ccm", "no"), SRAM)
    assert candidates(AssignPoolInfo()(once)) == candidates(once)


def test_other_pools_give_other_candidates_in_one_session():
    with planning_session():
        mods = [
            assigned(CCM, SRAM),
            assigned(CCM, SRAM, io_pool=SRAM),
            assigned(CCM, SRAM, io_pool=CCM),
            assigned(pool("ccm", "no"), SRAM),
        ]
    found = [candidates(mod)["x"] for mod in mods]
    assert found == [["ccm", "sram"], ["sram"], ["ccm"], ["sram"]]


@I.ir_module
class Chosen:
    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": T.target("c")})
        x = T.alloc_buffer(
            (4,),
            "int8",
            annotations={CANDIDATE_MEMORY_POOL_ATTR: [CCM, SRAM], "input_tensor": "x"},
        )
        a = T.alloc_buffer((4,), "int8", annotations={CANDIDATE_MEMORY_POOL_ATTR: [CCM, SRAM]})
        a[0] = x[0]


def test_pools_that_were_chosen_before():
    found = candidates(assigned(CCM, SRAM, io_pool=SRAM, mod=Chosen))
    assert found == {"x": ["sram"], "a": ["ccm", "sram"]}


def test_pools_that_were_chosen_before_and_leave_none():
    assert message_of(CCM, PSRAM, io_pool=PSRAM, mod=Chosen) == (
        "the model: no pool may hold buffer x, which is an input or output (ccm with io=any, "
        "sram with io=any; I/O pool: psram); add a pool for it, or leave out io= of one"
    )


def test_no_pool_is_left():
    assert message_of(pool("ccm", "no"), pool("sram", "no")) == (
        "the model: no pool may hold buffer x, which is an input or output (ccm with io=no, "
        "sram with io=no); add a pool for it, or leave out io= of one"
    )
    assert message_of(pool("ccm", "only")) == (
        "the model: no pool may hold buffer last, which is neither an input nor an output "
        "(ccm with io=only); add a pool for it, or leave out io= of one"
    )


def test_an_io_pool_that_a_target_may_not_write():
    read_only = WorkspacePoolInfo("sram", {"c": "ro"})
    assert message_of(CCM, read_only, io_pool=read_only) == (
        "the model: no pool may hold buffer x, which is written by target c of op (sram: c (ro))"
    )


def test_pools_that_are_refused():
    assert message_of(CCM, SRAM, io_pool=PSRAM) == (
        'I/O pool "psram" is no workspace pool. Did you mean "sram"? Workspace pools: ccm, sram'
    )
    assert message_of(io_pool=PSRAM) == (
        'I/O pool "psram" is no workspace pool. Workspace pools: none; list them '
        "(--workspace-pools)"
    )
    assert message_of(CCM, pool("sram", "no"), io_pool=SRAM) == (
        'I/O pool "sram" has io=no, which keeps inputs and outputs out; leave out io=no, or name '
        "another I/O pool"
    )
    assert message_of(CCM, SRAM, io_pool=SRAM, states=SRAM) == (
        'I/O pool "sram" is the state pool, which holds nothing but state; name another pool for '
        "one of them"
    )
    assert message_of(CCM, states=pool("backup", "only")) == (
        'state pool "backup" has io=only, which keeps state out; leave out io=only, or name '
        "another state pool"
    )
    rom = ConstantPoolInfo("rom", [C], None, PoolInfoProperties(io="no"))
    assert message_of(CCM, constants=[rom]) == (
        'constant pool "rom": io=no is for workspace pools, since no input and no output is '
        "constant; leave it out"
    )
    assert message_of(CCM, io_pool="ccm") == (
        'the attribute "io_memory_pool" of the module must be a WorkspacePoolInfo, not ccm'
    )
