"""`usmp-opt`."""
