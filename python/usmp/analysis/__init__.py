"""Reads TIR and computes facts: live ranges, conflicts, memory pressure. Never changes IR."""

from usmp.analysis.check_plan import check_plan
from usmp.analysis.extract_buffer_info import extract_buffer_info
from usmp.analysis.pool_usage import PoolUsage, memory_pressure, pool_usage

__all__ = ["PoolUsage", "check_plan", "extract_buffer_info", "memory_pressure", "pool_usage"]
