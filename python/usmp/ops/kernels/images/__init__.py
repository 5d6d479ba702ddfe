"""Kernels of convolutions by tiles of pixels and channels: grouped, depthwise, transposed."""
