"""Readers of the modules in a Model Library Format archive."""
