"""Symbolic sizes of a run: from `--size NAME=NUMBER`, or from the shapes of inputs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import HostEntry


def add_size_option(parser: Any) -> None:
    """Add `--size`."""
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a size of a model whose shapes have sizes (tvmc info shows them); by default those "
        "that --inputs have, or the largest, where there is one; may be repeated",
    )


def given_sizes(options: Sequence[str]) -> dict[str, int]:
    """Parse the sizes of `--size`, by name.

    Raises
    ------
    UsageError
        a size is no number, has no name, or is given twice.
    """
    sizes: dict[str, int] = {}
    for option in options:
        name, _, number = option.rpartition("=")
        if not name or not (number.isascii() and number.isdigit()) or len(number) > len(str(2**31)):
            raise UsageError(f"--size {option}: write it as in --size seq=17")
        if name in sizes:
            raise UsageError(f"--size {option}: {name} is given twice")
        sizes[name] = int(number)
    return sizes


def fill_run(
    entry: HostEntry,
    given: Mapping[str, np.ndarray],
    mode: str,
    sizes: Mapping[str, int],
    generator: np.random.Generator | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return all inputs and all symbolic sizes of a run.

    Parameters
    ----------
    entry
        the entry to run.
    given
        arrays of some inputs by name.
    mode
        values of inputs without an array: "zeros", "ones" or "random".
    sizes
        some sizes by name; by default those of the arrays, or else the largest.
    generator
        generator of random values; by default the values are the same in every run.

    Raises
    ------
    ValueError
        a size is unknown, out of range, or contradicts the arrays.
    UsageError
        a size is not given, does not follow from the arrays, and has no upper bound.
    """
    from usmp.driver.run.tensors import fill_inputs
    from usmp.runtime.sizes import at_sizes, known_sizes, largest_sizes

    known = known_sizes(entry.sizes, entry.inputs, given, sizes)
    all_sizes = {**largest_sizes(entry.sizes), **known}
    for name in entry.sizes:
        if name not in all_sizes:
            raise UsageError(
                f"size {shown(name)} has no upper bound; say what it is, with "
                f"--size {shlex.quote(shown(name))}=N, or give the inputs that have it"
            )
    return fill_inputs(at_sizes(entry.inputs, all_sizes), given, mode, generator), all_sizes
