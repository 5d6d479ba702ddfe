"""`tvmc explore`."""
