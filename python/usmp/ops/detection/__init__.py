"""Boxes of detected objects."""
