"""Reports of a plan for people and for other programs."""

from usmp.report.measured_costs import with_measured_costs
from usmp.report.memory_html import memory_html
from usmp.report.memory_maps import (
    ReportExtraMissing,
    map_document,
    map_of_metadata,
    memory_map,
    print_memory_map,
)
from usmp.report.operator_table import operators_csv, operators_json, print_operators
from usmp.report.plan_formats import CSV_COLUMNS, plan_csv, plan_json
from usmp.report.summary.memory_summary import memory_summary, print_memory_summary
from usmp.report.write_report import report_bytes

__all__ = [
    "CSV_COLUMNS",
    "ReportExtraMissing",
    "map_document",
    "map_of_metadata",
    "memory_html",
    "memory_map",
    "memory_summary",
    "operators_csv",
    "operators_json",
    "plan_csv",
    "plan_json",
    "print_memory_map",
    "print_memory_summary",
    "print_operators",
    "report_bytes",
    "with_measured_costs",
]
