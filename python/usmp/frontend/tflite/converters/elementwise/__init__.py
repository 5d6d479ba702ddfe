"""Converters of operators that compute an element from the inputs at its position or in its row."""
