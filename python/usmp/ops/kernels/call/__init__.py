"""Operators as kernels read them: reduction, epilogue, constants and kernel window."""
