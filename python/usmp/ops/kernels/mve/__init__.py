"""Kernels for cores with MVE, the vector extension that Arm sells as Helium."""
