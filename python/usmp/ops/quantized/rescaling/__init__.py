"""Scales, zero points and fixed-point multipliers of integer operators."""
