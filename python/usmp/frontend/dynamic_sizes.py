"""Sizes that a model file leaves open: what they are called, and what is asked of them.

A size becomes a shape variable with the bounds that the file and the user give, or the number that
the user gives in the shape of an input. Without any, the first extent of an input is taken as a
batch of one, and others are refused.
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
from usmp.support.plain_text import shown
from usmp.support.unique_names import UniqueNames


@dataclass
class AskedSizes:
    """The shapes and the largest sizes that the user gives, and which of them models have.

    Parameters
    ----------
    max_sizes
        by the names in the files; None for a size without a largest value.
    is_for_one_model
        whether each name must be in the model that is read, and not only in one of several.
    requires_bounds
        whether a size without a bound is refused.
    input_shapes
        by the names of inputs.
    known
        the names of the sizes of the models that were read.
    known_inputs
        the names of their inputs.
    resolved
        what became of these sizes.
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
        """Note the inputs of a model and the sizes in their shapes.

        Returns
        -------
        dict[str, int]
            The sizes that follow from shapes that are asked for.

        Raises
        ------
        ValueError
            the only model does not have an input or a size that is asked for; a shape cannot be
            that of its input, or contradicts another or `max_sizes`.
        """
        self.known_inputs += shapes
        self.read_sizes(size_names(shapes))
        given = sizes_of_shapes(shapes, self.input_shapes)
        for name in given.keys() & self.max_sizes.keys():
            raise ValueError(
                f'size "{shown(name)}" has one value by the shapes of the inputs, and a largest '
                "value; give one of them"
            )
        return given

    def read_sizes(self, names: Sequence[str]) -> None:
        """Note the names of the sizes of a module of Relax."""
        self.known += names
        if self.is_for_one_model:
            self.check_all_known()

    def check_all_known(self) -> None:
        """Check that some model has each input and each size that is asked for.

        Raises
        ------
        ValueError
            none has one of them.
        """
        check_names(self.max_sizes, self.known)
        check_names(self.input_shapes, self.known_inputs, "input", "it takes none")


@dataclass(frozen=True)
class FoundSize:
    """A size that a file leaves open.

    Parameters
    ----------
    name
        as the user has to call it.
    input, shape
        the first input that has it, and its shape in words.
    lower_bound, upper_bound
        of the file, if it says any.
    is_batch
        whether it is the first extent of an input.
    """

    name: str
    input: str
    shape: str
    lower_bound: int = 1
    upper_bound: int | None = None
    is_batch: bool = False


@dataclass(frozen=True)
class DynamicSize:
    """What becomes of a size that a file leaves open.

    Parameters
    ----------
    name
        in the file.
    symbol
        its shape variable: the name as a C identifier, which no other size has.
    lower_bound, upper_bound
        between which a run may have it; an upper bound of None means that there is none.
    number
        what it is taken as, if there is no variable.
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
    """What becomes of the sizes in the shapes of the inputs, in the order in which they come first.

    Parameters
    ----------
    shapes
        of the inputs, by name.
    asked
        what the user gives.
    bounds
        that the file says, by the names of the sizes.

    Raises
    ------
    UnsupportedModelError
        nothing says how large a size may be.
    ValueError
        an input or a size that is asked for is none of the model, or contradicts it.
    """
    given = asked.read(shapes)
    found = _found_sizes(shapes, bounds or {})
    symbols = UniqueNames()
    sizes = []
    for size in found:
        own = SymbolicSize(size.name, size.lower_bound, size.upper_bound)
        number = given.get(size.name)
        if number is None and size.is_batch and size.name not in asked.max_sizes:
            number = 1
        limited = narrowed(own, asked.max_sizes)
        if size.name in given:
            _check_in_range(size, given[size.name])
        symbol = symbols.unique(sanitise(size.name))
        sizes.append(
            DynamicSize(size.name, symbol, limited.lower_bound, limited.upper_bound, number)
        )
    asked.resolved += sizes
    if asked.requires_bounds:
        _check_bounds(found, sizes, asked)
    return sizes


def size_names(shapes: Mapping[str, Extents]) -> list[str]:
    """The names of the sizes in shapes, in the order in which they come first."""
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
    found: Sequence[FoundSize], sizes: Sequence[DynamicSize], asked: AskedSizes
) -> None:
    missing = [
        each
        for each, size in zip(found, sizes, strict=True)
        if size.upper_bound is None and size.number is None and each.name not in asked.max_sizes
    ]
    if missing:
        first = missing[0]
        names = [each.name for each in missing if each.input == first.input]
        raise UnsupportedModelError(
            f'input "{shown(first.input)}" has a dynamic shape, {first.shape}; memory is planned '
            f"at compile time: {GIVE_SHAPE}, or {_offer(names)}"
        )


def _offer(names: Sequence[str]) -> str:
    """How to give the largest sizes."""
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
    found: dict[str, FoundSize] = {}
    for name, shape in shapes.items():
        for extent in shape:
            if isinstance(extent, str) and extent not in found:
                lower, upper = bounds.get(extent, (1, None))
                is_batch = extent in leading
                found[extent] = FoundSize(
                    extent, name, in_words(shape), max(lower, 1), upper, is_batch
                )
    return list(found.values())
