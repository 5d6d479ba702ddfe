"""Analyses of the memory accesses of PrimFuncs, computed once for each PrimFunc."""
