"""Reads TIR and computes facts: live ranges, conflicts, memory pressure. Never changes IR."""

from usmp.analysis.check_plan import check_plan
from usmp.analysis.extract_buffer_info import extract_buffer_info
from usmp.analysis.live_bytes import live_bytes
from usmp.analysis.memory.facts import safe_overlap
from usmp.analysis.memory.safe_overlap import SafeOverlap
from usmp.analysis.memory_pressure import memory_pressure
from usmp.analysis.pool_bounds import pool_bounds
from usmp.analysis.pool_usage import PoolUsage, pool_usage
from usmp.analysis.stmt_pool_allocations import (
    assign_stmt_pool_allocations,
    create_array_buffer_info,
)
from usmp.analysis.workspace_bytes import (
    calculate_constant_bytes,
    calculate_workspace_bytes,
)

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
