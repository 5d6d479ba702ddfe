"""Pools of a board: its own choice, and the user's."""

from __future__ import annotations

import pytest
from tvm.target import Target

from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.boards.board import board_named
from usmp.boards.pools import (
    board_constant_pools,
    board_pools,
    board_state_pool,
    board_workspace_pools,
)
from usmp.objects.target.targets import parse_targets, target_text

AN547 = board_named("mps3-an547")


def described(pools):
    return [
        (p.pool_name, p.size_hint_bytes, p.is_internal, p.section_name, list(p.targets))
        for p in pools.pools
    ]


def test_the_boards_own_workspace():
    assert described(board_workspace_pools(AN547, ["c"])) == [
        ("dtcm", 506880, True, ".bss.pool.dtcm", ["c"]),
        ("sram", 2 << 20, True, ".bss.pool.sram", ["c"]),
        ("isram", 4 << 20, True, ".bss.pool.isram", ["c"]),
        ("ddr", 2 << 30, True, ".bss.pool.ddr", ["c"]),
    ]


def test_the_boards_own_constants():
    assert described(board_constant_pools(AN547, ["accel", "c"])) == [
        ("flash", 8 << 20, True, ".rodata.pool.flash", ["accel", "c"])
    ]


def test_the_users_order_and_hints_within_what_there_is():
    properties = PoolInfoProperties(size_hint_bytes=1000, read_latency_cycles=3)
    much = PoolInfoProperties(size_hint_bytes=1 << 30)
    given = WorkspaceMemoryPools(
        [
            WorkspacePoolInfo("sram", {"c": "rw", "accel": "ro"}, properties),
            WorkspacePoolInfo("dtcm", ["c"], much),
        ]
    )
    pools = board_workspace_pools(AN547, ["c"], given)
    assert described(pools) == [
        ("sram", 1000, True, ".bss.pool.sram", ["c", "accel"]),
        ("dtcm", 506880, True, ".bss.pool.dtcm", ["c"]),
    ]
    assert pools.pools[0].target_access == {"c": "rw", "accel": "ro"}
    assert pools.pools[0].read_latency_cycles == 3


def test_the_users_constants():
    given = ConstantMemoryPools([ConstantPoolInfo("itcm", ["c"])])
    assert described(board_constant_pools(AN547, ["c"], given)) == [
        ("itcm", 384 << 10, True, ".rodata.pool.itcm", ["c"])
    ]


def test_a_pool_that_is_no_memory_of_the_board():
    given = WorkspaceMemoryPools([WorkspacePoolInfo("ocm", ["c"])])
    with pytest.raises(ValueError) as error:
        board_workspace_pools(AN547, ["c"], given)
    assert str(error.value) == (
        'board mps3-an547 has no memory "ocm". Its memories: itcm, dtcm, sram, isram, flash, ddr'
    )


def test_a_workspace_in_read_only_memory():
    given = WorkspaceMemoryPools([WorkspacePoolInfo("flash", ["c"])])
    with pytest.raises(ValueError) as error:
        board_workspace_pools(AN547, ["c"], given)
    assert str(error.value) == (
        'workspace pool "flash": board mps3-an547 can only read that memory; '
        "memories that it can write: dtcm, sram, isram, ddr"
    )


def test_constants_in_memory_that_loses_them():
    given = ConstantMemoryPools([ConstantPoolInfo("dtcm", ["c"])])
    with pytest.raises(ValueError) as error:
        board_constant_pools(AN547, ["c"], given)
    assert str(error.value) == (
        'constant pool "dtcm": on board mps3-an547 that memory is empty when a program begins; '
        "memories that keep constants: itcm, flash"
    )


def test_a_section_of_the_users():
    """The linker script would not know it."""
    properties = PoolInfoProperties(section_name=".dtcm_bss")
    given = WorkspaceMemoryPools([WorkspacePoolInfo("dtcm", ["c"], properties)])
    with pytest.raises(ValueError) as error:
        board_workspace_pools(AN547, ["c"], given)
    assert str(error.value) == (
        'pool "dtcm": section .dtcm_bss is not in the linker script of board mps3-an547, which has '
        "a section for each memory; leave it out"
    )


def test_the_pool_of_the_states_by_its_name():
    own = board_workspace_pools(AN547, ["c"])
    assert board_state_pool(AN547, ["c"], "sram", own).same_as(own.pools[1])
    beside = board_workspace_pools(
        AN547, ["c"], WorkspaceMemoryPools([WorkspacePoolInfo("dtcm", ["c"])])
    )
    states = board_state_pool(AN547, ["accel", "c"], "isram", beside)
    assert described(WorkspaceMemoryPools([states])) == [
        ("isram", 4 << 20, True, ".bss.pool.isram", ["accel", "c"])
    ]


def test_the_pool_of_the_states_as_described():
    given = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(size_hint_bytes=512))
    own = board_workspace_pools(AN547, ["c"], None, given)
    assert described(own)[:2] == [
        ("dtcm", 506880, True, ".bss.pool.dtcm", ["c"]),
        ("sram", 512, True, ".bss.pool.sram", ["c"]),
    ]
    assert board_state_pool(AN547, ["c"], given, own) == own.pools[1]


def test_the_cpu_of_the_user_is_the_core_of_the_board():
    c, m55 = Target("c"), "c -mcpu=cortex-m55"
    properties = PoolInfoProperties(target_burst_bytes={c: 4, "accel": 8})
    dtcm = WorkspacePoolInfo("dtcm", {c: "rw", "accel": "ro"}, properties)
    flash = ConstantPoolInfo("flash", [Target("llvm"), c])
    workspace, constants, states, own = board_pools(
        AN547,
        parse_targets("accel,c"),
        WorkspaceMemoryPools([dtcm]),
        ConstantMemoryPools([flash]),
        WorkspacePoolInfo("sram", [c]),
    )
    (pool,) = workspace.pools
    assert texts(pool.target_access) == {m55: "rw", "accel": "ro"}
    assert texts(pool.target_burst_bytes) == {m55: 4, "accel": 8}
    assert [target_text(t).split()[0] for t in constants.pools[0].targets] == ["llvm", "c"]
    assert target_text(constants.pools[0].targets[1]) == m55
    assert states is not None
    assert [target_text(t) for t in states.targets] == [m55]
    assert own == []


def texts(by_target):
    return {t if isinstance(t, str) else target_text(t): value for t, value in by_target.items()}
