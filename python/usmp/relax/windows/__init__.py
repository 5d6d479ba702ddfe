"""Sliding windows of time: runs reuse rows that the previous run computed."""
