"""Recurrent layers, and the variables that they keep."""
