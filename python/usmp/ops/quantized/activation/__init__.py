"""Activation functions and normalizations on integers."""
