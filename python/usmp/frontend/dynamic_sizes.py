"""Sizes that a model file leaves open: what they are called, and what is asked of them.

A size becomes a shape variable with the bounds that the file and the user give. Without any, the
first extent of an input is taken as a batch of one, and others are refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from usmp.codegen.names import sanitise
from usmp.objects.symbolic_size import SymbolicSize
from usmp.relax.symbolic_sizes import check_max_sizes, check_names, narrowed
from usmp.support.errors import UnsupportedModelError
from usmp.support.plain_text import shown
from usmp.support.unique_names import UniqueNames


@dataclass
class AskedSizes:
    """The largest sizes that the user gives, and which of them models have.

    Parameters
    ----------
    max_sizes
        by the names in the files; None for a size without a largest value.
    is_for_one_model
        whether each name must be in the model that is read, and not only in one of several.
    requires_bounds
        whether a size without a bound is refused.
    known
        the names of the sizes of the models that were read.
    resolved
        what became of these sizes.
    """

    max_sizes: Mapping[str, int | None] = field(default_factory=dict)
    is_for_one_model: bool = True
    requires_bounds: bool = True
    known: list[str] = field(default_factory=list)
    resolved: list[DynamicSize] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.max_sizes = check_max_sizes(self.max_sizes)

    def read(self, names: Sequence[str]) -> None:
        """Note the names of the sizes of a model.

        Raises
        ------
        ValueError
            the only model does not have a size that is asked for.
        """
        self.known += names
        if self.is_for_one_model:
            self.check_all_known()

    def check_all_known(self) -> None:
        """Check that some model has each size that is asked for.

        Raises
        ------
        ValueError
            none has one of them.
        """
        check_names(self.max_sizes, self.known)


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
    is_one
        whether it is taken as 1, and there is no variable.
    """

    name: str
    symbol: str
    lower_bound: int
    upper_bound: int | None
    is_one: bool

    @property
    def bounded(self) -> SymbolicSize:
        """The variable with its bounds."""
        return SymbolicSize(self.symbol, self.lower_bound, self.upper_bound)


def resolved_sizes(found: Sequence[FoundSize], asked: AskedSizes) -> list[DynamicSize]:
    """What becomes of the sizes that a file leaves open.

    Raises
    ------
    UnsupportedModelError
        nothing says how large a size may be.
    ValueError
        a size that is asked for is none of the model, or contradicts it.
    """
    asked.read([size.name for size in found])
    symbols = UniqueNames()
    sizes = []
    for size in found:
        given = narrowed(
            SymbolicSize(size.name, size.lower_bound, size.upper_bound), asked.max_sizes
        )
        is_one = size.is_batch and size.name not in asked.max_sizes
        sizes.append(
            DynamicSize(
                size.name,
                symbols.unique(sanitise(size.name)),
                given.lower_bound,
                given.upper_bound,
                is_one,
            )
        )
    asked.resolved += sizes
    if asked.requires_bounds:
        _check_bounds(found, sizes, asked)
    return sizes


def _check_bounds(
    found: Sequence[FoundSize], sizes: Sequence[DynamicSize], asked: AskedSizes
) -> None:
    missing = [
        each
        for each, size in zip(found, sizes, strict=True)
        if size.upper_bound is None and not size.is_one and each.name not in asked.max_sizes
    ]
    if missing:
        first = missing[0]
        names = [each.name for each in missing if each.input == first.input]
        raise UnsupportedModelError(
            f'input "{shown(first.input)}" has a dynamic shape, {first.shape}; memory is planned '
            f"at compile time: export the model with fixed input shapes, or {_offer(names)}"
        )


def _offer(names: Sequence[str]) -> str:
    """How to give the largest sizes."""
    flags = " ".join(f"--max {shlex.quote(f'{shown(name)}=N')}" for name in names)
    entries = ", ".join(f'"{shown(name)}": N' for name in names)
    return (
        f"say how large its sizes may be, with {flags} (in Python max_sizes={{{entries}}}), N "
        "being none (None) where there is no limit"
    )


def _leading(shapes: Mapping[str, Sequence[str | int]]) -> set[str]:
    """The sizes that are the first extent of an input, by the shapes of the inputs."""
    return {shape[0] for shape in shapes.values() if shape and isinstance(shape[0], str)}


def found_sizes(
    shapes: Mapping[str, Sequence[str | int]],
    bounds: Mapping[str, tuple[int, int | None]] | None = None,
) -> list[FoundSize]:
    """The sizes in the shapes of the inputs, in the order in which they come first.

    Parameters
    ----------
    shapes
        of the inputs: numbers, and names of sizes.
    bounds
        that the file says, by the names of the sizes.
    """
    leading = _leading(shapes)
    found: dict[str, FoundSize] = {}
    for name, shape in shapes.items():
        words = f"[{', '.join(shown(extent) for extent in shape)}]"
        for extent in shape:
            if isinstance(extent, str) and extent not in found:
                lower, upper = (bounds or {}).get(extent, (1, None))
                is_batch = extent in leading
                found[extent] = FoundSize(extent, name, words, max(lower, 1), upper, is_batch)
    return list(found.values())
