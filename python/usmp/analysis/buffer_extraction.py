"""Extraction of the buffers to place, with their conflicts.

RFC 0009 of apache/tvm-rfcs, "Step 2 : Run an analysis pass".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.function_liveness import PositionRange, merge_ranges
from usmp.analysis.pressure import memory_pressure
from usmp.analysis.set_overlaps import SafeDistances, set_overlaps
from usmp.analysis.state_tails import share_tails, state_tails
from usmp.analysis.stmt_pool_allocations import create_array_buffer_info, is_constant_info
from usmp.objects import (
    BufferInfo,
    BufferInfoAnalysis,
    BufferInfoKind,
    ConstantPoolInfo,
    LiveRange,
    PoolInfo,
)
from usmp.objects.arguments.executor import Executor, executor_of
from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    FIXED_OFFSET_ATTR,
    INPUT_TENSOR_ATTR,
    LIVE_THROUGHOUT_ATTR,
    OUTPUT_TENSOR_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.attributes.attribute import Attributes
from usmp.objects.pool_places import line_bytes, rounded_up
from usmp.support.alignment import is_alignment
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.dtypes import item_bytes

PLANNED_SCOPES = ("global", "global.workspace")
"""Storage scopes of planned memory; others (registers, accelerator memory) are not planned."""

DEFAULT_DATA_ALIGNMENT = 64
"""The `data_alignment` of a TVM buffer without an alignment of its own, in bytes."""


def extract_buffer_info(
    main_func: tirx.PrimFunc,
    mod: IRModule,
    overlap: bool = True,
    preserve_inputs: bool = False,
    sizes: Mapping[tirx.AllocBuffer, int] | None = None,
    distances: SafeDistances | None = None,
) -> BufferInfoAnalysis:
    """Return the buffers of `main_func` and of its callees in `mod`, with their conflicts.

    Constants are planned, and each AllocBuffer of constant size in global memory outside of
    parallel, vectorized, unrolled and thread-bound loops. They must carry their candidate pools
    (see `usmp.transform.AssignPoolInfo`). Other allocations are not planned.

    Parameters
    ----------
    main_func
        the AoT main PrimFunc, usually `mod["__tvm_main__"]`.
    mod
        the module with the PrimFuncs that `main_func` calls, in flat TIR.
    overlap
        whether an output may overwrite the bytes of a dying input that were read for the last time
        (see `safe_overlap`); if not, buffers that are live together share no bytes.
    preserve_inputs
        whether planned inputs must be intact when the run ends.
    sizes
        the size of each allocation in bytes, where it differs from the size of its buffer.
    distances
        the safe distances between buffers; by default those of `main_func`.

    Returns
    -------
    BufferInfoAnalysis
        `buffer_info_stmts` maps each BufferInfo, in program order, to its AllocBuffer. If candidate
        pools have an `alignment`, sizes are multiples of the largest. `memory_pressure` is the
        largest number of workspace bytes live at once. `pool_memory_pressure` has this number for
        each pool, over the buffers that may go there. Conflicts are symmetric. Constants live all
        the time, in pools of their own, and conflict with each other only.

    Raises
    ------
    ValueError
        an allocation without candidate pools, or with pools of the wrong kind; a constant
        that is written, or whose data is not as large as its buffer; a pin that is no multiple of
        the alignment, or on an allocation that is not planned; recursion; TIR that is not flat.
    """
    facts = module_facts(mod).of(_name_of(main_func, mod))
    liveness = facts.liveness
    executor = executor_of(mod)
    buffers: list[tuple[BufferInfo, tirx.AllocBuffer]] = []
    names = UniqueNames()
    for stmt, ranges in liveness.allocations.items():
        is_constant = CONSTANT_DATA_ATTR.is_on(stmt)
        function = liveness.functions[stmt]
        # Plan constants in parallel loops too, because iterations may share read-only data.
        if not is_plannable(stmt) or (stmt in liveness.unplannable and not is_constant):
            _check_left_alone(stmt, function)
            continue
        if is_constant:
            _check_constant(stmt, function, liveness.allocation_use[stmt].access)
        name, kind, live = _role(stmt, ranges, liveness.length)
        if kind == BufferInfoKind.INPUT and preserve_inputs:
            live = [(0, liveness.length)]
        pools = _candidate_pools(stmt, function, is_constant)
        size = (sizes or {}).get(stmt, size_bytes(stmt.buffer))
        info = BufferInfo(
            name_hint=names.unique(name),
            size_bytes=rounded_up(size, line_bytes(pools)),
            pool_candidates=pools,
            alignment=byte_alignment(stmt, executor),
            live_ranges=[LiveRange(start, stop) for start, stop in merge_ranges(live)],
            kind=kind,
            fixed_offset=FIXED_OFFSET_ATTR.of(stmt),
        )
        buffers.append((info, stmt))
    workspace = [info for info, _ in buffers if not is_constant_info(info)]
    constants = [info for info, _ in buffers if is_constant_info(info)]
    set_conflicts(workspace)
    set_conflicts(constants)
    stmts = dict(buffers)
    _check_states(stmts)
    tails = state_tails(facts)
    if overlap:
        allocated = [(info, stmts[info]) for info in workspace]
        set_overlaps(allocated, distances or facts.overlap, preserve_inputs)
        share_tails(allocated, tails)
    return BufferInfoAnalysis(stmts, memory_pressure(workspace), pool_pressures(stmts))


def pool_pressures(stmts: Mapping[BufferInfo, tirx.AllocBuffer]) -> dict[str, int]:
    """Return the memory pressure of each pool, in bytes, over the buffers that may go there."""
    candidates: dict[str, list[BufferInfo]] = {}
    for info in create_array_buffer_info(stmts):
        for name in {str(pool.pool_name): None for pool in info.pool_candidates}:
            candidates.setdefault(name, []).append(info)
    return {name: memory_pressure(infos) for name, infos in sorted(candidates.items())}


def _check_left_alone(stmt: tirx.AllocBuffer, function: str) -> None:
    """Raise if an allocation that is not planned has an annotation that only the planner honors."""
    annotations: Attributes = (
        FIXED_OFFSET_ATTR,
        LIVE_THROUGHOUT_ATTR,
        INPUT_TENSOR_ATTR,
        OUTPUT_TENSOR_ATTR,
        STATE_TENSOR_ATTR,
    )
    for attribute in annotations:
        if attribute.is_on(stmt):
            raise ValueError(
                f"{function}: buffer {stmt.buffer.name} is annotated with {attribute}, but cannot "
                "be planned: its size is not static, its scope is not global, or it stands in a "
                "loop that is not serial"
            )


def _check_constant(stmt: tirx.AllocBuffer, function: str, access: Access) -> None:
    """Raise if a constant is written, or if its data does not match its buffer."""
    if Access.WRITE in access:
        raise ValueError(
            f"{function}: constant {stmt.buffer.name} is written, but constants lie in read-only "
            "memory; copy it to a buffer first"
        )
    data, expected = CONSTANT_DATA_ATTR.required(stmt), size_bytes(stmt.buffer)
    if not isinstance(data, tvm.runtime.Tensor):
        raise ValueError(
            f'{function}: the annotation "{CONSTANT_DATA_ATTR}" of buffer {stmt.buffer.name} must '
            f"be a tvm.runtime.Tensor, but is {data}"
        )
    if data.numpy().nbytes != expected:
        raise ValueError(
            f"{function}: constant {stmt.buffer.name} has {expected} bytes, but its data has "
            f"{data.numpy().nbytes}"
        )


def _check_states(stmts: Mapping[BufferInfo, tirx.AllocBuffer]) -> None:
    """Check that each state is allocated once, because states are identified by name."""
    names: set[str] = set()
    for info, stmt in stmts.items():
        if info.kind == BufferInfoKind.STATE:
            name = STATE_TENSOR_ATTR.required(stmt)
            if name in names:
                raise ValueError(
                    f'state "{name}" is allocated twice; allocate it once, or give one of the two '
                    "another name"
                )
            names.add(name)


def set_conflicts(buffers: Sequence[BufferInfo]) -> None:
    """Let two buffers conflict when a live range of one intersects a live range of the other."""
    ranges = [(live.start, live.stop, i) for i, b in enumerate(buffers) for live in b.live_ranges]
    conflicts: list[dict[int, None]] = [{} for _ in buffers]
    active: list[tuple[int, int]] = []
    for start, stop, index in sorted(ranges):
        active = [(other_stop, other) for other_stop, other in active if other_stop > start]
        for _, other in active:
            if other != index:
                conflicts[index][other] = None
                conflicts[other][index] = None
        active.append((stop, index))
    for info, others in zip(buffers, conflicts, strict=True):
        info.set_conflicts([buffers[other] for other in sorted(others)])


def _role(
    stmt: tirx.AllocBuffer, ranges: Sequence[PositionRange], end: int
) -> tuple[str, BufferInfoKind, Sequence[PositionRange]]:
    """Return the name, kind and live ranges of a buffer.

    Inputs live from the entry, outputs to the exit, states and constants always."""
    first = min((start for start, _ in ranges), default=0)
    last = max((stop for _, stop in ranges), default=0)
    if LIVE_THROUGHOUT_ATTR.of(stmt):
        first, last, ranges = 0, end, [(0, end)]
    name = INPUT_TENSOR_ATTR.of(stmt)
    if name is not None:
        return name, BufferInfoKind.INPUT, [(0, max(last, 1))]
    name = OUTPUT_TENSOR_ATTR.of(stmt)
    if name is not None:
        return name, BufferInfoKind.OUTPUT, [(min(first, end - 1), end)]
    name = STATE_TENSOR_ATTR.of(stmt)
    if name is not None:
        return name, BufferInfoKind.STATE, [(0, end)]
    if CONSTANT_DATA_ATTR.is_on(stmt):
        return stmt.buffer.name, BufferInfoKind.INTERMEDIATE, [(0, end)]
    return stmt.buffer.name, BufferInfoKind.INTERMEDIATE, ranges


def _name_of(main_func: tirx.PrimFunc, mod: IRModule) -> str:
    for variable, func in mod.functions.items():
        if func.same_as(main_func):
            return str(variable.name_hint)
    raise ValueError("main_func is not a function of the module")


def is_plannable(stmt: tirx.AllocBuffer) -> bool:
    """Return whether an allocation has a static size and a scope of planned memory."""
    return has_static_size(stmt.buffer) and stmt.buffer.scope() in PLANNED_SCOPES


def may_share_bytes(stmt: tirx.AllocBuffer) -> bool:
    """Return whether an allocation is plannable and not always live."""
    always_live: Attributes = (CONSTANT_DATA_ATTR, LIVE_THROUGHOUT_ATTR, STATE_TENSOR_ATTR)
    return is_plannable(stmt) and not any(annotation.is_on(stmt) for annotation in always_live)


def _candidate_pools(stmt: tirx.AllocBuffer, function: str, is_constant: bool) -> list[PoolInfo]:
    pools = annotated_pools(stmt, function)
    if not pools:
        raise ValueError(
            f"{function}: buffer {stmt.buffer.name} has no candidate pools; apply "
            "usmp.transform.AssignPoolInfo, or annotate the AllocBuffer with "
            f'"{CANDIDATE_POOLS_ATTR}"'
        )
    for pool in pools:
        if isinstance(pool, ConstantPoolInfo) != is_constant:
            kind = "a constant" if is_constant else "not a constant"
            raise ValueError(
                f"{function}: buffer {stmt.buffer.name} is {kind}, so it cannot be placed in the "
                f"{'workspace' if is_constant else 'constant'} pool {pool.pool_name}"
            )
    return pools


def annotated_pools(stmt: tirx.AllocBuffer, function: str) -> list[PoolInfo]:
    """Return the candidate pools in the annotation of an allocation; none without an annotation.

    Raises
    ------
    ValueError
        the annotation is not a list of pools.
    """
    pools = CANDIDATE_POOLS_ATTR.of(stmt) or ()
    if not isinstance(pools, Sequence) or not all(isinstance(p, PoolInfo) for p in pools):
        raise ValueError(
            f'{function}: the annotation "{CANDIDATE_POOLS_ATTR}" of buffer '
            f"{stmt.buffer.name} must be a list of memory pools, but is {pools}"
        )
    return list(pools)


def byte_alignment(
    stmt: tirx.AllocBuffer, executor: Executor, pools: Sequence[PoolInfo] | None = None
) -> int:
    """Return the alignment of an allocation, in bytes.

    It is the least common multiple of the alignments of the executor, of the elements, of the
    annotation and of the candidate pools. The alignment of the buffer is included if it is larger
    than TVM's default.

    Parameters
    ----------
    stmt
        the allocation.
    executor
        the executor that runs the code.
    pools
        candidate pools instead of those in the annotation.

    Raises
    ------
    ValueError
        the annotated alignment is not a power of two.
    """
    candidates = annotated_pools(stmt, "") if pools is None else pools
    is_constant = CONSTANT_DATA_ATTR.is_on(stmt)
    own_alignment = int(stmt.buffer.data_alignment)
    return lcm(
        executor.constant_byte_alignment if is_constant else executor.workspace_byte_alignment,
        item_bytes(str(stmt.buffer.dtype)),
        own_alignment if own_alignment > DEFAULT_DATA_ALIGNMENT else 1,
        _annotated_alignment(stmt),
        line_bytes(candidates),
    )


def _annotated_alignment(stmt: tirx.AllocBuffer) -> int:
    alignment = ALIGNMENT_ATTR.get(stmt, 1)
    if not is_alignment(alignment):
        raise ValueError(
            f'the annotation "{ALIGNMENT_ATTR}" of buffer {stmt.buffer.name} must be a power of '
            f"two (bytes), not {alignment}"
        )
    return alignment
