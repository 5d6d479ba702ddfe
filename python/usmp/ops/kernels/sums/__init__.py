"""Sums, means and greatest values of pixels."""
