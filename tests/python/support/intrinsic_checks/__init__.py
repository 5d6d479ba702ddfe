"""C functions that compare tensor intrinsics with plain loops.

Each module has the files that its intrinsics are in, and the text of a function `test_<module>`,
which sets `failure` to a text where an intrinsic computes anything else.
"""
