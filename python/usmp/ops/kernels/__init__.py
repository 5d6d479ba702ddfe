"""Kernels: operators written for a core, in the place of the loops that TVM makes of them.

`select.py` lists them. A kernel takes an `OperatorCall` (`operator_call.py`), and reads it as a
reduction and what follows (`operator_parts.py`), with constant weights (`weighted.py`), or as one
block (`only_block.py`). It returns a `Kernel` (`kernel.py`): loops by tiles, most of them around
tensor intrinsics. `mve` has the kernels for cores with vectors.
"""
