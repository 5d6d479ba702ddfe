"""Memory pools in the memories of a board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tvm.target import Target

from usmp.boards.board import Board, constant_section, lasting_section, workspace_section
from usmp.boards.board_targets import board_targets
from usmp.objects.pools import (
    ONLY_IO,
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.target.targets import BuildTargets, is_target


class _Pools(NamedTuple):
    workspace: WorkspaceMemoryPools
    constants: ConstantMemoryPools
    states: WorkspacePoolInfo | None
    own: list[str]


def board_pools(
    board: Board,
    given: BuildTargets,
    workspace: WorkspaceMemoryPools | None = None,
    constants: ConstantMemoryPools | None = None,
    states: WorkspacePoolInfo | str | None = None,
    io_pool: str | None = None,
) -> _Pools:
    """Return all pools of a program for a board.

    `own` of the result has the names of pools that the user did not name.

    Parameters
    ----------
    given
        targets of the user; in the target lists of pools, the board's CPU replaces the user's CPU.
    workspace, constants, states
        pools of the user.
    io_pool
        memory of inputs and outputs, and of other buffers only if it is also a workspace pool.

    Raises
    ------
    ValueError
        see `board_workspace_pools` and `board_constant_pools`.
    """
    targets = board_targets(board, given)
    if workspace is not None:
        pools = [_on_core(pool, given.cpu, targets.cpu) for pool in workspace.pools]
        workspace = WorkspaceMemoryPools(pools)
    if constants is not None:
        pools = [_on_core(pool, given.cpu, targets.cpu) for pool in constants.pools]
        constants = ConstantMemoryPools(pools)
    if isinstance(states, WorkspacePoolInfo):
        states = _on_core(states, given.cpu, targets.cpu)
    names = targets.names
    own = {
        *(board.workspace_memories if workspace is None else ()),
        *(board.constant_memories if constants is None else ()),
    }
    workspace = board_workspace_pools(board, names, workspace, states)
    if io_pool and not _has_pool(workspace, io_pool):
        workspace = _with_io_pool(board, names, workspace, io_pool)
    constants = board_constant_pools(board, names, constants)
    if io_pool is not None:
        own.discard(io_pool)
    if states is not None:
        states = board_state_pool(board, names, states, workspace)
        own.discard(str(states.pool_name))
    return _Pools(workspace, constants, states, sorted(own))


def _has_pool(pools: WorkspaceMemoryPools, name: str) -> bool:
    return any(str(pool.pool_name) == name for pool in pools.pools)


def _with_io_pool(
    board: Board, targets: Sequence[str], workspace: WorkspaceMemoryPools, name: str
) -> WorkspaceMemoryPools:
    """Return the workspace pools, with a memory for inputs and outputs only at the end."""
    added = WorkspacePoolInfo(name, list(targets), PoolInfoProperties(io=ONLY_IO))
    in_memory = board_workspace_pools(board, targets, WorkspaceMemoryPools([added]))
    return WorkspaceMemoryPools([*workspace.pools, *in_memory.pools])


def _on_core(pool: Any, given: Target, target: Target) -> Any:
    """Return a pool with `target` in the place of `given` in its list of targets."""

    def renamed(listed: Any) -> Any:
        return target if isinstance(listed, Target) and is_target(listed, given) else listed

    access = {renamed(listed): allowed for listed, allowed in pool.target_access.items()}
    bursts = {renamed(listed): n for listed, n in pool.target_burst_bytes.items()}
    properties = pool.properties(target_burst_bytes=bursts)
    if isinstance(pool, ConstantPoolInfo):
        return ConstantPoolInfo(pool.pool_name, access, pool.constant_info_array, properties)
    return WorkspacePoolInfo(pool.pool_name, access, properties)


def board_workspace_pools(
    board: Board,
    targets: Sequence[str],
    given: WorkspaceMemoryPools | None = None,
    states: WorkspacePoolInfo | str | None = None,
) -> WorkspaceMemoryPools:
    """Return workspace pools that are part of the program, each in the memory of its name.

    Parameters
    ----------
    targets
        names of the targets that may access the board's default pools.
    given
        pools of the user; by default those of the board.
    states
        the user's pool for states, which replaces a default pool of the same name.

    Raises
    ------
    ValueError
        a pool is no memory of the board, a workspace pool lies in read-only memory, or the section
        or the address of a pool is not possible.
    """
    described = {str(states.pool_name): states} if isinstance(states, WorkspacePoolInfo) else {}
    own = [
        described.get(name) or WorkspacePoolInfo(name, list(targets))
        for name in board.workspace_memories
    ]
    pools = own if given is None else list(given.pools)
    for pool in pools:
        if board.memory(pool.pool_name).is_read_only:
            writable = [memory.name for memory in board.memories if not memory.is_read_only]
            raise ValueError(
                f'workspace pool "{pool.pool_name}": board {board.name} can only read that memory; '
                f"memories that it can write: {', '.join(writable)}"
            )
    return WorkspaceMemoryPools(
        [
            pool.with_properties(**_in_memory(board, pool, _workspace_sections(pool)))
            for pool in pools
        ]
    )


def board_state_pool(
    board: Board,
    targets: Sequence[str],
    given: WorkspacePoolInfo | str,
    workspace: WorkspaceMemoryPools,
) -> WorkspacePoolInfo:
    """Return the pool of the states, in the memory of its name.

    Parameters
    ----------
    targets
        names of the targets that may access a pool that is given by its name.
    given
        the pool, or its name.
    workspace
        result of `board_workspace_pools`, in which names are looked up.

    Raises
    ------
    ValueError
        see `board_workspace_pools`.
    """
    if isinstance(given, str):
        for pool in workspace.pools:
            if str(pool.pool_name) == given:
                return pool
        given = WorkspacePoolInfo(given, list(targets))
    (pool,) = board_workspace_pools(board, targets, WorkspaceMemoryPools([given])).pools
    return pool


def board_constant_pools(
    board: Board, targets: Sequence[str], given: ConstantMemoryPools | None = None
) -> ConstantMemoryPools:
    """Return constant pools that are part of the program, each in the memory of its name.

    Their memory must be read-only, because the program does not copy constants.

    Parameters
    ----------
    targets
        names of the targets that may access the board's default pools.
    given
        pools of the user; by default those of the board.

    Raises
    ------
    ValueError
        a pool is no memory of the board or lies in volatile memory, or its section or address is
        not possible.
    """
    own = [ConstantPoolInfo(name, list(targets)) for name in board.constant_memories]
    pools = own if given is None else list(given.pools)
    for pool in pools:
        if not board.memory(pool.pool_name).is_read_only:
            lasting = [memory.name for memory in board.memories if memory.is_read_only]
            raise ValueError(
                f'constant pool "{pool.pool_name}": on board {board.name} that memory is empty '
                f"when a program begins; memories that keep constants: {', '.join(lasting)}"
            )
    return ConstantMemoryPools(
        [
            pool.with_properties(**_in_memory(board, pool, [constant_section(pool.pool_name)]))
            for pool in pools
        ]
    )


def _workspace_sections(pool: PoolInfo) -> list[str]:
    """Return the sections of the linker script for a workspace pool: zeroed at start-up, or not.
    The interface of the model allows sections that are not zeroed only for the state pool."""
    return [workspace_section(pool.pool_name), lasting_section(pool.pool_name)]


def _in_memory(board: Board, pool: PoolInfo, sections: Sequence[str]) -> dict[str, Any]:
    """Return the properties of a pool that is part of the program, within the size of its memory.

    Parameters
    ----------
    sections
        sections in which it may lie; the first is the default.
    """
    section = pool.section_name or sections[0]
    if section not in sections:
        raise ValueError(
            f'pool "{pool.pool_name}": section {pool.section_name} is not in the linker script of '
            f"board {board.name}, which has a section for each memory; leave it out"
        )
    address = _address(board, pool, section)
    available = board.pool_bytes(pool.pool_name)
    if address is not None:
        memory = board.memory(pool.pool_name)
        available = memory.base + memory.size_bytes - address - int(pool.pool_offset)
    hint = pool.size_hint_bytes
    return {
        "size_hint_bytes": available if hint < 0 else min(hint, available),
        "is_internal": True,
        "section_name": section,
        **({} if address is None else {"address": address}),
    }


def _address(board: Board, pool: PoolInfo, section: str) -> int | None:
    """Return the fixed address of a pool, which must be alone in its memory, or None if the linker
    chooses the address."""
    memory, address, offset = board.memory(pool.pool_name), int(pool.address), int(pool.pool_offset)
    if address < 0 and not offset:
        return None
    setting = "an address" if address >= 0 else "a pool_offset"
    address = memory.base if address < 0 else address
    if not memory.base <= address + offset < memory.base + memory.size_bytes:
        raise ValueError(
            f'pool "{pool.pool_name}" begins at 0x{address + offset:x}, but on board {board.name} '
            f"memory {memory} ends at 0x{memory.base + memory.size_bytes - 1:x}; give it an "
            "address in that memory, or leave it out"
        )
    program = {board.code_memory: "its code", board.data_memory: "its stack and variables"}
    if memory.name in program or section == lasting_section(memory.name):
        holds = program.get(memory.name, "what it keeps between runs")
        others = [m.name for m in board.memories if m.name not in program]
        raise ValueError(
            f'pool "{pool.pool_name}" has {setting}, but in that memory of board {board.name} the '
            f"program has {holds}, around which the linker places the pool; leave it out, or use "
            f"another memory ({', '.join(others) or 'the board has none'})"
        )
    return address
