"""Ranges of integer expressions."""
