"""Operators that compute elements from elements at the same place, or from a row."""
