"""Translation of command lines and Python calls of TVM 0.18."""
