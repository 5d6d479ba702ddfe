"""FuseOperators and the passes that it runs."""
