"""Converters of operators that compute an element from those at its position, or from its row."""
