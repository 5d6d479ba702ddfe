"""Applies ConvertPoolAllocationsToOffsets to allocations that are placed by name."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx

from usmp.objects import PoolAllocation
from usmp.objects.attributes.module_attributes import POOL_ARGS_ATTR
from usmp.transform import ConvertPoolAllocationsToOffsets


def convert(mod, places):
    """Place each allocation that `places` names at (pool, offset)."""
    allocations = {}

    def on_allocation(stmt):
        if stmt.buffer.name in places:
            allocations[stmt] = PoolAllocation(*places[stmt.buffer.name])

    for func in mod.functions.values():
        tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    assert len(allocations) == len(places)
    return ConvertPoolAllocationsToOffsets(allocations)(mod)


def assert_becomes(before, places, expected):
    """Compare without the attribute `pool_args`, which has tests of its own."""
    after = convert(before, places)
    assert tirx.analysis.verify_well_formed(after)
    plain = {v: f.without_attr(POOL_ARGS_ATTR.name) for v, f in after.functions.items()}
    tvm.ir.assert_structural_equal(tvm.IRModule(plain), expected)


def pool_args(func_or_mod):
    return [
        (arg.pool_info.pool_name, arg.allocated_size, arg.pool_var_idx)
        for arg in func_or_mod.attrs[POOL_ARGS_ATTR.name]
    ]
