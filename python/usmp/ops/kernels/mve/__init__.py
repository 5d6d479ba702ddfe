"""Kernels for cores with MVE, the vector extension of Arm that is also named Helium."""
