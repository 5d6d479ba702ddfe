"""Kernels: operators written for a core, in the place of the loops that TVM makes of them.

`select.py` lists them. A kernel takes an `OperatorCall`, and reads it as a reduction and what
follows, with constant weights, or as one block (all in `call`). It returns a `Kernel`: loops by
tiles (`loops`), most of them around tensor intrinsics. `mve` has the kernels for cores with
vectors.
"""
