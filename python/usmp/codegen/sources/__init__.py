"""The header and the source files of a compiled model."""
