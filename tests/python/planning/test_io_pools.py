"""Which pools may hold inputs and outputs, and which may hold all else."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from support.pool_candidates import with_pools
from usmp import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects import ConstantMemoryPools, WorkspaceMemoryPools
from usmp.objects.attributes.module_attributes import IO_MEMORY_POOL_ATTR, STATE_MEMORY_POOL_ATTR
from usmp.planning.io_pools import (
    IOPools,
    check_io_is_planned,
    choose_io_pool,
    io_pools_of,
    is_io_tensor,
    preferred_order,
)

C = Target("c")


def pool(name: str, io: str = "any", of=WorkspacePoolInfo):
    if of is ConstantPoolInfo:
        return ConstantPoolInfo(name, [C], None, PoolInfoProperties(io=io))
    return WorkspacePoolInfo(name, [C], PoolInfoProperties(io=io))


ANY, ONLY, NO = pool("any"), pool("only", "only"), pool("no", "no")
FLASH = pool("flash", of=ConstantPoolInfo)


def allocation(*annotations: str) -> tirx.AllocBuffer:
    return tirx.AllocBuffer(tirx.decl_buffer((4,), "int8", "a"), dict.fromkeys(annotations, "x"))


def module(*stmts, workspace=(), constants=(), **attrs) -> IRModule:
    body = tirx.SeqStmt([*stmts, allocation(), allocation()])
    mod = IRModule({"__tvm_main__": tirx.PrimFunc([], body)})
    return with_pools(mod, workspace, constants).with_attrs(attrs)


def test_pools_for_inputs_and_outputs_only_come_first():
    assert preferred_order([ANY, NO, ONLY]) == [ONLY, ANY, NO]


@pytest.mark.parametrize(
    ("annotations", "is_io"),
    [
        ([], False),
        (["constant_data"], False),
        (["input_tensor"], True),
        (["output_tensor", "x"], True),
        (["streamed_tensor"], True),
    ],
)
def test_allocations_of_inputs_and_outputs_are_annotated(annotations, is_io):
    assert is_io_tensor(allocation(*annotations)) is is_io


@pytest.mark.parametrize(
    ("io_pool", "permitted_io"),
    [(None, ["any", "only"]), (ANY, ["any"]), (ONLY, ["only"])],
)
def test_pools_permit_what_they_say(io_pool, permitted_io):
    rule, pools = IOPools(io_pool), [ANY, ONLY, NO]

    def permitted(*annotations):
        found = rule.permitted(allocation(*annotations), pools, "f")
        return [str(pool.pool_name) for pool in found]

    assert permitted("input_tensor") == permitted_io
    assert permitted() == ["any", "no"]
    assert permitted("constant_data") == ["any", "only", "no"]
    assert rule.permitted(allocation(), [ANY], "f") == [ANY]


@pytest.mark.parametrize(
    ("io_pool", "pools", "annotations", "message"),
    [
        (
            None,
            [NO],
            ["input_tensor"],
            "no pool may hold buffer a, which is an input or output (no with io=no); add "
            "a pool for it, or leave out io= of one",
        ),
        (
            ANY,
            [NO, ONLY],
            ["output_tensor"],
            "no pool may hold buffer a, which is an input or output (no with io=no, only with "
            "io=only; I/O pool: any); add a pool for it, or leave out io= of one",
        ),
        (
            ANY,
            [ONLY],
            [],
            "no pool may hold buffer a, which is neither an input nor an output (only with "
            "io=only); add a pool for it, or leave out io= of one",
        ),
    ],
)
def test_a_buffer_without_a_pool_is_refused(io_pool, pools, annotations, message):
    with pytest.raises(ValueError) as caught:
        IOPools(io_pool).permitted(allocation(*annotations), pools, "f")
    assert str(caught.value) == f"operator f: {message}"


def chosen(name, workspace=(), constants=None, states=None, is_planned=True):
    workspace = WorkspaceMemoryPools(workspace) if workspace else None
    constants = ConstantMemoryPools(constants) if constants else None
    return choose_io_pool(name, workspace, constants, states, is_planned)


def test_the_io_pool_is_a_workspace_pool_with_its_name():
    assert chosen(None) is None
    assert chosen(None, [ONLY], [FLASH], NO) is None
    assert chosen("only", [ANY, ONLY], states=ANY).same_as(ONLY)
    assert chosen(None, [ANY], is_planned=False) is None


REFUSED = [
    (("", [ANY]), "the name of the I/O pool is missing; name a workspace pool"),
    (("x\n", [ANY, ONLY]), r'I/O pool "x\n" is no workspace pool. Workspace pools: any, only'),
    (("x",), "Workspace pools: none; list them (--workspace-pools)"),
    (("no", [ANY, NO]), 'I/O pool "no" has io=no, which keeps inputs and outputs out; leave out'),
    (
        (None, [ANY], [pool("f", "no", ConstantPoolInfo)]),
        'constant pool "f": io=no is for workspace pools, since no input and no output is constant',
    ),
    (("any", [ANY], None, ANY), 'I/O pool "any" is the state pool, which holds nothing but state'),
    ((None, [ANY], None, ONLY), 'state pool "only" has io=only, which keeps state out; leave out'),
    (("any", [ANY], None, None, False), 'I/O pool "any": inputs and outputs are not in the works'),
    ((None, [ANY, NO, ONLY], None, None, False), 'io=no of pool "no": inputs and outputs are not'),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_pools_that_contradict_each_other_are_refused(arguments, message):
    with pytest.raises(ValueError) as caught:
        chosen(*arguments)
    assert message in str(caught.value)


def test_modules_say_which_pool_is_theirs():
    assert io_pools_of(IRModule({})).pool is None
    mod = module(workspace=[ANY, ONLY], constants=[FLASH])
    assert io_pools_of(mod).pool is None
    assert io_pools_of(mod.with_attr(IO_MEMORY_POOL_ATTR.name, ONLY)).pool.same_as(ONLY)
    with pytest.raises(ValueError, match=r'^the attribute "io_memory_pool" of the module must be'):
        io_pools_of(mod.with_attr(IO_MEMORY_POOL_ATTR.name, FLASH))
    with pytest.raises(ValueError, match=r'^I/O pool "no" is no workspace pool'):
        io_pools_of(mod.with_attr(IO_MEMORY_POOL_ATTR.name, NO))
    states = {STATE_MEMORY_POOL_ATTR.name: ANY}
    with pytest.raises(ValueError, match=r'^I/O pool "any" is the state pool'):
        io_pools_of(mod.with_attrs({IO_MEMORY_POOL_ATTR.name: ANY, **states}))


def test_pools_of_inputs_and_outputs_need_some_that_are_planned():
    check_io_is_planned(module(workspace=[ANY]))
    check_io_is_planned(module(allocation("input_tensor"), workspace=[ANY, ONLY]))
    with pytest.raises(ValueError, match=r'^io=only of pool "only": inputs and outputs are not'):
        check_io_is_planned(module(workspace=[ANY, ONLY]))
    with pytest.raises(ValueError, match=r'^I/O pool "any": inputs and outputs are not'):
        check_io_is_planned(module(workspace=[ANY], **{IO_MEMORY_POOL_ATTR.name: ANY}))
