"""Shapes that a TFLite file leaves open, or that are given."""
