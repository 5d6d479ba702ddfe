"""What kernels are written with: loops, lines of elements, accumulators of a tile."""
