"""Converters of recurrent layers, and of the variables that they keep."""
