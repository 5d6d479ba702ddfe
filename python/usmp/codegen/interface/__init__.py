"""The C interface of a compiled model, read from the planned module."""
