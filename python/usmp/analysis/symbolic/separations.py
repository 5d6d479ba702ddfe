"""By how many bytes buffers stay apart, for each size that runs may be given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.symbolic.extents import value_of
from usmp.analysis.symbolic.instances import Instances, InstanceStore, all_sizes
from usmp.objects import BufferInfo
from usmp.objects.symbolic_size import SymbolicSize, symbolic_sizes

Values = np.ndarray
"""A number for each combination of sizes, in the order of `all_sizes`."""


@dataclass(frozen=True, eq=False)
class BytesBySize:
    """What buffers take at each size.

    Parameters
    ----------
    sizes
        that runs may be given.
    values
        of each size, by name.
    extents
        the bytes of each buffer as an expression of the sizes, in `int32`.
    bytes
        the same as numbers.
    distances
        (dying, written) -> the safe distance (see `SafeOverlap`).
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
    """What the buffers of a module take, and how far they may overlap.

    Parameters
    ----------
    main
        the name of the main function; its sizes have upper bounds.
    mod
        the module.
    stmts
        buffers with their allocations.
    store
        has instances of PrimFuncs; grows.

    Raises
    ------
    ValueError
        an extent is no expression of the sizes.
    """
    sizes = symbolic_sizes(mod[main])
    instances = Instances(mod, main, store)
    combinations = list(all_sizes(sizes))
    values = {
        str(size.name): np.array([each[str(size.name)] for each in combinations], dtype=np.int64)
        for size in sizes
    }
    elements = instances.extents()
    extents: dict[BufferInfo, tirx.Expr] = {}
    for info, stmt in stmts.items():
        if stmt not in elements:
            raise ValueError(f"the size of buffer {info.name_hint} is no expression of sizes")
        item = int(tvm.DataType(str(stmt.buffer.dtype)).itemsize)
        extents[info] = elements[stmt] * item
        if (np.asarray(value_of(extents[info], values)) < 0).any():
            extents[info] = tirx.max(extents[info], tirx.IntImm("int32", 0))
    count = len(combinations)
    taken = {
        info: np.broadcast_to(value_of(extent, values), count) for info, extent in extents.items()
    }
    pairs = [(dying, info) for info in stmts for dying in info.overlaps if dying in stmts]
    return BytesBySize(
        sizes, values, extents, taken, _distances(main, instances, store, stmts, pairs)
    )


def _distances(
    main: str,
    instances: Instances,
    store: InstanceStore,
    stmts: Mapping[BufferInfo, tirx.AllocBuffer],
    pairs: Iterable[tuple[BufferInfo, BufferInfo]],
) -> dict[tuple[BufferInfo, BufferInfo], Values]:
    """The distances of these pairs, at one combination of sizes after the other."""
    wanted = list(pairs)
    rows = []
    for sizes in all_sizes(instances.sizes):
        instance = instances.at(sizes)
        memory = {of: stmt.buffer for stmt, of in instance.allocations.items()}
        overlap = ModuleFacts(prim_funcs(instance.mod), store.facts).of(main).overlap
        rows.append([overlap.distance(memory[stmts[a]], memory[stmts[b]]) for a, b in wanted])
    found = np.array(rows, dtype=np.int64).reshape(len(rows), len(wanted))
    return {pair: found[:, index] for index, pair in enumerate(wanted)}
