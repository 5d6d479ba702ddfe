"""Dynamic sizes of a model file, resolved by the options of the user.

A size becomes a shape variable with the bounds of the file and the user, or a number from an input
shape of the user. Without either, the first extent of an input becomes a batch of 1, and other
sizes are refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from usmp.codegen.c.names import sanitise
from usmp.frontend.input_shapes import (
    GIVE_SHAPE,
    Extents,
    check_input_shapes,
    in_words,
    sizes_of_shapes,
)
from usmp.objects.symbolic_size import SymbolicSize
from usmp.relax.symbolic_sizes import check_max_sizes, check_names, narrowed
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.support.text.unique_names import UniqueNames


@dataclass
class AskedSizes:
    """The input shapes and largest sizes that the user gives, and the sizes of the models read.

    Parameters
    ----------
    max_sizes
        name of a size in the files -> largest value; None for a size without an upper bound.
    is_for_one_model
        whether every model must have each name that the user gives; otherwise, one must.
    requires_bounds
        whether a size without a bound is refused.
    input_shapes
        name of an input -> shape.
    known
        the names of the sizes of the models read so far.
    known_inputs
        the names of the inputs of the models read so far.
    resolved
        the resolved sizes of the models read so far.
    """

    max_sizes: Mapping[str, int | None] = field(default_factory=dict)
    is_for_one_model: bool = True
    requires_bounds: bool = True
    input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    known_inputs: list[str] = field(default_factory=list)
    resolved: list[DynamicSize] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.max_sizes = check_max_sizes(self.max_sizes)
        self.input_shapes = check_input_shapes(self.input_shapes)

    def read(self, shapes: Mapping[str, Extents]) -> dict[str, int]:
        """Record the inputs of a model and the sizes in their shapes.

        Returns
        -------
        dict[str, int]
            Name -> value of the sizes that the user's input shapes determine.

        Raises
        ------
        ValueError
            the only model does not have an input or a size that the user names; a shape does not
            fit its input, or contradicts another shape or `max_sizes`.
        """
        self.known_inputs += shapes
        self.read_sizes(size_names(shapes))
        numbers = sizes_of_shapes(shapes, self.input_shapes)
        for name in numbers.keys() & self.max_sizes.keys():
            raise ValueError(
                f'size "{shown(name)}" has one value by the shapes of the inputs, and a largest '
                "value; give one of them"
            )
        return numbers

    def read_sizes(self, names: Sequence[str]) -> None:
        """Record the names of a model's sizes. Check the user's names if only one model is read."""
        self.known += names
        if self.is_for_one_model:
            self.check_all_known()

    def check_all_known(self) -> None:
        """Check that some model has each input and each size that the user names.

        Raises
        ------
        ValueError
            no model has an input or a size.
        """
        check_names(self.max_sizes, self.known)
        check_names(self.input_shapes, self.known_inputs, "input", "It takes none")


@dataclass(frozen=True)
class FoundSize:
    """A dynamic size of a file, before it is resolved.

    Parameters
    ----------
    name
        the name in the user's options.
    input, shape
        the first input that has the size, and the input's shape in words.
    lower_bound, upper_bound
        the bounds in the file, if it has any.
    is_batch
        whether the size is the first extent of an input.
    """

    name: str
    input: str
    shape: str
    lower_bound: int = 1
    upper_bound: int | None = None
    is_batch: bool = False


@dataclass(frozen=True)
class DynamicSize:
    """A resolved dynamic size: a shape variable with bounds, or a number.

    Parameters
    ----------
    name
        the name in the file.
    symbol
        the name of its shape variable, a unique C identifier.
    lower_bound, upper_bound
        the smallest and largest value of a run; None without an upper bound.
    number
        the value that replaces the size, or None for a shape variable.
    """

    name: str
    symbol: str
    lower_bound: int
    upper_bound: int | None
    number: int | None

    @property
    def bounded(self) -> SymbolicSize:
        """The variable with its bounds."""
        return SymbolicSize(self.symbol, self.lower_bound, self.upper_bound)


def resolved_sizes(
    shapes: Mapping[str, Extents],
    asked: AskedSizes,
    bounds: Mapping[str, tuple[int, int | None]] | None = None,
) -> list[DynamicSize]:
    """Resolve the sizes in the shapes of the inputs, in the order of their first occurrence.

    Parameters
    ----------
    shapes
        name of an input -> shape.
    asked
        the options of the user.
    bounds
        name of a size -> bounds in the file.

    Raises
    ------
    UnsupportedModelError
        a size has no upper bound.
    ValueError
        the model does not have an input or a size that the user names, or contradicts its value.
    """
    numbers = asked.read(shapes)
    sizes_of_file = _found_sizes(shapes, bounds or {})
    symbols = UniqueNames()
    sizes = []
    for size in sizes_of_file:
        bounded = SymbolicSize(size.name, size.lower_bound, size.upper_bound)
        number = numbers.get(size.name)
        if number is None and size.is_batch and size.name not in asked.max_sizes:
            number = 1
        limited = narrowed(bounded, asked.max_sizes)
        if size.name in numbers:
            _check_in_range(size, numbers[size.name])
        symbol = symbols.unique(sanitise(size.name))
        sizes.append(
            DynamicSize(size.name, symbol, limited.lower_bound, limited.upper_bound, number)
        )
    asked.resolved += sizes
    if asked.requires_bounds:
        _check_bounds(sizes_of_file, sizes, asked)
    return sizes


def size_names(shapes: Mapping[str, Extents]) -> list[str]:
    """Return the names of the sizes in shapes, in the order of their first occurrence."""
    extents = (extent for shape in shapes.values() for extent in shape)
    return list(dict.fromkeys(extent for extent in extents if isinstance(extent, str)))


def _check_in_range(size: FoundSize, number: int) -> None:
    if number < size.lower_bound or (size.upper_bound or number) < number:
        upper = "" if size.upper_bound is None else f" to {size.upper_bound}"
        raise ValueError(
            f'input "{shown(size.input)}" has the shape {size.shape} in the model, where '
            f'"{shown(size.name)}" may be from {size.lower_bound}{upper}, not {number}'
        )


def _check_bounds(
    sizes_of_file: Sequence[FoundSize], sizes: Sequence[DynamicSize], asked: AskedSizes
) -> None:
    missing = [
        found
        for found, size in zip(sizes_of_file, sizes, strict=True)
        if size.upper_bound is None and size.number is None and found.name not in asked.max_sizes
    ]
    if missing:
        first = missing[0]
        names = [found.name for found in missing if found.input == first.input]
        raise UnsupportedModelError(
            f'input "{shown(first.input)}" has a dynamic shape, {first.shape}; memory is planned '
            f"at compile time: {GIVE_SHAPE}, or {_offer(names)}"
        )


def _offer(names: Sequence[str]) -> str:
    """Return the part of an error message that explains `--max`."""
    flags = " ".join(f"--max {shlex.quote(f'{shown(name)}=N')}" for name in names)
    entries = ", ".join(f'"{shown(name)}": N' for name in names)
    return (
        f"say how large its sizes may be, with {flags} (in Python max_sizes={{{entries}}}), N "
        "being none (None) where there is no limit"
    )


def _found_sizes(
    shapes: Mapping[str, Extents], bounds: Mapping[str, tuple[int, int | None]]
) -> list[FoundSize]:
    leading = {shape[0] for shape in shapes.values() if shape and isinstance(shape[0], str)}
    sizes: dict[str, FoundSize] = {}
    for name, shape in shapes.items():
        for extent in shape:
            if isinstance(extent, str) and extent not in sizes:
                lower, upper = bounds.get(extent, (1, None))
                is_batch = extent in leading
                sizes[extent] = FoundSize(
                    extent, name, in_words(shape), max(lower, 1), upper, is_batch
                )
    return list(sizes.values())
