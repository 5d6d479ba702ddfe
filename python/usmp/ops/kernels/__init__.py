"""Kernels: operators written for a core. They replace the loops that TVM generates.

`select.py` lists the kernels. A kernel takes an `OperatorCall`. It reads the PrimFunc as a
reduction with an epilogue, as one with constant weights, or as a single block (all in `call`).
It returns a `Kernel`: tiled loops (`loops`), most of them around tensor intrinsics. `mve` has the
kernels for cores with vectors.
"""
