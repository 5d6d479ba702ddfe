"""Which bytes of the workspace still matter after each statement of a planned entry?

Found anew from the statements of its PrimFunc alone: what the planner took to be dead, and
which bytes it let overlap, has no say here, so that its mistakes can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule, TensorLoad, Var

from usmp.analysis.memory.access import item_bytes
from usmp.analysis.memory.addresses import address_of, is_op
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.function_liveness import merge_ranges
from usmp.analysis.symbolic.extents import greatest
from usmp.objects import BufferInfoKind, LiveRange, PlacedBuffer, WorkspacePoolInfo
from usmp.objects.attributes import MEMORY_PLAN_ATTR, POOL_ARGS_ATTR
from usmp.objects.entries import concurrent_entries, entry_function_name
from usmp.objects.symbolic_size import SymbolicSize, symbolic_sizes
from usmp.plain.entry_names import ONLY_ENTRY

ByteRange: TypeAlias = tuple[int, int]
"""Half-open range of bytes of a pool."""

LiveBytes: TypeAlias = dict[str, list[ByteRange]]
"""Name of a workspace pool to its live bytes: half-open ranges, sorted and disjoint."""


def live_bytes(mod: IRModule, entry: str = ONLY_ENTRY) -> dict[int, LiveBytes]:
    """The bytes that are live after each top-level statement of an entry that runs something, and
    after the one before the first of these, which is on entry.

    A buffer is live from the first statement that mentions it up to the last; an input from entry,
    an output to exit, and what the plan keeps throughout (such as states) always. What operators
    allocate for themselves is live within their call only. All that entries have which may run at
    the same time is live always.

    Parameters
    ----------
    mod
        a module that `UnifiedStaticMemoryPlanner` planned.
    entry
        name of the entry.

    Returns
    -------
    dict[int, LiveBytes]
        Index of the statement in the body of the entry -> live bytes, for all workspace pools.

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
    """The buffers of an entry's PrimFunc that are whole workspace pools, with the names of
    these."""
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
    """Whether the content was asked to be there from entry to exit."""
    throughout = any(
        r.start <= positions.start and r.stop >= positions.stop for r in buffer.live_ranges
    )
    return bool(buffer.kind == BufferInfoKind.STATE or throughout)


def _is_of_concurrent_entry(mod: IRModule, entry: str, buffer: PlacedBuffer) -> bool:
    """Whether it may be live in an entry that runs at the same time."""
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
    """The buffers that the planner placed, which are views of a pool, with their offsets.

    Several may have one offset; both lists are in program order. What depends on symbolic sizes has
    the bytes that it takes at most.
    """
    waiting: dict[tuple[str, int], list[PlacedBuffer]] = {}
    for placed in plan:
        waiting.setdefault((str(placed.pool_name), int(placed.byte_offset)), []).append(placed)
    states = {
        (str(b.pool_name), int(b.byte_offset)): int(b.size_bytes)
        for b in plan
        if b.kind == BufferInfoKind.STATE
    }
    found: dict[Var, PlacedBuffer] = {}

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
                # What lies behind a state; the state is live anyway.
                kept = states[place]
                known = _taken(waiting[place[0], place[1] + kept], size - kept)
            if known is None:
                raise KeyError(str(statement.buffer.name))
            found[statement.buffer] = known

    for statement in statements:
        tvm_ffi.structural_walk(statement, (tirx.DeclBuffer, on_declaration))
    return found


def _taken(waiting: list[PlacedBuffer], size: int) -> PlacedBuffer | None:
    """Remove the first buffer of this size from those of one offset, and return it.

    The plan has whole lines of a pool's alignment, so that a buffer may take more bytes there than
    its declaration has.
    """
    fitting = [b for b in waiting if 0 <= int(b.size_bytes) - size < int(b.alignment)]
    exact = (b for b in fitting if int(b.size_bytes) == size)
    known = next(exact, fitting[0] if fitting else None)
    if known is not None:
        waiting.remove(known)
    return known


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
    """For each statement the planned buffers whose content it may read or write; a declaration
    only names them."""
    views: dict[Var, set[Var]] = {variable: {variable} for variable in planned}

    def behind(root: object) -> set[Var]:
        found: set[Var] = set()

        def on_variable(variable: Var) -> None:
            found.update(views.get(variable, ()))

        tvm_ffi.structural_walk(root, (Var, on_variable))
        return found

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
