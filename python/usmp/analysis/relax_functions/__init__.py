"""Tensors of Relax functions, and their live ranges."""
