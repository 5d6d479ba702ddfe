"""What a model keeps between runs, as the attribute `states` of the Relax `main` has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax

from usmp.objects.attributes import STATES_ATTR
from usmp.objects.entries import ONLY_ENTRY
from usmp.objects.executor import is_alignment
from usmp.objects.state_info import StateInfo
from usmp.relax.static_shapes import flatten_types, has_static_shape


def states_of(main: relax.Function, entry: str = ONLY_ENTRY) -> list[StateInfo]:
    """The states of the Relax `main`, by its attribute `states`.

    Parameters
    ----------
    entry
        what messages call the function, which is `main` only while its entry is by itself.

    Raises
    ------
    ValueError
        a state that is no parameter of `main`, or whose value after the run is no result of it
        or has another type; an alignment that is no power of two.
    """
    states = (main.attrs or {}).get(STATES_ATTR, ())
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
        shape, dtype = _shape_and_dtype(params[0].ty)
        _check_initial_value(state, shape, dtype)
        if state.output == -1:
            continue
        if not 0 <= state.output < len(results) or state.output in outputs:
            raise ValueError(
                f'state "{state.name}" must have a result of {entry} of its own, 0 to '
                f"{len(results) - 1}, or -1 if {entry} only reads it, but has {state.output}"
            )
        outputs.add(int(state.output))
        after = results[state.output]
        if (shape, dtype) != _shape_and_dtype(after):
            raise ValueError(
                f'state "{state.name}" is {dtype}{shape} before a run, but result {state.output} '
                f"of {entry} is {after}"
            )
    return list(states)


def initial_array(state: StateInfo, ty: relax.TensorType) -> np.ndarray:
    """The value of a state of this type before the first run, in full."""
    value = state.initial_value.numpy()
    return np.ascontiguousarray(np.broadcast_to(value, [int(extent) for extent in ty.shape]))


def _check_initial_value(state: StateInfo, shape: list[int], dtype: str) -> None:
    if state.alignment and not is_alignment(state.alignment):
        raise ValueError(
            f'the alignment of state "{state.name}" must be a power of two (bytes), or 0, not '
            f"{state.alignment}"
        )
    initial = state.initial_value
    given = [int(extent) for extent in initial.shape]
    if str(initial.dtype) != dtype or given not in ([], shape):
        raise ValueError(
            f'state "{state.name}" is {dtype}{shape}, but its initial value is '
            f"{initial.dtype}{given}"
        )


def _shape_and_dtype(ty: relax.TensorType) -> tuple[list[int], str]:
    if not has_static_shape(ty):
        raise ValueError(f"a state must be a tensor of static shape, not {ty}")
    return [int(extent) for extent in ty.shape], str(ty.dtype)
