"""Conversion of BufferInfos into a problem of the solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from usmp import _ffi_api
from usmp.objects.buffers import BufferInfo
from usmp.objects.placements import PoolAllocation
from usmp.objects.pool_places import has_place, planned_limit, skipped_bytes
from usmp.objects.pools import ConstantPoolInfo, PoolInfo
from usmp_solver import Pool, Problem
from usmp_solver.buffers import preferred_first
from usmp_solver.columns import Column


def problem_of(buffers: Iterable[BufferInfo]) -> Problem:
    """Return the problem of at least one buffer, in the order of the buffers.

    Pools are identified by name, as in the emitted code. Their order agrees with the candidate list
    of every buffer. Where lists leave it open or contradict each other, first occurrence decides.

    Conflicts that follow from live ranges are not listed. Conflicts and overlaps with buffers that
    are not in the problem are dropped.

    A pool is the memory that a plan may use (see `usmp.objects.pool_places`): offset 0 is the first
    byte behind `pool_offset` whose address suits all buffers that may lie there.

    Raises
    ------
    ValueError
        A buffer has no candidate or is listed twice; two pools of one name differ in kind, size
        hint or place (the emitted code would give both the same memory); or a pin ends beyond 64
        bits.
    """
    fields = dict(_ffi_api.problem_columns(list(buffers)))
    names, infos = list(map(str, fields.pop("names"))), list(fields.pop("pools"))
    columns = columns_of(fields)
    first, candidates = columns["candidate_first"].tolist(), columns["candidates"].tolist()
    lists = dict.fromkeys(tuple(candidates[begin:end]) for begin, end in pairwise(first))
    order = preferred_first(lists)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    columns["candidates"] = ranks[columns["candidates"]]
    infos = [infos[number] for number in order]
    pools = map(_pool, infos, _alignments(infos, columns))
    return Problem(names=names, pools=tuple(pools), **columns)


def skipped_by_pool(infos: Sequence[PoolInfo], problem: Problem) -> dict[str, int]:
    """Return the bytes that each pool loses before offset 0, by name, if it loses any.

    Parameters
    ----------
    infos
        the pools, in the order of the pools of `problem`, the result of `problem_of`.
    """
    skipped = map(skipped_bytes, infos, _alignments(infos, problem.columns()))
    return {pool.name: n for pool, n in zip(problem.pools, skipped, strict=True) if n}


def _alignments(infos: Sequence[PoolInfo], columns: Mapping[str, Column]) -> list[int]:
    """Return for each pool the alignment that suits every buffer that may lie there; 1 if the plan
    always begins at the first byte."""
    counts = np.diff(columns["candidate_first"])
    alignments = [1] * len(infos)
    for number, info in enumerate(infos):
        if has_place(info):
            of_pool = np.repeat(columns["alignments"], counts)[columns["candidates"] == number]
            alignments[number] = lcm(*map(int, np.unique(of_pool)))
    return alignments


def is_within_limits(plan: Mapping[BufferInfo, PoolAllocation]) -> bool:
    """Return whether a plan that was made with fewer candidate pools still fits, if offset 0 of
    each pool is aligned for all buffers that may lie there."""
    if not any(has_place(pool) for buffer in plan for pool in buffer.pool_candidates):
        return True
    limits = {pool.name: pool.limit for pool in problem_of(plan).pools}
    return all(
        (limit := limits[str(place.pool_info.pool_name)]) is None
        or int(place.byte_offset) + int(buffer.size_bytes) <= limit
        for buffer, place in plan.items()
    )


def columns_of(fields: Mapping[str, Any]) -> dict[str, Column]:
    """Return the columns of a C++ result as arrays of int64, by name."""
    return {
        str(name): np.asarray(np.from_dlpack(column), np.int64) for name, column in fields.items()
    }


def _pool(info: PoolInfo, alignment: int) -> Pool:
    is_constant = isinstance(info, ConstantPoolInfo)
    return Pool(str(info.pool_name), planned_limit(info, alignment), is_constant)
