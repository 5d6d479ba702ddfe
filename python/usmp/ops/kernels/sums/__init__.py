"""Kernels of pooling, and of sums and means over axes."""
