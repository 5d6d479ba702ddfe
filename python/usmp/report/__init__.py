"""The plan as a person reads it."""

from usmp.report.memory_summary import print_memory_summary

__all__ = ["print_memory_summary"]
