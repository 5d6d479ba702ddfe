"""Targets: CPU cores, their names in TVM 0.18, and the CPU of this machine."""
