"""The buffers of a module, of one entry or of several entries that share memory."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.analysis.entry_buffers import entry_buffers
from usmp.analysis.joint_buffers import join_buffers
from usmp.analysis.symbolic.all_sizes import extract_for_all_sizes
from usmp.analysis.symbolic.instances import InstanceStore
from usmp.objects import BufferInfoAnalysis
from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.entries import concurrent_entries, entries_of
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.options import PlanningOptions


def extract_buffers(
    prepared: IRModule, options: PlanningOptions, instances: InstanceStore
) -> BufferInfoAnalysis:
    """Extract the buffers of all entries of a module, for all its symbolic sizes.

    Parameters
    ----------
    prepared
        a module in which every buffer to plan is an allocation with candidate pools.
    options
        whether buffers may overlap, and inputs stay intact.
    instances
        the modules at fixed sizes that were made before; grows.

    Raises
    ------
    ValueError
        see `extract_buffer_info`.
    """
    if has_symbolic_sizes(prepared):
        return extract_for_all_sizes(
            MAIN_FUNCTION_NAME, prepared, instances, options.overlap, options.preserve_inputs
        )
    parts = entry_buffers(prepared, options.overlap, options.preserve_inputs)
    if entries_of(prepared) == [ONLY_ENTRY]:
        return parts[0].analysis
    packs = not executor_of(prepared).sets_constant_alignment
    return join_buffers(parts, concurrent_entries(prepared), packs, options.overlap)
