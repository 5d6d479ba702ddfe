"""Symbolic sizes: shape variables of a model that are known at run time, with their bounds."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME, SYMBOLIC_SIZES_ATTR
from usmp.objects.ffi_object import FFIObject
from usmp.plain.entry_size import LARGEST_SIZE
from usmp.support.text.plain_text import shown


@py_class("usmp.SymbolicSize")
class SymbolicSize(FFIObject):
    """A symbolic shape variable, whose value is an argument of each run.

    In TIR the variable is an `int32` parameter with this name: of `__tvm_main__`, behind inputs and
    outputs, and of every operator that needs the size. Its value is constant during a run.

    Parameters
    ----------
    name
        name of the variable, unchanged.
    lower_bound
        smallest value of a run, 1 or more.
    upper_bound
        largest value of a run; None if there is no limit.
    """

    name: str
    lower_bound: int = 1
    upper_bound: int | None = None

    @property
    def noted_value(self) -> int:
        """The value with which shapes of tensors are recorded: the upper bound, else the lower."""
        return int(self.lower_bound if self.upper_bound is None else self.upper_bound)


def symbolic_sizes(main: tirx.PrimFunc) -> list[SymbolicSize]:
    """Return the sizes that a main function takes, in the order of its parameters.

    Raises
    ------
    ValueError
        invalid bounds of a size.
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
    """Return whether `__tvm_main__` takes symbolic sizes."""
    return MAIN_FUNCTION_NAME in mod and bool(symbolic_sizes(mod[MAIN_FUNCTION_NAME]))
