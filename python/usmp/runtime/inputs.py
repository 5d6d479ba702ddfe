"""Check the inputs of a run against those of the model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tvm_ffi

from usmp.runtime.sizes import Infos, at_sizes, described, sizes_of_run, sizes_text
from usmp.support.text.known_names import unknown_name


def checked_run(
    inputs: Infos,
    sizes: Infos,
    given: Mapping[str, np.ndarray],
    given_sizes: Mapping[str, int] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Check the inputs and sizes of a run, and return them in the order of the model.

    Parameters
    ----------
    inputs, sizes
        inputs and symbolic sizes of the entry by name, as in metadata.json.
    given
        an array for each input, by name.
    given_sizes
        sizes by name; sizes that follow from the shapes of arrays are optional.

    Raises
    ------
    TypeError
        `given` is no mapping from names to arrays.
    ValueError
        an input is missing, unknown, or has another shape or element type; a size is unknown or out
        of range.
    """
    if not sizes and not given_sizes:
        return checked_inputs(inputs, given), {}
    _check_names(inputs, given)
    arrays = {name: _array(name, value) for name, value in given.items()}
    all_sizes = sizes_of_run(sizes, inputs, arrays, given_sizes)
    ordered = {name: all_sizes[name] for name in sizes}
    return checked_inputs(at_sizes(inputs, ordered), arrays, ordered), ordered


def checked_inputs(
    infos: Infos, given: Mapping[str, np.ndarray], sizes: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """Check the inputs of a run, and return them in the order of the model.

    Parameters
    ----------
    infos
        shape and dtype of every input of the model, by name.
    given
        an array for each input, by name.
    sizes
        symbolic sizes that determined the shapes, for errors.

    Raises
    ------
    TypeError
        `given` is no mapping from names to arrays.
    ValueError
        an input is missing, unknown, or has another shape or element type.
    """
    _check_names(infos, given)
    arrays = {}
    for name, info in infos.items():
        array = _array(name, given[name])
        if str(array.dtype) != info["dtype"] or list(array.shape) != info["shape"]:
            where = f" at {sizes_text(sizes)} ({described(info)})" if sizes else ""
            raise ValueError(
                f'input "{name}" is {array.dtype}{list(array.shape)}; '
                f"the model takes {info['dtype']}{info['shape']}{where}"
            )
        arrays[name] = array
    return arrays


def _array(name: str, value: object) -> np.ndarray:
    """Convert a value to an array, which shares the memory of a tensor of TVM."""
    if not isinstance(value, tvm_ffi.Tensor):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        raise ValueError(
            f'input "{name}" is a tensor of {value.dtype} on {value.device}; give an array of NumPy'
        ) from error


def _check_names(infos: Infos, given: Mapping[str, np.ndarray]) -> None:
    """Check that there is exactly one array for each input."""
    if not isinstance(given, Mapping):
        example = ", ".join(f'"{name}": array' for name in infos)
        raise TypeError(f"inputs are arrays by name, {{{example}}}, not {type(given).__name__}")
    texts = {name: f"{name}: {described(info)}" for name, info in infos.items()}
    for name in given:
        if name not in infos:
            problem = f'the model has no input "{name}"'
            raise ValueError(unknown_name(problem, name, texts, "Its inputs", texts=texts))
    missing = [name for name in infos if name not in given]
    if missing:
        expected = ", ".join(texts.values())
        raise ValueError(f'input "{missing[0]}" is missing; the model\'s inputs: {expected}')
