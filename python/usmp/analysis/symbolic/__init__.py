"""PrimFuncs with symbolic sizes: what holds for every size that a run may be given."""
