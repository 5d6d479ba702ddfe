"""Shapes that the user gives to inputs, where the file leaves sizes open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp.plain.entry_size import LARGEST_SIZE
from usmp.support.plain_text import shown

GIVE_SHAPE = "give the shape, with --input-shapes (in Python input_shapes)"
"""The hint of errors about shapes that are not fixed."""

Extents = Sequence[int | str]
"""Of an input: numbers, and names of sizes."""


def check_input_shapes(shapes: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The shapes, if their extents are integers from 1 up that an `int32_t` holds.

    Raises
    ------
    ValueError
        one is not.
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
    """The sizes that follow from the shapes that are given, by name.

    Parameters
    ----------
    shapes
        of the inputs of the model.
    given
        of some of them; of inputs of other models, too.

    Raises
    ------
    ValueError
        a shape has other extents than the model, where that has numbers, or one size has two
        values.
    """
    sizes: dict[str, tuple[int, str]] = {}
    for name, asked in given.items():
        shape = shapes.get(name)
        if shape is None:
            continue
        if len(shape) != len(asked) or any(
            isinstance(extent, int) and extent != number
            for extent, number in zip(shape, asked, strict=True)
        ):
            raise ValueError(
                f'input "{shown(name)}" has the shape {in_words(shape)} in the model, which cannot '
                f"be {in_words(asked)}"
            )
        for extent, number in zip(shape, asked, strict=True):
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
    """As in `[1, seq]`."""
    return f"[{', '.join(shown(extent) for extent in shape)}]"
