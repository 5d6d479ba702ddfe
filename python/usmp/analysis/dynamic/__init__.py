"""Allocations of dynamic size."""
