"""Operators that run interleaved, row by row: each row as soon as its inputs are computed."""
