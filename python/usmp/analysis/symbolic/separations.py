"""Bytes of buffers and safe distances between them, at each combination of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.symbolic.distances import DistancesOfAllSizes
from usmp.analysis.symbolic.extents import value_of
from usmp.analysis.symbolic.instances import Instances, InstanceStore, upper_bounds
from usmp.objects import BufferInfo
from usmp.objects.symbolic_size import SymbolicSize
from usmp.tir.dtypes import item_bytes

Values = np.ndarray
"""A number for each combination of sizes, in the order of `all_sizes`."""


@dataclass(frozen=True, eq=False)
class BytesBySize:
    """The bytes of buffers at each combination of sizes.

    Parameters
    ----------
    sizes
        the symbolic sizes.
    values
        the values of each size, by name.
    extents
        the bytes of each buffer, as an `int32` expression of the sizes.
    bytes
        the bytes of each buffer, as numbers.
    distances
        the safe distance (see `SafeOverlap`) of each pair (dying, written) in `overlaps`, in bytes.
    """

    sizes: list[SymbolicSize]
    values: dict[str, Values]
    extents: dict[BufferInfo, tirx.Expr]
    bytes: dict[BufferInfo, Values]
    distances: dict[tuple[BufferInfo, BufferInfo], Values]


def bytes_by_size(
    main: str,
    mod: IRModule,
    stmts: Mapping[BufferInfo, tirx.AllocBuffer],
    store: InstanceStore,
) -> BytesBySize:
    """Return the bytes of the buffers of a module, and the safe distances between them.

    Parameters
    ----------
    main
        the name of the main function; its sizes have upper bounds.
    mod
        the module.
    stmts
        the allocation of each buffer.
    store
        a cache of instances of PrimFuncs.

    Raises
    ------
    ValueError
        an extent is not an expression of the sizes.
    """
    instances = Instances(mod, main, store)
    largest = instances.at(upper_bounds(instances.sizes))
    distances = DistancesOfAllSizes(main, instances, largest, store)
    elements = instances.extents()
    extents: dict[BufferInfo, tirx.Expr] = {}
    for info, stmt in stmts.items():
        if stmt not in elements:
            raise ValueError(f"the size of buffer {info.name_hint} is no expression of sizes")
        item = item_bytes(str(stmt.buffer.dtype))
        extents[info] = elements[stmt] * item
        if (np.asarray(value_of(extents[info], distances.values)) < 0).any():
            extents[info] = tirx.max(extents[info], tirx.IntImm("int32", 0))
    memories = {symbolic: stmt.buffer for stmt, symbolic in largest.allocations.items()}
    sizes = {info: distances.bytes_of(memories[stmt]) for info, stmt in stmts.items()}
    safe_distances = {
        (dying, info): distances.by_size(memories[stmts[dying]], memories[stmts[info]])
        for info in stmts
        for dying in info.overlaps
        if dying in stmts
    }
    return BytesBySize(instances.sizes, distances.values, extents, sizes, safe_distances)
