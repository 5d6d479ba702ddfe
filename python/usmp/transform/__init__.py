"""TIR to TIR, one pass a file."""

from usmp.transform.assign_pool_info import AssignPoolInfo
from usmp.transform.convert_for_loops_to_serial import ConvertForLoopsToSerial
from usmp.transform.convert_pool_allocations_to_offsets import (
    ConvertPoolAllocationsToOffsets,
    convert_pool_allocations_to_offsets,
)
from usmp.transform.create_allocates_for_io import CreateAllocatesForIO
from usmp.transform.lower_to_flat_tir import LowerToFlatTIR
from usmp.transform.order_operators import OrderOperators
from usmp.transform.poison_dead_bytes import PoisonDeadBytes
from usmp.transform.unified_static_memory_planner import UnifiedStaticMemoryPlanner

__all__ = [
    "AssignPoolInfo",
    "ConvertForLoopsToSerial",
    "ConvertPoolAllocationsToOffsets",
    "CreateAllocatesForIO",
    "LowerToFlatTIR",
    "OrderOperators",
    "PoisonDeadBytes",
    "UnifiedStaticMemoryPlanner",
    "convert_pool_allocations_to_offsets",
]
