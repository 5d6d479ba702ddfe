"""Sizes that only the run knows: the symbolic shape variables of a model, and their bounds."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes import MAIN_FUNCTION_NAME, SYMBOLIC_SIZES_ATTR
from usmp.objects.ffi_object import FFIObject
from usmp.plain.entry_size import LARGEST_SIZE
from usmp.support.plain_text import shown


@py_class("usmp.SymbolicSize")
class SymbolicSize(FFIObject):
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

    @property
    def noted_value(self) -> int:
        """At which the shapes of tensors are noted: the upper bound, or the lower one if there is
        none."""
        return int(self.lower_bound if self.upper_bound is None else self.upper_bound)


def symbolic_sizes(main: tirx.PrimFunc) -> list[SymbolicSize]:
    """The sizes that a main function takes, in the order of its parameters.

    Raises
    ------
    ValueError
        bounds that a size cannot have.
    """
    sizes: list[SymbolicSize] = list(SYMBOLIC_SIZES_ATTR.of(main) or ())
    for size in sizes:
        low, high = size.lower_bound, size.upper_bound
        if not 1 <= low <= (LARGEST_SIZE if high is None else high) <= LARGEST_SIZE:
            raise ValueError(
                f'size "{shown(size.name)}" is {low} to {high}; sizes are 1 to {LARGEST_SIZE}, '
                "give it other bounds"
            )
    return sizes


def has_symbolic_sizes(mod: IRModule) -> bool:
    """Whether `__tvm_main__` takes any."""
    return MAIN_FUNCTION_NAME in mod and bool(symbolic_sizes(mod[MAIN_FUNCTION_NAME]))
