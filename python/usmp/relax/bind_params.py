"""Constants in place of named parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import STATES_ATTR
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.relax.entries import join_functions, relax_entries, split_entries
from usmp.relax.static_shapes import has_static_shape, main_function
from usmp.relax.symbolic_sizes import shown_type


def bind_params(mod: IRModule, params: Mapping[str, np.ndarray | tvm.runtime.Tensor]) -> IRModule:
    """Replace the named parameters of the Relax `main`, or of all entries that have them, by
    constants.

    Raises
    ------
    UnsupportedModelError
        there is no Relax function `main`.
    ValueError
        a name is no parameter, or names a state or an input that a run updates; or a value has
        another shape or element type.
    """
    entries = relax_entries(mod)
    if entries == [ONLY_ENTRY]:
        return _bind(mod, params)
    alone = split_entries(mod, entries)
    names = {e: {str(param.name) for param in main_function(alone[e]).params} for e in entries}
    for name in params:
        if not any(name in own for own in names.values()):
            known = "; ".join(f"{e}: {', '.join(sorted(names[e])) or 'none'}" for e in entries)
            raise ValueError(f'no entry has a parameter "{name}"; their parameters are {known}')
    bound = {e: _bind(alone[e], {n: params[n] for n in params if n in names[e]}) for e in entries}
    return join_functions(mod, bound)


def _bind(mod: IRModule, params: Mapping[str, np.ndarray | tvm.runtime.Tensor]) -> IRModule:
    main = main_function(mod)
    by_name = {str(param.name): param for param in main.params}
    states = {str(state.name): state for state in STATES_ATTR.of(main) or ()}
    for name, value in params.items():
        if name not in by_name:
            listed = ", ".join(f"{n}: {shown_type(p.ty)}" for n, p in by_name.items())
            raise ValueError(f'main has no parameter "{name}"; its parameters: {listed or "none"}')
        if name in states and states[name].is_input:
            raise ValueError(
                f'parameter "{name}" of main is an input that each run updates in place; it can be '
                "no constant: give it to each run"
            )
        if name in states:
            raise ValueError(
                f'parameter "{name}" of main is a state, which changes from run to run; what it is '
                "at first is the initial_value of its StateInfo"
            )
        if not isinstance(value, np.ndarray | tvm.runtime.Tensor):
            raise ValueError(
                f'the value of parameter "{name}" is of type {type(value).__name__}; '
                "give a numpy array or a tvm.runtime.Tensor"
            )
        actual = f"{value.dtype}{[int(extent) for extent in value.shape]}"
        expected = shown_type(by_name[name].ty)
        if has_static_shape(by_name[name].ty) and actual != expected:
            raise ValueError(f'the value of parameter "{name}" is {actual}; main takes {expected}')
    return relax.transform.BindParams("main", dict(params))(mod)
