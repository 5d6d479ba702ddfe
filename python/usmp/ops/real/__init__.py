"""Operators on numbers without scales, whatever format they came from."""
