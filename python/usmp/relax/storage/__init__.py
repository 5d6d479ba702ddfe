"""Storage of Relax functions: which tensors share it, and at which bytes."""
