"""Processes, signals, locks, temporary folders and garbage collection."""
