"""BufferInfos as the problem that the solver reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from usmp import _ffi_api
from usmp.objects.buffers import BufferInfo
from usmp.objects.pool_places import planned_limit
from usmp.objects.pools import ConstantPoolInfo, PoolInfo
from usmp_solver import Pool, Problem
from usmp_solver.buffers import preferred_first
from usmp_solver.columns import Column


def problem_of(buffers: Iterable[BufferInfo]) -> Problem:
    """The problem of at least one buffer, in the order of the buffers.

    Pools are identified by their names, since the name is what the emitted code will know them by.
    Their order is one in which every buffer's candidates stand in the order of its own list, first
    named first where there is a choice; if the lists contradict each other, first named first.

    Conflicts that follow from live ranges are not listed. Conflicts and overlaps with other buffers
    are dropped: they constrain nothing.

    A pool is what a plan may use of its memory: offset 0 is its first byte behind `pool_offset`
    whose address suits all buffers that may lie there.

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
    largest = np.ones(len(order), np.int64)
    np.maximum.at(largest, columns["candidates"], np.repeat(columns["alignments"], np.diff(first)))
    columns["candidates"] = ranks[columns["candidates"]]
    pools = tuple(_pool(infos[number], int(largest[number])) for number in order)
    return Problem(names=names, pools=pools, **columns)


def columns_of(fields: Mapping[str, Any]) -> dict[str, Column]:
    """The columns that C++ wrote."""
    return {str(name): np.asarray(np.from_dlpack(each), np.int64) for name, each in fields.items()}


def _pool(info: PoolInfo, alignment: int) -> Pool:
    is_constant = isinstance(info, ConstantPoolInfo)
    return Pool(str(info.pool_name), planned_limit(info, alignment), is_constant)
