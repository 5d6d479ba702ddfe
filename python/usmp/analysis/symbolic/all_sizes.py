"""The buffers of a module with symbolic sizes, such that a plan holds for every size.

Statements stand in one order, whatever the sizes are, and so do live ranges and conflicts. A buffer
takes the most bytes that it takes at any size. By how many bytes one may overlap another is found
for each size by itself; what counts is the largest distance. Where there are too many sizes for
that, or one has no upper bound, buffers share no bytes while both are live.
"""

from __future__ import annotations

from contextlib import suppress

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import extract_buffer_info
from usmp.analysis.memory.buffer_size import has_static_size
from usmp.analysis.symbolic.distances import DistancesOfAllSizes
from usmp.analysis.symbolic.extents import greatest
from usmp.analysis.symbolic.instances import (
    Instances,
    InstanceStore,
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
        see there; a size that is no expression of the sizes.
    """
    sizes = symbolic_sizes(mod[main])
    instances = Instances(mod, main, store)
    largest = instances.at(upper_bounds(sizes))
    bytes_of = largest_bytes(instances, sizes)
    for stmt, of in largest.allocations.items():
        if of not in bytes_of and has_static_size(stmt.buffer) and not has_static_size(of.buffer):
            raise ValueError(
                f"the size of buffer {of.buffer.name} is no sum, product, quotient, remainder, "
                "minimum or maximum of sizes of one run"
            )
    found = extract_buffer_info(
        largest.mod[main],
        largest.mod,
        overlap and are_few(sizes),
        preserve_inputs,
        {stmt: bytes_of[of] for stmt, of in largest.allocations.items() if of in bytes_of},
        DistancesOfAllSizes(main, instances, largest, store) if are_few(sizes) else None,
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


def are_few(sizes: list[SymbolicSize]) -> bool:
    """Whether overlaps are found for these sizes."""
    count = combinations_of(sizes)
    return count is not None and count <= MOST_SIZES
