"""Are the given inputs those that a model takes?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def checked_inputs(
    infos: Mapping[str, Mapping[str, Any]], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The given arrays in the order of the model's inputs.

    Parameters
    ----------
    infos
        shape and dtype of every input of the model, by name.
    given
        an array for each.

    Raises
    ------
    TypeError
        the inputs have no names.
    ValueError
        an input is missing, unknown, or of another shape or element type.
    """
    if not isinstance(given, Mapping):
        example = ", ".join(f'"{name}": array' for name in infos)
        raise TypeError(f"inputs are arrays by name, {{{example}}}, not {type(given).__name__}")
    expected = ", ".join(f"{n}: {i['dtype']}{i['shape']}" for n, i in infos.items())
    unknown = [name for name in given if name not in infos]
    if unknown:
        raise ValueError(f'the model has no input "{unknown[0]}"; its inputs: {expected}')
    arrays = {}
    for name, info in infos.items():
        if name not in given:
            raise ValueError(f'input "{name}" is missing; the model\'s inputs: {expected}')
        array = np.asarray(given[name])
        if str(array.dtype) != info["dtype"] or list(array.shape) != info["shape"]:
            raise ValueError(
                f'input "{name}" is {array.dtype}{list(array.shape)}; '
                f"the model takes {info['dtype']}{info['shape']}"
            )
        arrays[name] = array
    return arrays
