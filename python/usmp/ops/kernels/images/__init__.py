"""Convolutions, by tiles of pixels and channels: in groups, depthwise, transposed."""
