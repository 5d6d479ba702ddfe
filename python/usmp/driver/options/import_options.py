"""The options of every command that reads a model."""

from __future__ import annotations

import argparse
from typing import Any

from usmp.driver.options.byte_count import INT64_MAX, byte_count
from usmp.driver.options.size_flags import (
    add_input_shapes_option,
    add_max_option,
    input_shapes,
    max_sizes,
)
from usmp.driver.terminal.help import Rare


def add_import_options(group: Any) -> None:
    """Add the import options to a group."""
    add_input_shapes_option(group)
    add_max_option(group)
    group.add_argument(
        "--trust-model",
        action="store_true",
        help="read a .pt2 file even if it may run code as it is read",
    )
    group.add_argument(
        "--max-model-bytes",
        type=_number,
        metavar="BYTES",
        help=Rare("the most bytes of a tensor, and of all constants together (default: 256M)"),
    )
    group.add_argument(
        "--max-operators",
        type=_number,
        metavar="NUMBER",
        help=Rare("the most operators, with functions written out (default: 10000)"),
    )


def import_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `usmp.import_model`.

    Raises
    ------
    UsageError
        `--input-shapes` or `--max` is malformed.
    """
    limits = {name: getattr(options, name) for name in ("max_model_bytes", "max_operators")}
    return {
        "trust": options.trust_model,
        "input_shapes": input_shapes(options.input_shapes),
        "max_sizes": max_sizes(options.max),
        **{name: value for name, value in limits.items() if value is not None},
    }


def _number(text: str) -> int:
    """Parse a positive number, with K, M or G for powers of 1024."""
    number = byte_count(text)
    if number is None or not 1 <= number <= INT64_MAX:
        raise argparse.ArgumentTypeError(f"must be a number from 1, such as 64M, not {text}")
    return number
