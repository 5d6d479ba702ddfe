"""Relax to Relax, one pass a file."""
