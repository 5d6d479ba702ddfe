"""`tvmc` for Python."""
