"""`dtype_dict` of `tvmc.load`: the expected element types of a model's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from tvm.ir import IRModule


def check_input_types(mod: IRModule, expected: Mapping[str, str]) -> None:
    """Check that inputs of a Relax module have the expected element types.

    Parameters
    ----------
    mod
        a module with one entry or several, whose inputs are all checked.
    expected
        element types such as "int8", by the names of inputs.

    Raises
    ------
    UsageError
        a name belongs to no input, or an input has another type.
    """
    types = _input_types(mod)
    texts = {name: f"{shown(name)}: {' or '.join(dtypes)}" for name, dtypes in types.items()}
    for name, dtype in expected.items():
        actual = types.get(name)
        if actual is None:
            problem = f'dtype_dict: the model has no input "{shown(str(name))}"'
            raise UsageError(unknown_name(problem, name, texts, "Its inputs", texts=texts))
        if [str(dtype)] != actual:
            listed = ", ".join(texts.values())
            raise UsageError(
                f'dtype_dict: input "{shown(name)}" is {" or ".join(actual)} in the file, not '
                f"{shown(str(dtype))}; its inputs: {listed}; convert the model where it is "
                "exported, or the input where it is given"
            )


def _input_types(mod: IRModule) -> dict[str, list[str]]:
    """Return the distinct element types of each input over all entries."""
    from usmp.relax.entries import relax_entries
    from usmp.relax.states import input_params

    types: dict[str, list[str]] = {}
    for entry in relax_entries(mod):
        for parameter in input_params(mod[entry]):
            known, dtype = types.setdefault(str(parameter.name), []), str(parameter.ty.dtype)
            if dtype not in known:
                known.append(dtype)
    return types
