"""Sizes that only the run knows: the symbolic shape variables of a model, and their bounds."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes import MAIN_FUNCTION_NAME, SYMBOLIC_SIZES_ATTR


@py_class("usmp.SymbolicSize")
class SymbolicSize(tvm_ffi.Object):
    """A symbolic shape variable, whose value each run is given.

    In TIR it is an `int32` parameter of this name, of `__tvm_main__` behind inputs and outputs and
    of every operator that needs it; it has one value throughout a run.

    Parameters
    ----------
    name
        of the variable, unchanged.
    lower_bound
        the smallest value that runs are given, 1 or more.
    upper_bound
        the largest one; None if there is none.
    """

    name: str
    lower_bound: int = 1
    upper_bound: int | None = None


def symbolic_sizes(main: tirx.PrimFunc) -> list[SymbolicSize]:
    """The sizes that a main function takes, in the order of its parameters."""
    return list((main.attrs or {}).get(SYMBOLIC_SIZES_ATTR, ()))


def has_symbolic_sizes(mod: IRModule) -> bool:
    """Whether `__tvm_main__` takes any."""
    return MAIN_FUNCTION_NAME in mod and bool(symbolic_sizes(mod[MAIN_FUNCTION_NAME]))
