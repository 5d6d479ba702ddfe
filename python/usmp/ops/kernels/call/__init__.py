"""An operator as kernels look at it: its parts, its constants, its window."""
