"""The workspace bytes that are live after each statement of a planned entry.

The bytes are computed from the statements of the entry's PrimFunc alone. The planner's live ranges
and overlaps are not used, so that mistakes of the planner show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule, TensorLoad, Var

from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.function_liveness import merge_ranges
from usmp.analysis.symbolic.extents import greatest
from usmp.objects import BufferInfoKind, LiveRange, PlacedBuffer, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR, POOL_ARGS_ATTR
from usmp.objects.entries import concurrent_entries, entry_function_name
from usmp.objects.symbolic_size import SymbolicSize, symbolic_sizes
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.tir.dtypes import item_bytes
from usmp.tir.op_names import is_op

ByteRange: TypeAlias = tuple[int, int]
"""Half-open range of bytes of a pool."""

LiveBytes: TypeAlias = dict[str, list[ByteRange]]
"""The live bytes by name of the workspace pool: half-open ranges, sorted and disjoint."""


def live_bytes(mod: IRModule, entry: str = ONLY_ENTRY) -> dict[int, LiveBytes]:
    """Return the bytes that are live at entry and after each top-level statement that is executed.

    Declarations are not executed. The bytes live at entry have the index of the statement before
    the first executed one. A buffer is live from the first statement that mentions it up to the
    last, an input from the entry, an output to the exit. States, buffers that the plan keeps
    throughout, and buffers of entries that may run at the same time are always live. Buffers within
    an operator are live during its call only, so they are not included.

    Parameters
    ----------
    mod
        a module that `UnifiedStaticMemoryPlanner` planned.
    entry
        name of the entry.

    Returns
    -------
    dict[int, LiveBytes]
        The live bytes of all workspace pools, by index of the statement in the entry's body.

    Raises
    ------
    ValueError
        the module is not planned, or its offsets depend on symbolic sizes.
    """
    memory_plan = MEMORY_PLAN_ATTR.of(mod)
    if memory_plan is None:
        raise ValueError("the module is not planned; apply UnifiedStaticMemoryPlanner first")
    name = entry_function_name(entry)
    pools = workspace_pool_buffers(mod, entry)
    end = max((r.stop for b in memory_plan.buffers for r in b.live_ranges), default=0)
    positions = memory_plan.entry_ranges.get(entry, LiveRange(0, max(end, 1)))
    plan = [b for b in memory_plan.buffers if b.pool_name in pools.values()]
    in_main = [b for b in plan if b.function == name or b.kind == BufferInfoKind.STATE]
    always = [
        _PoolBytes.of(b)
        for b in plan
        if b.kind == BufferInfoKind.STATE
        or (b.function != name and _is_kept(b, positions))
        or _is_of_concurrent_entry(mod, entry, b)
    ]
    statements = tirx.stmt_list(mod[name].body)
    planned = _planned_buffers(statements, pools, in_main, symbolic_sizes(mod[name]))
    mentions = _mentions(statements, planned)
    running = [i for i, s in enumerate(statements) if mentions[i] or not _declares(s)]
    if not running:
        return {}
    begin = running[0] - 1
    ranges: list[tuple[int, int, _PoolBytes]] = [(begin, len(statements), b) for b in always]
    for variable, buffer in planned.items():
        mentioned = [i for i in running if variable in mentions[i]]
        first, last = (mentioned[0], mentioned[-1]) if mentioned else (begin, begin)
        if _is_kept(buffer, positions):
            first, last = begin, len(statements)
        elif buffer.kind == BufferInfoKind.INPUT:
            first = begin
        elif buffer.kind == BufferInfoKind.OUTPUT:
            last = len(statements)
        ranges.append((first, last, _PoolBytes.of(buffer)))
    return {
        index: _merged([*pools.values()], [b for first, last, b in ranges if first <= index < last])
        for index in (begin, *running)
    }


def workspace_pool_buffers(mod: IRModule, entry: str = ONLY_ENTRY) -> dict[Var, str]:
    """Return the buffers of an entry's PrimFunc that are whole workspace pools, with the names of
    the pools."""
    main = mod[entry_function_name(entry)]
    args = list(POOL_ARGS_ATTR.required(main))
    names = {
        param: str(arg.pool_info.pool_name)
        for param, arg in zip(main.params[len(main.params) - len(args) :], args, strict=True)
        if isinstance(arg.pool_info, WorkspacePoolInfo)
    }
    return {
        statement.buffer: names[statement.data]
        for statement in tirx.stmt_list(main.body)
        if isinstance(statement, tirx.DeclBuffer) and statement.data in names
    }


@dataclass(frozen=True)
class _PoolBytes:
    pool: str
    live: ByteRange

    @staticmethod
    def of(buffer: PlacedBuffer) -> _PoolBytes:
        start = int(buffer.byte_offset)
        return _PoolBytes(str(buffer.pool_name), (start, start + int(buffer.size_bytes)))


def _merged(pools: Sequence[str], live: Sequence[_PoolBytes]) -> LiveBytes:
    return {pool: merge_ranges(b.live for b in live if b.pool == pool) for pool in pools}


def _is_kept(buffer: PlacedBuffer, positions: LiveRange) -> bool:
    """Return whether the plan keeps the content from entry to exit."""
    throughout = any(
        r.start <= positions.start and r.stop >= positions.stop for r in buffer.live_ranges
    )
    return bool(buffer.kind == BufferInfoKind.STATE or throughout)


def _is_of_concurrent_entry(mod: IRModule, entry: str, buffer: PlacedBuffer) -> bool:
    """Return whether a buffer may be live in an entry that runs at the same time."""
    ranges = MEMORY_PLAN_ATTR.required(mod).entry_ranges
    return any(
        live.start < ranges[other].stop and ranges[other].start < live.stop
        for pair in concurrent_entries(mod)
        if entry in pair
        for other in pair - {entry}
        for live in buffer.live_ranges
    )


def _planned_buffers(
    statements: Sequence[tirx.Stmt],
    pools: Mapping[Var, str],
    plan: Sequence[PlacedBuffer],
    sizes: Sequence[SymbolicSize],
) -> dict[Var, PlacedBuffer]:
    """Match the declared views of pools with the buffers of the plan.

    Several buffers may have one offset; declarations and plan are in program order. Buffers of
    symbolic size have their largest size.
    """
    waiting: dict[tuple[str, int], list[PlacedBuffer]] = {}
    for placed in plan:
        waiting.setdefault((str(placed.pool_name), int(placed.byte_offset)), []).append(placed)
    states = {
        (str(b.pool_name), int(b.byte_offset)): int(b.size_bytes)
        for b in plan
        if b.kind == BufferInfoKind.STATE
    }
    matched: dict[Var, PlacedBuffer] = {}

    def on_declaration(statement: tirx.DeclBuffer) -> None:
        if not is_op(statement.data, "tirx.address_of"):
            return
        load = statement.data.args[0]
        if isinstance(load, TensorLoad) and load.source in pools:
            (offset,) = load.indices
            if not isinstance(offset, tirx.IntImm):
                raise ValueError(
                    f"buffer {statement.buffer.name} lies at {offset} of pool "
                    f'"{pools[load.source]}", so that it is not known which bytes are dead; leave '
                    "out tir.usmp.dynamic=expression"
                )
            place = pools[load.source], int(offset)
            size = _most_bytes(statement.buffer, sizes)
            known = _taken(waiting.get(place, []), size)
            if known is None:
                # The view has a state, which is always live: match only the bytes behind the state.
                kept = states[place]
                known = _taken(waiting[place[0], place[1] + kept], size - kept)
            if known is None:
                raise KeyError(str(statement.buffer.name))
            matched[statement.buffer] = known

    for statement in statements:
        tvm_ffi.structural_walk(statement, (tirx.DeclBuffer, on_declaration))
    return matched


def _taken(waiting: list[PlacedBuffer], size: int) -> PlacedBuffer | None:
    """Remove the first buffer of this size from the waiting buffers of one offset, and return it.

    The plan rounds sizes up to the alignment of the pool, so that they may exceed the declaration.
    """
    fitting = [b for b in waiting if 0 <= int(b.size_bytes) - size < int(b.alignment)]
    exact = (b for b in fitting if int(b.size_bytes) == size)
    placed = next(exact, fitting[0] if fitting else None)
    if placed is not None:
        waiting.remove(placed)
    return placed


def _most_bytes(buffer: Var, sizes: Sequence[SymbolicSize]) -> int:
    if has_static_size(buffer):
        return size_bytes(buffer)
    (extent,) = buffer.shape
    return max(greatest(extent, sizes), 0) * item_bytes(str(buffer.dtype))


def _declares(statement: tirx.Stmt) -> bool:
    return isinstance(statement, tirx.DeclBuffer | tirx.AllocBuffer)


def _mentions(
    statements: Sequence[tirx.Stmt], planned: Mapping[Var, PlacedBuffer]
) -> list[set[Var]]:
    """Return for each statement the planned buffers that it may read or write.

    A declaration accesses only the buffers that its address is computed from."""
    views: dict[Var, set[Var]] = {variable: {variable} for variable in planned}

    def behind(root: object) -> set[Var]:
        buffers: set[Var] = set()

        def on_variable(variable: Var) -> None:
            buffers.update(views.get(variable, ()))

        tvm_ffi.structural_walk(root, (Var, on_variable))
        return buffers

    def on_declaration(statement: tirx.DeclBuffer) -> None:
        if statement.buffer not in planned:
            views[statement.buffer] = behind(statement.data)

    def on_bind(statement: tirx.Bind) -> None:
        views[statement.var] = behind(statement.value)

    mentions = []
    for statement in statements:
        callbacks = [(tirx.DeclBuffer, on_declaration), (tirx.Bind, on_bind)]
        tvm_ffi.structural_walk(statement, callbacks, order="pre")
        if isinstance(statement, tirx.DeclBuffer):
            computed = address_of(statement.data).computed if statement.data is not None else []
            mentions.append(set().union(*map(behind, computed)))
        else:
            mentions.append(behind(statement))
    return mentions
