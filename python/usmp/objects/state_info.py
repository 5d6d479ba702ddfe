"""A tensor that a model keeps from one run to the next."""

from __future__ import annotations

import numpy as np
import tvm
from tvm_ffi.dataclasses import field, py_class

from usmp.objects.ffi_object import FFIObject

STATES_FLAG_NAME = "states_are_set"
"""The state that marks a first run: memory is zero at first, so this is 0 until the states have
their initial values."""


@py_class("usmp.StateInfo")
class StateInfo(FFIObject):
    """A state of a Relax `main`, which stays functional: it takes the state before the run as a
    parameter, and the state after the run is one of its results. Neither is an input or output,
    unless the caller owns the state.

    Functions of one module that name the same state share it: it has one place, and what one of
    them leaves there is what the next one finds.

    Parameters
    ----------
    name
        the name of the parameter; no other parameter may have it.
    output
        the index of the state after the run among the results, tuples flattened; -1 if the
        function only reads it.
    initial_value
        the state before the first run, of the parameter's shape, or of shape () if all
        elements are alike.
    alignment
        bytes of which its address must be a multiple, a power of two; 0 if any will do
        that suits the executor.
    set_by
        the span of the operators of the model file that give it the initial value; None if none do.
        It is no part of what the state is.
    is_input
        whether the caller owns the tensor: it is an input, which each run updates in place. It has
        no initial value then (see `updated_input`), and may have symbolic sizes. Inputs of one name
        in several functions are not one state.
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
        """Return the same state with its value after the run at another index."""
        return StateInfo(
            self.name, output, self.initial_value, self.alignment, self.set_by, self.is_input
        )


def updated_input(name: str, output: int, dtype: str) -> StateInfo:
    """Return the state of an input that the run updates in place.

    Parameters
    ----------
    name
        of the parameter.
    output
        the index of its value after the run among the results, tuples flattened.
    dtype
        its element type.
    """
    nothing = tvm.runtime.tensor(np.zeros((), dtype))
    return StateInfo(name, output, nothing, is_input=True)
