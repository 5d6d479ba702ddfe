"""Attributes and annotations of the IR: declarations, with one reader and one writer each."""
