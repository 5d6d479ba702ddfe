"""Kernels on runs of consecutive elements: copies, maxima and minima."""
