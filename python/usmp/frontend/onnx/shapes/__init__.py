"""Values that a graph computes of shapes."""
