"""What people and other programs read of a plan."""

from usmp.report.memory_html import memory_html
from usmp.report.memory_summary import memory_summary, print_memory_summary
from usmp.report.operator_table import operators_csv, operators_json, print_operators
from usmp.report.plan_formats import CSV_COLUMNS, plan_csv, plan_json

__all__ = [
    "CSV_COLUMNS",
    "memory_html",
    "memory_summary",
    "operators_csv",
    "operators_json",
    "plan_csv",
    "plan_json",
    "print_memory_summary",
    "print_operators",
]
