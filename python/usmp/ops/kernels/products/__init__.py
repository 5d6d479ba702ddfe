"""Kernels of matrix products, and of any sums of products."""
