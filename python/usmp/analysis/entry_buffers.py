"""Extraction of the buffers of each entry of a module."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import extract_buffer_info
from usmp.analysis.joint_buffers import EntryBuffers
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.function_liveness import FunctionLiveness
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.objects.entries import entries_of, entry_function_name


def entry_buffers(
    mod: IRModule, overlap: bool = True, preserve_inputs: bool = False
) -> list[EntryBuffers]:
    """Return the buffers of each entry of a module, in order.

    Arguments and errors are those of `extract_buffer_info`.
    """
    facts = module_facts(mod)
    buffers = []
    for entry in entries_of(mod):
        name = entry_function_name(entry)
        liveness = facts.of(name).liveness
        analysis = extract_buffer_info(mod[name], mod, overlap, preserve_inputs)
        buffers.append(EntryBuffers(entry, analysis, liveness.length, _written_states(liveness)))
    return buffers


def entry_lengths(mod: IRModule) -> dict[str, int]:
    """Return the number of program positions of each entry, by name.

    Raises
    ------
    ValueError
        recursion; TIR that is not flat.
    """
    facts = module_facts(mod)
    return {e: facts.of(entry_function_name(e)).liveness.length for e in entries_of(mod)}


def _written_states(liveness: FunctionLiveness) -> frozenset[str]:
    return frozenset(
        STATE_TENSOR_ATTR.required(stmt)
        for stmt in liveness.allocations
        if _is_state(stmt) and liveness.allocation_use[stmt].access.may_write
    )


def _is_state(stmt: tirx.AllocBuffer) -> bool:
    return STATE_TENSOR_ATTR.is_on(stmt)
