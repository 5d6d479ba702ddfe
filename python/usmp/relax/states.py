"""The states that a model keeps between runs: attribute `states` of the Relax `main`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Var

from usmp.objects.attributes.module_attributes import STATES_ATTR
from usmp.objects.state_info import StateInfo
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.relax.static_shapes import flatten_types, has_static_shape
from usmp.relax.symbolic_sizes import shown_type
from usmp.support.alignment import is_alignment


def states_of(main: relax.Function, entry: str = ONLY_ENTRY) -> list[StateInfo]:
    """Check the states of the Relax `main`, and return them.

    Parameters
    ----------
    entry
        name of the entry in messages, because its function is called `main` here.

    Raises
    ------
    ValueError
        a state is no parameter of `main`, its value after the run is no result of `main`, its
        initial or new value has another type, or its alignment is no power of two.
    """
    states = STATES_ATTR.of(main) or ()
    if not isinstance(states, Sequence) or not all(isinstance(s, StateInfo) for s in states):
        raise ValueError(f'the attribute "{STATES_ATTR}" of {entry} must be a list of StateInfo')
    results = flatten_types(main.body.body.ty)
    outputs: set[int] = set()
    for state in states:
        params = [param for param in main.params if param.name == state.name]
        if len(params) != 1 or [s.name for s in states].count(state.name) != 1:
            raise ValueError(
                f'state "{state.name}" must be the name of one parameter of {entry}; these '
                f"are {', '.join(param.name for param in main.params) or 'none'}"
            )
        before = params[0].ty
        if not state.is_input:
            _check_initial_value(state, *_shape_and_dtype(before))
        elif not isinstance(before, relax.TensorType) or before.shape is None:
            raise ValueError(f'input "{state.name}" of {entry} must be a tensor, not {before}')
        if state.output == -1 and not state.is_input:
            continue
        if not 0 <= state.output < len(results) or state.output in outputs:
            read = "" if state.is_input else f", or -1 if {entry} only reads it"
            raise ValueError(
                f'{"input" if state.is_input else "state"} "{state.name}" must have a result of '
                f"{entry} of its own, 0 to {len(results) - 1}{read}, but has {state.output}"
            )
        outputs.add(int(state.output))
        after = results[state.output]
        if not _is_of_type(after, before):
            raise ValueError(
                f'state "{state.name}" is {shown_type(before)} before a run, but result '
                f"{state.output} of {entry} is {after}"
            )
    return list(states)


def input_params(main: relax.Function) -> list[Var]:
    """Return the parameters of a Relax function that are inputs, not states between its runs."""
    states = {str(state.name) for state in STATES_ATTR.of(main) or () if not state.is_input}
    return [param for param in main.params if str(param.name) not in states]


def updated_inputs(main: relax.Function) -> set[str]:
    """Return the names of the inputs that a run of the Relax `main` updates in place.

    Raises
    ------
    ValueError
        see `states_of`.
    """
    return {str(state.name) for state in states_of(main) if state.is_input}


def initial_array(state: StateInfo, ty: relax.TensorType) -> np.ndarray:
    """Return the value of a state before the first run, broadcast to the shape of `ty`."""
    value = state.initial_value.numpy()
    return np.ascontiguousarray(np.broadcast_to(value, [int(extent) for extent in ty.shape]))


def _check_initial_value(state: StateInfo, shape: list[int], dtype: str) -> None:
    if state.alignment and not is_alignment(state.alignment):
        raise ValueError(
            f'the alignment of state "{state.name}" must be a power of two (bytes), or 0, not '
            f"{state.alignment}"
        )
    initial = state.initial_value
    actual = [int(extent) for extent in initial.shape]
    if str(initial.dtype) != dtype or actual not in ([], shape):
        raise ValueError(
            f'state "{state.name}" is {dtype}{shape}, but its initial value is '
            f"{initial.dtype}{actual}"
        )


def _is_of_type(after: tvm.ir.Type, before: relax.TensorType) -> bool:
    """Return whether two tensors have equal element types and extents."""
    if not isinstance(after, relax.TensorType) or str(after.dtype) != str(before.dtype):
        return False
    return after.shape is not None and tvm_ffi.structural_equal(after.shape, before.shape)


def _shape_and_dtype(ty: relax.TensorType) -> tuple[list[int], str]:
    if not has_static_shape(ty):
        raise ValueError(f"a state must be a tensor of static shape, not {ty}")
    return [int(extent) for extent in ty.shape], str(ty.dtype)
