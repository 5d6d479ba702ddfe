"""Comparison of kernels with the operators that they replace, by running both on equal inputs."""
