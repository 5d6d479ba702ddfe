"""States: tensors that a model keeps from one run to the next."""

from __future__ import annotations

import numpy as np
import tvm
from tvm_ffi.dataclasses import field, py_class

from usmp.objects.ffi_object import FFIObject

STATES_FLAG_NAME = "states_are_set"
"""The state that marks a first run: it is 0 until the states have their initial values, because
memory is zero at first."""


@py_class("usmp.StateInfo")
class StateInfo(FFIObject):
    """A state of a Relax `main`.

    The function is pure: the state before the run is a parameter, and the state after the run is a
    result. Neither is an input or output, unless the caller owns the state. Functions of one module
    share states of the same name, in one place.

    Parameters
    ----------
    name
        the name of the parameter; no other parameter may have it.
    output
        the index of the state after the run among the results, with tuples flattened; -1 if
        the function only reads the state.
    initial_value
        the state before the first run, of the parameter's shape, or of shape () if all elements
        are equal.
    alignment
        alignment of the address in bytes, a power of two; 0 if the executor's alignment is enough.
    set_by
        the span of the operators in the model file that set the initial value, or None. Equality
        ignores it.
    is_input
        whether the caller owns the tensor: it is an input that each run updates in place. It then
        has no initial value (see `updated_input`), and may have symbolic sizes. Inputs of one name
        in several functions are different states.
    """

    name: str
    output: int
    initial_value: tvm.runtime.Tensor
    alignment: int = 0
    set_by: tvm.ir.Span | tvm.ir.SequentialSpan | None = field(
        default=None, structural_eq="ignore", repr=False
    )
    is_input: bool = False

    def with_output(self, output: int) -> StateInfo:
        """Return the state with its value after the run at another index of the results."""
        return StateInfo(
            self.name, output, self.initial_value, self.alignment, self.set_by, self.is_input
        )


def updated_input(name: str, output: int, dtype: str) -> StateInfo:
    """Return the state of an input that the run updates in place.

    Parameters
    ----------
    name
        name of the parameter.
    output
        index of its value after the run among the results, tuples flattened.
    dtype
        element type.
    """
    nothing = tvm.runtime.tensor(np.zeros((), dtype))
    return StateInfo(name, output, nothing, is_input=True)
