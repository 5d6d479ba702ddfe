"""Operators that arrange elements."""
