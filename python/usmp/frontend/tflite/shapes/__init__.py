"""Shapes that a TFLite file leaves open, or that the user requests."""
