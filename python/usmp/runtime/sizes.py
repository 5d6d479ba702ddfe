"""The symbolic sizes of a run, which follow from the shapes of its inputs, or are given."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from usmp.plain.entry_size import LARGEST_SIZE
from usmp.plain.size_expression import shape_at, shape_text, solved
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown

Infos = Mapping[str, Mapping[str, Any]]
"""Values of tensors or of sizes in metadata.json, by name."""


def sizes_of_run(
    sizes: Infos,
    inputs: Infos,
    arrays: Mapping[str, np.ndarray],
    given: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the value of each symbolic size in a run.

    Parameters
    ----------
    sizes
        C name and bounds of each size.
    inputs
        inputs of the model.
    arrays
        arrays of some inputs.
    given
        values of some sizes.

    Raises
    ------
    ValueError
        a size is unknown, does not follow from the shapes of the arrays, or is out of range; or an
        array has another number of axes.
    """
    known = known_sizes(sizes, inputs, arrays, given)
    for name, size in sizes.items():
        if name not in known:
            raise ValueError(
                f'size "{shown(name)}" does not follow from the shapes of the inputs; give it, '
                f"{bounds_text(size)}, by its name"
            )
    return known


def known_sizes(
    sizes: Infos,
    inputs: Infos,
    arrays: Mapping[str, np.ndarray],
    given: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the sizes that are given, and those that follow from the shapes of arrays.

    The parameters are those of `sizes_of_run`.

    Raises
    ------
    ValueError
        as in `sizes_of_run`, except that sizes may be missing.
    """
    known = {str(name): _given_size(sizes, name, value) for name, value in (given or {}).items()}
    extents = [
        (extent, actual, f'axis {axis} of input "{shown(name)}"')
        for name, info in inputs.items()
        if name in arrays and "symbolic_shape" in info
        for axis, (extent, actual) in enumerate(_pairs(name, info, arrays[name]))
    ]
    # Repeat, because each solved size can leave another extent with a single unknown size.
    is_done = not sizes
    while not is_done:
        is_done = True
        for extent, actual, where in extents:
            solution = solved(extent, actual, known)
            if solution is not None:
                name, value = solution
                known[name] = _checked(sizes, name, value, f", by {where}")
                is_done = False
    return known


def _pairs(name: str, info: Mapping[str, Any], array: np.ndarray) -> list[tuple[Any, int]]:
    """Return pairs of a symbolic extent of a tensor and the actual extent."""
    shape = np.shape(array)
    if len(shape) != len(info["symbolic_shape"]):
        raise ValueError(
            f'input "{shown(name)}" is {np.asarray(array).dtype}{list(shape)}; the model takes '
            f"{described(info)}"
        )
    return list(zip(info["symbolic_shape"], shape, strict=True))


def _given_size(sizes: Infos, name: str, value: int) -> int:
    if name not in sizes:
        problem = f'the model has no size "{shown(name)}"'
        raise ValueError(unknown_name(problem, name, list(sizes), "Its sizes"))
    if isinstance(value, bool):
        raise ValueError(f'size "{shown(name)}" is a number, not {value}')
    return _checked(sizes, name, operator.index(value), "")


def _checked(sizes: Infos, name: str, value: int, where: str) -> int:
    low, high = sizes[name]["min"], sizes[name]["max"]
    if not low <= value <= (LARGEST_SIZE if high is None else high):
        takes = bounds_text(sizes[name])
        if value > LARGEST_SIZE:
            takes += f", and no size is more than {LARGEST_SIZE}"
        raise ValueError(f'size "{shown(name)}" is {value}{where}; the model takes {takes}')
    return value


def bounds_text(size: Mapping[str, Any]) -> str:
    """Return the bounds of a size in words."""
    if size["max"] is None:
        return f"{size['min']} or more"
    return f"{size['min']} to {size['max']}"


def at_sizes(infos: Infos, sizes: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Return the values of tensors in metadata.json, with the shapes of a run.

    Parameters
    ----------
    infos
        values of inputs or outputs by name.
    sizes
        a value for each size.

    Raises
    ------
    ValueError
        an extent would be negative, or a tensor would have more bytes than models can index.
    """
    at_run = {}
    for name, info in infos.items():
        shape = shape_at(info["symbolic_shape"], sizes) if "symbolic_shape" in info else None
        if shape is not None and min(shape, default=0) < 0:
            raise ValueError(
                f'tensor "{shown(name)}" of {described(info)} would be {shape} at '
                f"{sizes_text(sizes)}; choose other sizes"
            )
        if shape is not None:
            _check_bytes(name, info, prod(shape) * np.dtype(info["dtype"]).itemsize, sizes)
        at_run[name] = dict(info) if shape is None else {**info, "shape": shape}
    return at_run


def _check_bytes(name: str, info: Mapping[str, Any], total: int, sizes: Mapping[str, int]) -> None:
    if total > LARGEST_SIZE:
        raise ValueError(
            f'tensor "{shown(name)}" of {described(info)} would take {total} bytes at '
            f"{sizes_text(sizes)}; a tensor may take {LARGEST_SIZE}: choose smaller sizes"
        )


def largest_sizes(sizes: Infos) -> dict[str, int]:
    """Return the upper bound of each size that has one."""
    return {name: int(size["max"]) for name, size in sizes.items() if size["max"] is not None}


def described(info: Mapping[str, Any]) -> str:
    """Return the element type and the shape of a tensor as text, with symbolic extents."""
    shape = info.get("symbolic_shape")
    return f"{info['dtype']}{info['shape'] if shape is None else shown(shape_text(shape))}"


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return a text such as "seq=17, n=4"."""
    return ", ".join(f"{shown(name)}={value}" for name, value in sizes.items())
