"""Write a placement algorithm in Python, and compare it with those that usmp has.

`largest_first` places the largest buffer first, at the lowest offset where it meets no buffer that
is live at the same time. It is registered as `tir.usmp.algo.largest_first` and chosen by a pass
option. The plan that it returns is checked before C is made from it.

    python examples/03_custom_algorithm.py
"""

from pathlib import Path

import tvm
import tvm_ffi

import usmp

MODEL = Path(__file__).parent / "digits/digits_int8.tflite"


@tvm_ffi.register_global_func("tir.usmp.algo.largest_first")
def largest_first(buffers, memory_pressure):
    plan = {}
    for buffer in sorted(buffers, key=lambda buffer: -buffer.size_bytes):
        pool = buffer.pool_candidates[0]
        offset = 0
        for start, end in taken(buffer, pool, plan):
            if offset + buffer.size_bytes <= start:
                break
            offset = max(offset, -(-end // buffer.alignment) * buffer.alignment)
        plan[buffer] = usmp.PoolAllocation(pool, offset)
    return plan


def taken(buffer, pool, plan):
    """The bytes of the pool that the buffer must not use, from the lowest on."""
    return sorted(
        (plan[other].byte_offset, plan[other].byte_offset + other.size_bytes)
        for other in buffer.conflicts
        if other in plan and plan[other].pool_info.pool_name == pool.pool_name
    )


def workspace_bytes(config):
    with tvm.transform.PassContext(config=config):
        factory = usmp.build(MODEL)
    bound = factory.memory_plan.pool_bounds["global_workspace"]
    return factory.ram_bytes, bound.lower_bound_bytes


ours = workspace_bytes({"tir.usmp.custom_algorithm": "largest_first"})
print(f"largest_first   {ours[0]} bytes, no plan takes less than {ours[1]}")
for name in ("greedy_by_size", "hill_climb", "auto"):
    theirs = workspace_bytes({"tir.usmp.algorithm": name})
    print(f"{name:15} {theirs[0]} bytes, no plan takes less than {theirs[1]}")
