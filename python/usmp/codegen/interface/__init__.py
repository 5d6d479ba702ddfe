"""What a C application sees of a compiled model, read from the planned module."""
