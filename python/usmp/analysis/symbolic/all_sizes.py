"""Extraction of the buffers of a module with symbolic sizes, so that a plan holds for every size.

The order of statements does not depend on sizes, and neither do live ranges and conflicts. A buffer
has its largest size. A safe distance is the largest over all sizes, each of which is analyzed
separately. If there are too many sizes, or one has no upper bound, buffers that are live together
share no bytes.
"""

from __future__ import annotations

from contextlib import suppress

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
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.symbolic_size import SymbolicSize, has_symbolic_sizes, symbolic_sizes
from usmp.tir.dtypes import item_bytes

MOST_SIZES = 1024
"""Most combinations of sizes for which overlaps are computed."""


def extract_for_all_sizes(
    main: str,
    mod: IRModule,
    store: InstanceStore,
    overlap: bool = True,
    preserve_inputs: bool = False,
) -> BufferInfoAnalysis:
    """Return the result of `extract_buffer_info` that holds for every size of a run.

    Parameters
    ----------
    main
        the name of the main function, which has symbolic sizes.
    mod
        the module.
    store
        a cache of instances of PrimFuncs.
    overlap, preserve_inputs
        options of `extract_buffer_info`.

    Raises
    ------
    ValueError
        an error of `extract_buffer_info`; a buffer whose size depends on more than these sizes.
    """
    sizes = symbolic_sizes(mod[main])
    instances = Instances(mod, main, store)
    largest = instances.at(upper_bounds(sizes))
    bytes_of = largest_bytes(instances, sizes)
    for stmt, key in largest.allocations.items():
        if key not in bytes_of and has_static_size(stmt.buffer) and not has_static_size(key.buffer):
            raise ValueError(
                f"the size of buffer {key.buffer.name} is no sum, product, quotient, remainder, "
                "minimum or maximum of sizes of one run"
            )
    analysis = extract_buffer_info(
        largest.mod[main],
        largest.mod,
        overlap and are_few(sizes),
        preserve_inputs,
        {stmt: bytes_of[key] for stmt, key in largest.allocations.items() if key in bytes_of},
        DistancesOfAllSizes(main, instances, largest, store) if are_few(sizes) else None,
    )
    stmts = {info: largest.allocations[stmt] for info, stmt in analysis.buffer_info_stmts.items()}
    return BufferInfoAnalysis(stmts, analysis.memory_pressure, analysis.pool_memory_pressure)


def largest_bytes(instances: Instances, sizes: list[SymbolicSize]) -> dict[tirx.AllocBuffer, int]:
    """Return the largest bytes of each allocation; allocations without a bound are left out."""
    most_bytes = {}
    for stmt, extent in instances.extents().items():
        with suppress(ValueError):
            item = item_bytes(str(stmt.buffer.dtype))
            most_bytes[stmt] = max(greatest(extent, sizes), 0) * int(item)
    return most_bytes


def largest_bytes_of(mod: IRModule) -> dict[tirx.AllocBuffer, int]:
    """Return the largest bytes of allocations for the symbolic sizes of `__tvm_main__`."""
    if not has_symbolic_sizes(mod):
        return {}
    instances = Instances(mod, MAIN_FUNCTION_NAME, InstanceStore())
    return largest_bytes(instances, symbolic_sizes(mod[MAIN_FUNCTION_NAME]))


def are_few(sizes: list[SymbolicSize]) -> bool:
    """Return whether there are few enough combinations of sizes to compute overlaps."""
    count = combinations_of(sizes)
    return count is not None and count <= MOST_SIZES
