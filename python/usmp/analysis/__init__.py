"""Analyses of TIR: live ranges, conflicts, memory pressure. They never change the IR."""

from usmp.analysis.buffer_extraction import extract_buffer_info
from usmp.analysis.checks.plan_checker import check_plan
from usmp.analysis.live_byte_counts import live_bytes
from usmp.analysis.lower_bounds import pool_bounds
from usmp.analysis.memory.distances.safe_distance import SafeOverlap
from usmp.analysis.memory.facts import safe_overlap
from usmp.analysis.pressure import memory_pressure
from usmp.analysis.stmt_pool_allocations import (
    assign_stmt_pool_allocations,
    create_array_buffer_info,
)
from usmp.analysis.usage import PoolUsage, pool_usage
from usmp.analysis.workspace_bytes import calculate_constant_bytes, calculate_workspace_bytes

__all__ = [
    "PoolUsage",
    "SafeOverlap",
    "assign_stmt_pool_allocations",
    "calculate_constant_bytes",
    "calculate_workspace_bytes",
    "check_plan",
    "create_array_buffer_info",
    "extract_buffer_info",
    "live_bytes",
    "memory_pressure",
    "pool_bounds",
    "pool_usage",
    "safe_overlap",
]
