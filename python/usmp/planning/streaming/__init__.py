"""Operators that run row by row, each row as soon as what it reads is there."""
