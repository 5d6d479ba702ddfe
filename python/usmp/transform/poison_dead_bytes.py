"""PoisonDeadBytes: turn a wrong plan into a wrong result, in a debug build."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule, Var

from usmp.analysis.live_byte_counts import ByteRange, LiveBytes, live_bytes, workspace_pool_buffers
from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    MEMORY_PLAN_ATTR,
    POOL_ARGS_ATTR,
    SYMBOLIC_SIZES_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.passes import ModulePass, with_prim_funcs
from usmp.tir.nodes import sequence
from usmp.transform.poison_blocks import poison_blocks

POISON = 0xA5
"""The value of dead bytes: far from 0 as an integer, almost 0 as a float32."""


@tvm.transform.module_pass(opt_level=0, name="usmp.PoisonDeadBytes")
class PoisonDeadBytes(ModulePass):
    """Overwrite all dead bytes of the workspace pools, before the first and after each call of a
    planned `__tvm_main__`, or of the PrimFunc of each entry.

    A byte that is read although the planner reused it then has the value `POISON`. Live bytes are
    computed anew (see `usmp.analysis.live_bytes`), not taken from the planner. A correct plan keeps
    its results. Blocks of dynamic size are overwritten when a buffer begins to use them, and before
    their release.

    Raises
    ------
    ValueError
        the module has no plan, or its offsets depend on symbolic sizes.
    """

    reads = (ENTRIES_ATTR, CONCURRENT_ATTR, SYMBOLIC_SIZES_ATTR, MEMORY_PLAN_ATTR, POOL_ARGS_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Insert the stores into the PrimFunc of each entry."""
        poisoned = with_prim_funcs(mod, lambda func: poison_blocks(func, POISON))
        for entry in entries_of(mod):
            name = entry_function_name(entry)
            main = _poisoned(mod, entry)
            poisoned.update_func(mod.get_global_var(name), poison_blocks(main, POISON))
        return poisoned


def _poisoned(mod: IRModule, entry: str) -> tirx.PrimFunc:
    live_after = live_bytes(mod, entry)
    pools = workspace_pool_buffers(mod, entry)
    main = mod[entry_function_name(entry)]
    if not pools:
        return main
    body: list[tirx.Stmt] = []
    for index, statement in enumerate(tirx.stmt_list(main.body)):
        body.append(statement)
        if index in live_after:
            body += _overwrite_dead(pools, live_after[index])
    return main.with_body(sequence(body))


def _overwrite_dead(pools: dict[Var, str], live: LiveBytes) -> list[tirx.Stmt]:
    return [
        _fill(buffer, gap)
        for buffer, pool in pools.items()
        for gap in _gaps(live[pool], int(buffer.shape[0]))
    ]


def _gaps(ranges: list[ByteRange], size_bytes: int) -> list[ByteRange]:
    """Return the parts of [0, size_bytes) outside of sorted, disjoint ranges."""
    starts = [0, *(stop for _, stop in ranges)]
    stops = [*(start for start, _ in ranges), size_bytes]
    return [(a, b) for a, b in zip(starts, stops, strict=True) if a < b]


def _fill(pool: Var, dead: ByteRange) -> tirx.Stmt:
    start, stop = dead
    index = tirx.Var("poisoned", "int32")
    store = tirx.BufferStore(pool, tirx.const(POISON, "uint8"), [index + start])
    return tirx.For(index, 0, stop - start, tirx.ForKind.SERIAL, store)
