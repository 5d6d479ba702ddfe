"""The pools that may hold inputs and outputs, and the pools that hold nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.objects import (
    ConstantMemoryPools,
    PoolInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.annotations import (
    CONSTANT_DATA_ATTR,
    INPUT_TENSOR_ATTR,
    OUTPUT_TENSOR_ATTR,
    STREAMED_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    IO_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.entries import called_by_users
from usmp.objects.module_pools import listed_pools
from usmp.objects.pools import ANY_IO, NO_IO, ONLY_IO
from usmp.planning.state_pool import state_pool_of
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown
from usmp.tir.nodes import nodes_of

_IO_TENSORS = (INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR, STREAMED_TENSOR_ATTR)
"""Annotations of allocations that the application writes or reads; streamed ones are rings."""


def preferred_order(workspace: Sequence[PoolInfo]) -> list[PoolInfo]:
    """Return workspace pools, the preferred one first. Pools with `io=only` come first,
    because this leaves bytes in other pools, which all buffers can use."""
    return sorted(workspace, key=lambda pool: str(pool.io) != ONLY_IO)


@dataclass(frozen=True)
class IOPools:
    """The rule that says which pools may hold inputs and outputs, and which all other buffers.

    Parameters
    ----------
    pool
        holds all inputs and outputs; None if they may lie in several pools.
    """

    pool: WorkspacePoolInfo | None

    def permitted(
        self, stmt: tirx.AllocBuffer, pools: list[PoolInfo], function: str
    ) -> list[PoolInfo]:
        """Return the pools among `pools` that may hold an allocation of `function`, in their
        order.

        Raises
        ------
        ValueError
            there is none.
        """
        if CONSTANT_DATA_ATTR.is_on(stmt):
            return pools
        is_io = is_io_tensor(stmt)
        permitted = [pool for pool in pools if self.permits(pool, is_io)]
        if not permitted:
            role = "an input or output" if is_io else "neither an input nor an output"
            known = ", ".join(f"{shown(pool.pool_name)} with io={pool.io}" for pool in pools)
            io_pool = f"; I/O pool: {shown(self.pool.pool_name)}" if self.pool and is_io else ""
            raise ValueError(
                f"{called_by_users(function)}: no pool may hold buffer {shown(stmt.buffer.name)}, "
                f"which is {role} "
                f"({known}{io_pool}); add a pool for it, or leave out io= of one"
            )
        return pools if len(permitted) == len(pools) else permitted

    def permits(self, pool: PoolInfo, is_io: bool) -> bool:
        """Return whether a pool may hold inputs and outputs, or, without `is_io`, other buffers."""
        if not is_io:
            return str(pool.io) != ONLY_IO
        is_taken = self.pool is None or str(pool.pool_name) == str(self.pool.pool_name)
        return is_taken and str(pool.io) != NO_IO


def io_pools_of(mod: IRModule) -> IOPools:
    """Return the rule of a module about the pools of its inputs and outputs.

    Raises
    ------
    ValueError
        the attribute `io_memory_pool` has another type, or see `choose_io_pool`.
    """
    io_pool = IO_MEMORY_POOL_ATTR.of(mod)
    if io_pool is not None and not isinstance(io_pool, WorkspacePoolInfo):
        raise ValueError(
            f'the attribute "{IO_MEMORY_POOL_ATTR}" of the module must be a WorkspacePoolInfo, '
            f"not {io_pool}"
        )
    workspace = listed_pools(mod, WORKSPACE_MEMORY_POOLS_ATTR)
    constants = listed_pools(mod, CONSTANT_MEMORY_POOLS_ATTR)
    states = state_pool_of(mod)
    name = None if io_pool is None else str(io_pool.pool_name)
    _check_io_pools(name, constants, states)
    return IOPools(None if name is None else _io_pool(name, workspace))


def choose_io_pool(
    name: str | None,
    workspace: WorkspaceMemoryPools | None,
    constants: ConstantMemoryPools | None,
    states: WorkspacePoolInfo | None,
    is_planned: bool,
) -> WorkspacePoolInfo | None:
    """Return the workspace pool of a name, and check the `io` of all pools.

    Parameters
    ----------
    name
        name of the I/O pool; None if there is none.
    workspace, constants
        the pools that are listed.
    states
        the state pool, if there is one.
    is_planned
        whether inputs and outputs are in the workspace.

    Raises
    ------
    ValueError
        the I/O pool is no workspace pool, is the state pool, or has io=no; a constant pool has
        io=, or the state pool io=only; or inputs and outputs are not planned, but a pool is chosen
        for them or has io=.
    """
    pools = list(workspace.pools) if workspace is not None else []
    _check_io_pools(name, list(constants.pools) if constants is not None else [], states)
    io_pool = None if name is None else _io_pool(name, pools)
    _check_planned(io_pool, pools, lambda: is_planned)
    return io_pool


def check_io_is_planned(mod: IRModule) -> None:
    """Refuse an I/O pool, and pools with io=, for a module without allocations of inputs and
    outputs.

    Raises
    ------
    ValueError
        the application provides inputs and outputs, or see `io_pools_of`.
    """

    def is_planned() -> bool:
        functions = prim_funcs(mod).values()
        return any(is_io_tensor(s) for f in functions for s in nodes_of(f.body, tirx.AllocBuffer))

    pools = listed_pools(mod, WORKSPACE_MEMORY_POOLS_ATTR)
    _check_planned(io_pools_of(mod).pool, pools, is_planned)


def _check_io_pools(
    io_pool_name: str | None, constants: Sequence[PoolInfo], states: PoolInfo | None
) -> None:
    """Refuse an I/O pool that is the state pool, and pools that state or constants cannot use.

    `io=` of a constant pool is a mistake, because constants are neither inputs nor outputs. So is
    `io=only` of a state pool, which holds nothing but state.
    """
    for pool in constants:
        if str(pool.io) != ANY_IO:
            raise ValueError(
                f'constant pool "{shown(pool.pool_name)}": io={pool.io} is for workspace pools, '
                "since no input and no output is constant; leave it out"
            )
    if states is None:
        return
    if io_pool_name == str(states.pool_name):
        raise ValueError(
            f'I/O pool "{shown(io_pool_name)}" is the state pool, which holds nothing but state; '
            "name another pool for one of them"
        )
    if str(states.io) == ONLY_IO:
        raise ValueError(
            f'state pool "{shown(states.pool_name)}" has io=only, which keeps state out; leave out '
            "io=only, or name another state pool"
        )


def _io_pool(name: str, workspace: Sequence[PoolInfo]) -> WorkspacePoolInfo:
    """Return the workspace pool of this name; refuse one that cannot hold inputs and outputs."""
    if not name:
        raise ValueError(
            "the name of the I/O pool is missing; name a workspace pool (--io-pool POOL; in "
            "Python io_memory_pool), or leave it out"
        )
    named = {str(pool.pool_name): pool for pool in workspace if isinstance(pool, WorkspacePoolInfo)}
    if name not in named:
        problem = f'I/O pool "{shown(name)}" is no workspace pool'
        message = unknown_name(problem, name, named, "Workspace pools")
        raise ValueError(message if named else f"{message}; list them (--workspace-pools)")
    if str(named[name].io) == NO_IO:
        raise ValueError(
            f'I/O pool "{shown(name)}" has io=no, which keeps inputs and outputs out; leave out '
            "io=no, or name another I/O pool"
        )
    return named[name]


def _check_planned(
    io_pool: PoolInfo | None, workspace: Sequence[PoolInfo], is_planned: Callable[[], bool]
) -> None:
    """Refuse an I/O pool and pools with `io=` if no pool holds inputs and outputs, because they
    would have no effect."""
    restricted = [pool for pool in workspace if str(pool.io) != ANY_IO]
    if (io_pool is None and not restricted) or is_planned():
        return
    if io_pool is not None:
        option = f'I/O pool "{shown(io_pool.pool_name)}"'
    else:
        option = f'io={restricted[0].io} of pool "{shown(restricted[0].pool_name)}"'
    raise ValueError(
        f"{option}: inputs and outputs are not in the workspace, so that no pool holds them; place "
        "them there with tir.usmp.use_workspace_io=1 (tvmc: --workspace-io), or leave it out"
    )


def is_io_tensor(stmt: tirx.AllocBuffer) -> bool:
    """Return whether an allocation holds an input or output, or rows of one in a ring."""
    return any(annotation.is_on(stmt) for annotation in _IO_TENSORS)
