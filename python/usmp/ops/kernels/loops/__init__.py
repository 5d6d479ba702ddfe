"""Building blocks of kernels: loops, lines of elements, accumulators of a tile."""
