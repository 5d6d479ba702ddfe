"""Converters of operators that arrange elements."""
