"""Evaluation of shape arithmetic, and converters for dynamic shapes."""
