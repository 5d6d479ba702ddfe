"""Kernels, checked against the operators that they replace: both run on the same inputs."""
