"""In the place of PyTorch, which TVM loads where it finds it: that takes longer than all else."""

raise ImportError("a test has no use for PyTorch")
