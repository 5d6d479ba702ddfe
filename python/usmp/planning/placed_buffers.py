"""The place of each buffer in a plan, as plain data."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import annotated_pools
from usmp.analysis.entry_buffers import entry_lengths
from usmp.analysis.joint_buffers import entry_ranges
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.state_tails import kept_bytes, state_tails
from usmp.analysis.stmt_pool_allocations import assign_stmt_pool_allocations, identical_constants
from usmp.analysis.used_overlaps import used_overlaps
from usmp.objects import BufferInfoKind, LiveRange, PlacedBuffer
from usmp.objects.attributes.annotations import STATE_BYTES_ATTR, STATE_TENSOR_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.pool_places import line_bytes, rounded_up
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.plan import Plan
from usmp.support.text.unique_names import UniqueNames


def placed_buffers(mod: IRModule, found: Plan) -> list[PlacedBuffer]:
    """Return the placed buffers of a plan, in program order.

    A state that is the start of a larger buffer becomes two placed buffers: the state, and the
    bytes behind it, which are live in a part of one run only.

    Parameters
    ----------
    mod
        the module that was planned.
    found
        its plan.
    """
    stmts = found.analysis.buffer_info_stmts
    functions = _functions_of_allocations(mod)
    identical = identical_constants(stmts)
    overlaps = used_overlaps(found.buffers, found.allocations)
    extended = {
        STATE_TENSOR_ATTR.required(stmt) for stmt in functions if STATE_BYTES_ATTR.is_on(stmt)
    }
    placed: list[tuple[tirx.AllocBuffer, PlacedBuffer]] = []
    for buffer in found.buffers:
        stmt, allocation = stmts[buffer], found.allocations[buffer]
        is_state = buffer.kind == BufferInfoKind.STATE
        # The entry that has this statement need not be the one that extends the state.
        is_extended = is_state and STATE_TENSOR_ATTR.required(stmt) in extended
        placed_buffer = PlacedBuffer(
            name=buffer.name_hint,
            function=functions[stmt],
            kind=buffer.kind,
            pool_name=allocation.pool_info.pool_name,
            byte_offset=allocation.byte_offset,
            size_bytes=kept_bytes(stmt) if is_extended else buffer.size_bytes,
            alignment=buffer.alignment,
            live_ranges=list(buffer.live_ranges),
            identical=[i.name_hint for i in identical.get(buffer, ())],
            # Only the bytes behind a state overlap with others, never the state.
            overlaps={}
            if is_state
            else {o.name_hint: distance for o, distance in overlaps[buffer].items()},
        )
        placed.append((stmt, placed_buffer))
    order = {stmt: position for position, stmt in enumerate(functions)}
    for stmt, tail in placed_tails(mod, found):
        later = (
            index
            for index, (other, _) in enumerate(placed)
            if functions[other] == functions[stmt] and order[other] > order[stmt]
        )
        placed.insert(next(later, len(placed)), (stmt, tail))
    return [placed_buffer for _, placed_buffer in placed]


def placed_tails(mod: IRModule, plan: Plan) -> list[tuple[tirx.AllocBuffer, PlacedBuffer]]:
    """Return the placed bytes behind states, each with the allocation that contains them."""
    stmts = plan.analysis.buffer_info_stmts
    if not any(STATE_BYTES_ATTR.is_on(stmt) for stmt in stmts.values()):
        return []
    functions = _functions_of_allocations(mod)
    allocations = assign_stmt_pool_allocations(stmts, plan.allocations)
    alignments = {stmt: int(info.alignment) for info, stmt in stmts.items()}
    names = UniqueNames(str(info.name_hint) for info in plan.buffers)
    starts = {name: start for name, (start, _) in entry_ranges(entry_lengths(mod)).items()}
    tails: list[tuple[tirx.AllocBuffer, PlacedBuffer]] = []
    for entry in entries_of(mod):
        ranges = state_tails(module_facts(mod).of(entry_function_name(entry)))
        for stmt, (start, stop) in ranges.items():
            kept, name = kept_bytes(stmt), f"{STATE_TENSOR_ATTR.required(stmt)}_new_rows"
            line = line_bytes(annotated_pools(stmt, functions[stmt]))
            tail = PlacedBuffer(
                name=names.unique(name if entry == ONLY_ENTRY else f"{entry}.{name}"),
                function=functions[stmt],
                kind=BufferInfoKind.INTERMEDIATE,
                pool_name=allocations[stmt].pool_info.pool_name,
                byte_offset=allocations[stmt].byte_offset + kept,
                size_bytes=rounded_up(size_bytes(stmt.buffer), line) - kept,
                alignment=_alignment_at(alignments[stmt], kept),
                live_ranges=[LiveRange(starts[entry] + start, starts[entry] + stop)],
                identical=[],
            )
            tails.append((stmt, tail))
    return tails


def _alignment_at(alignment: int, offset: int) -> int:
    """Return the alignment of the byte at an offset in an aligned buffer."""
    while offset % alignment:
        alignment //= 2
    return alignment


def _functions_of_allocations(mod: IRModule) -> dict[tirx.AllocBuffer, str]:
    """Return the name of the PrimFunc of each allocation, in program order."""
    functions: dict[tirx.AllocBuffer, str] = {}
    for variable, func in mod.functions.items():
        name = str(variable.name_hint)

        def on_allocation(stmt: tirx.AllocBuffer, name: str = name) -> None:
            functions[stmt] = name

        if isinstance(func, tirx.PrimFunc):
            tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    return functions
