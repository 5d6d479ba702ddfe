"""`dtype_dict` of `tvmc.load`: the element types that the inputs of a model have to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.support.plain_text import shown

if TYPE_CHECKING:
    from tvm.ir import IRModule


def check_input_types(mod: IRModule, expected: Mapping[str, str]) -> None:
    """Check that inputs of a Relax module have the element types that the user gives.

    Parameters
    ----------
    mod
        with one entry or several; an input of any of them is meant.
    expected
        types such as "int8", by the names of inputs.

    Raises
    ------
    UsageError
        a name is that of no input, or an input has another type.
    """
    types = _input_types(mod)
    listed = ", ".join(f"{shown(name)}: {' or '.join(each)}" for name, each in types.items())
    for name, dtype in expected.items():
        found = types.get(name)
        if found is None:
            raise UsageError(
                f'dtype_dict: the model has no input "{shown(str(name))}"; its inputs: {listed}'
            )
        if [str(dtype)] != found:
            raise UsageError(
                f'dtype_dict: input "{shown(name)}" is {" or ".join(found)} in the file, not '
                f"{shown(str(dtype))}; its inputs: {listed}; convert the model where it is "
                "exported, or the input where it is given"
            )


def _input_types(mod: IRModule) -> dict[str, list[str]]:
    """The element types that each input has in the entries that have it."""
    from usmp.objects.attributes import STATES_ATTR
    from usmp.relax.entries import relax_entries

    types: dict[str, list[str]] = {}
    for entry in relax_entries(mod):
        function = mod[entry]
        states = STATES_ATTR.of(function) or ()
        kept = {str(state.name) for state in states if not state.is_input}
        for parameter in function.params:
            name, dtype = str(parameter.name), str(parameter.ty.dtype)
            if name not in kept and dtype not in types.setdefault(name, []):
                types[name].append(dtype)
    return types
