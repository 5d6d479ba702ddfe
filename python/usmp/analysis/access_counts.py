"""Numbers of loads and stores of each buffer in one run of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.function_targets import function_targets
from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.facts import analyze_liveness
from usmp.analysis.stmt_pool_allocations import stored_for_others
from usmp.objects import BufferInfo
from usmp.objects.access_count import AccessCount


def access_counts(
    main: str | Sequence[str],
    mod: IRModule,
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> dict[BufferInfo, list[AccessCount]]:
    """Return the loads and stores of each buffer in TIR, over all calls that `main` makes.

    They are counted statically, as upper bounds for known trip counts: both branches of a condition
    run, no loop ends early, and an access through a pointer accesses everything that it may point
    to. A loop runs for the largest value of its extent. A `While`, or a loop whose extent has no
    upper bound, is assumed to have 10 iterations (see `trip_count`). A function outside of the
    module that gets the address of a buffer is assumed to read and write each byte once in a call,
    unless `tvm_access_ptr` declares less. Reads of variables that give the layout of a buffer
    (strides, offsets) are not counted. A C compiler may need fewer accesses, since it keeps values
    in registers.

    Parameters
    ----------
    main
        name of the AoT main PrimFunc, or names of several, each of which runs once.
    mod
        the module with the PrimFuncs that `main` calls, in flat TIR.
    buffer_info_stmts
        the allocation of each buffer, as in `BufferInfoAnalysis`.

    Returns
    -------
    dict[BufferInfo, list[AccessCount]]
        For each buffer of `create_array_buffer_info`: the accesses by target and kind, in program
        order. Accesses to equal constants, or to one state, are added up.

    Raises
    ------
    ValueError
        recursion; TIR that is not flat.
    """
    uses: dict[tirx.AllocBuffer, MemoryUse] = {}
    for name in [main] if isinstance(main, str) else main:
        for stmt, use in analyze_liveness(name, mod).allocation_use.items():
            uses.setdefault(stmt, MemoryUse()).add_call(use)
    targets = function_targets(mod)
    others = stored_for_others(buffer_info_stmts)
    left_out = {info for infos in others.values() for info in infos}
    counts = {}
    for info in buffer_info_stmts:
        if info not in left_out:
            use = MemoryUse()
            for stored in [info, *others.get(info, ())]:
                use.add_call(uses.get(buffer_info_stmts[stored], MemoryUse()))
            counts[info] = _counted(info, use, targets)
    return counts


def _counted(
    info: BufferInfo, use: MemoryUse, targets: Mapping[str, Target | None]
) -> list[AccessCount]:
    """Return the loads and stores of one buffer, added up by target and size."""
    counted: dict[tuple[str, int, int], tuple[Target | None, int, int]] = {}
    for movement, count in use.movements.items():
        target = targets.get(movement.function)
        kind = (str(target), movement.element_bytes, movement.size_bytes or info.size_bytes)
        _, reads, writes = counted.get(kind, (target, 0, 0))
        if movement.access & (Access.READ | Access.UNKNOWN):
            reads += count
        if movement.access.may_write:
            writes += count
        counted[kind] = (target, reads, writes)
    return [
        AccessCount(target, element_bytes, size_bytes, reads, writes)
        for (_, element_bytes, size_bytes), (target, reads, writes) in counted.items()
        if reads or writes
    ]
