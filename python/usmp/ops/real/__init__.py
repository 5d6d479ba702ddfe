"""Operators on numbers without scales, of all model formats."""
