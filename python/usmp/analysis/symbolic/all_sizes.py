"""The buffers of a module with symbolic sizes, such that a plan holds for every size.

Statements stand in one order, whatever the sizes are, and so do live ranges and conflicts. A buffer
takes the most bytes that it takes at any size. By how many bytes one may overlap another is found
for each size by itself; what counts is the largest distance. Where there are too many sizes for
that, or one has no upper bound, buffers share no bytes while both are live.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import extract_buffer_info
from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.safe_distance import SafeOverlap
from usmp.analysis.symbolic.extents import greatest
from usmp.analysis.symbolic.instances import (
    Instance,
    Instances,
    InstanceStore,
    all_sizes,
    combinations_of,
    upper_bounds,
)
from usmp.objects import BufferInfoAnalysis
from usmp.objects.attributes import MAIN_FUNCTION_NAME
from usmp.objects.symbolic_size import SymbolicSize, has_symbolic_sizes, symbolic_sizes

MOST_SIZES = 1024
"""For which overlaps are found, each by itself."""


def extract_for_all_sizes(
    main: str,
    mod: IRModule,
    store: InstanceStore,
    overlap: bool = True,
    preserve_inputs: bool = False,
) -> BufferInfoAnalysis:
    """What `extract_buffer_info` finds, for every size that runs are given.

    Parameters
    ----------
    main
        the name of the main function, which has symbolic sizes.
    mod
        the module.
    store
        has instances of PrimFuncs; grows.
    overlap, preserve_inputs
        as there.

    Raises
    ------
    ValueError
        see there.
    """
    sizes = symbolic_sizes(mod[main])
    instances = Instances(mod, main, store)
    largest = instances.at(upper_bounds(sizes))
    bytes_of = largest_bytes(instances, sizes)
    found = extract_buffer_info(
        largest.mod[main],
        largest.mod,
        overlap and are_few(sizes),
        preserve_inputs,
        {stmt: bytes_of[of] for stmt, of in largest.allocations.items() if of in bytes_of},
        DistancesOfAllSizes(main, instances, largest, bytes_of, sizes, store)
        if are_few(sizes)
        else None,
    )
    stmts = {info: largest.allocations[stmt] for info, stmt in found.buffer_info_stmts.items()}
    return BufferInfoAnalysis(stmts, found.memory_pressure, found.pool_memory_pressure)


def largest_bytes(instances: Instances, sizes: list[SymbolicSize]) -> dict[tirx.AllocBuffer, int]:
    """The most bytes that allocations take; without those that have no bound."""
    found = {}
    for stmt, extent in instances.extents().items():
        with suppress(ValueError):
            item = tvm.DataType(str(stmt.buffer.dtype)).itemsize
            found[stmt] = max(greatest(extent, sizes), 0) * int(item)
    return found


def largest_bytes_of(mod: IRModule) -> dict[tirx.AllocBuffer, int]:
    """The same of a module, where it is the `__tvm_main__` that has symbolic sizes."""
    if not has_symbolic_sizes(mod):
        return {}
    instances = Instances(mod, MAIN_FUNCTION_NAME, InstanceStore())
    return largest_bytes(instances, symbolic_sizes(mod[MAIN_FUNCTION_NAME]))


class DistancesOfAllSizes:
    """The safe distances between the memories of a main function, whatever its sizes are.

    Parameters
    ----------
    main
        its name.
    instances
        of the module.
    largest
        the one whose memories they are.
    most_bytes
        what allocations of the module take at most.
    sizes
        that runs are given.
    store
        has facts of instances.
    """

    def __init__(
        self,
        main: str,
        instances: Instances,
        largest: Instance,
        most_bytes: Mapping[tirx.AllocBuffer, int],
        sizes: list[SymbolicSize],
        store: InstanceStore,
    ) -> None:
        self._main = main
        self._instances = instances
        self._sizes = sizes
        self._store = store
        self._largest = largest
        self._bytes = {
            stmt.buffer: most_bytes[of]
            for stmt, of in largest.allocations.items()
            if of in most_bytes
        }
        self._overlap = self._overlap_of(largest)
        self.groups: Mapping[Memory, set[object]] = self._overlap.groups

    def distance(self, dying: Memory, written: Memory) -> int:
        """As `SafeOverlap.distance`, for all sizes.

        Raises
        ------
        ValueError
            the size of `written` is not known.
        """
        found = self._overlap.distance(dying, written)
        most = self._bytes[written]
        for overlap, memories in self._others if found < most else ():
            found = max(found, overlap.distance(memories[dying], memories[written]))
            if found >= most:
                break
        return found

    @cached_property
    def _others(self) -> list[tuple[SafeOverlap, dict[Memory, Memory]]]:
        """Those of all other sizes, with the memories that are those of the largest."""
        by_stmt = {of: stmt.buffer for stmt, of in self._largest.allocations.items()}
        found = []
        for index, sizes in enumerate(all_sizes(self._sizes)):
            if index:
                instance = self._instances.at(sizes)
                memories = {by_stmt[of]: stmt.buffer for stmt, of in instance.allocations.items()}
                found.append((self._overlap_of(instance), memories))
        return found

    def _overlap_of(self, instance: Instance) -> SafeOverlap:
        return ModuleFacts(prim_funcs(instance.mod), self._store.facts).of(self._main).overlap


def are_few(sizes: list[SymbolicSize]) -> bool:
    """Whether overlaps are found for these sizes."""
    count = combinations_of(sizes)
    return count is not None and count <= MOST_SIZES
