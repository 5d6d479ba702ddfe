"""Input shapes that the user gives for the dynamic sizes of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp.plain.entry_size import LARGEST_SIZE
from usmp.support.text.plain_text import shown

GIVE_SHAPE = "give the shape, with --input-shapes (in Python input_shapes)"
"""The hint in errors about dynamic shapes."""

Extents = Sequence[int | str]
"""The extents of an input: numbers, and names of sizes."""


def check_input_shapes(shapes: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Check that all extents are positive integers that an `int32_t` holds; return copies.

    Raises
    ------
    ValueError
        an extent is not such an integer.
    """
    for name, shape in shapes.items():
        for extent in shape:
            if isinstance(extent, bool) or not isinstance(extent, int):
                raise ValueError(
                    f'the shape of input "{shown(name)}" must be of integers, not of '
                    f"{shown(repr(extent))}"
                )
            if not 1 <= extent <= LARGEST_SIZE:
                raise ValueError(
                    f'the extents of input "{shown(name)}" must be from 1 to {LARGEST_SIZE}, '
                    f"not {extent}"
                )
    return {name: list(shape) for name, shape in shapes.items()}


def sizes_of_shapes(
    shapes: Mapping[str, Extents], given: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """Return name -> value of the sizes that given shapes determine.

    Parameters
    ----------
    shapes
        the shapes of the model's inputs.
    given
        the user's shapes of some inputs; shapes of inputs of other models are ignored.

    Raises
    ------
    ValueError
        a given shape contradicts a fixed extent of the model, or gives a size a second value.
    """
    sizes: dict[str, tuple[int, str]] = {}
    for name, wanted_shape in given.items():
        shape = shapes.get(name)
        if shape is None:
            continue
        if len(shape) != len(wanted_shape) or any(
            isinstance(extent, int) and extent != number
            for extent, number in zip(shape, wanted_shape, strict=True)
        ):
            raise ValueError(
                f'input "{shown(name)}" has the shape {in_words(shape)} in the model, which cannot '
                f"be {in_words(wanted_shape)}"
            )
        for extent, number in zip(shape, wanted_shape, strict=True):
            if isinstance(extent, int):
                continue
            value, first = sizes.setdefault(extent, (number, name))
            if value != number:
                raise ValueError(
                    f'size "{shown(extent)}" would be {value} in input "{shown(first)}" and '
                    f'{number} in input "{shown(name)}"'
                )
    return {name: value for name, (value, _) in sizes.items()}


def in_words(shape: Extents) -> str:
    """Return the text of a shape, such as `[1, seq]`."""
    return f"[{', '.join(shown(extent) for extent in shape)}]"
