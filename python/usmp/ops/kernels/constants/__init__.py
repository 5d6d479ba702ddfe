"""The constants of an operator, in as few bytes as give the same outputs."""
