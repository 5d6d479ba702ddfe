"""Analyses of PrimFuncs with symbolic sizes, with results that hold for every size of a run."""
