"""`--input-shapes` and `--max`: values or upper bounds of the symbolic sizes of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from usmp.driver.errors import UsageError
from usmp.support.text.plain_text import shown

_NO_LIMIT = "none"
_MOST_DIGITS = 20
"""More digits are cut, because they are out of range anyway and Python parses them slowly."""

_ANY_EXTENT = ("-1", "?")
"""Spellings of a symbolic extent in TVM and elsewhere."""

_SHAPE = re.compile(r"\s*(?P<name>\S.*?)\s*:\s*\[(?P<extents>[^\[\]]*)\]\s*(?:,|$|(?=\s))")


def add_input_shapes_option(group: Any) -> None:
    """Add `--input-shapes`, as TVM's `tvmc` had it."""
    group.add_argument(
        "--input-shapes",
        action="append",
        default=[],
        metavar="NAME:[N,...]",
        help='the shape of an input that the model leaves open, such as "x:[1,16000]"; may be '
        "repeated",
    )


def input_shapes(values: Sequence[str]) -> dict[str, list[int]]:
    """Parse `--input-shapes` into the shapes of inputs by name.

    Raises
    ------
    UsageError
        a value is malformed, an extent is no number from 1 up, or an input is named twice.
    """
    shapes: dict[str, list[int]] = {}
    for value in values:
        begin = 0
        while begin < len(value.rstrip()):
            match = _SHAPE.match(value, begin)
            if match is None:
                raise UsageError(
                    f"--input-shapes {shown(value)}: write it as NAME:[N,...], such as "
                    '"x:[1,16000]", several with spaces between them'
                )
            name, begin = match["name"], match.end()
            if name in shapes:
                raise UsageError(
                    f'--input-shapes {shown(value)}: input "{shown(name)}" is named twice'
                )
            shapes[name] = [
                _extent(value, text.strip()) for text in match["extents"].split(",") if text.strip()
            ]
    return shapes


def _extent(value: str, text: str) -> int:
    number = _positive(text)
    if number is None:
        is_any = text in _ANY_EXTENT
        advice = "; for a size that only a run knows, leave the input out, and write --max SIZE=N "
        raise UsageError(
            f"--input-shapes {shown(value)}: an extent must be a number from 1, not {shown(text)}"
            + (f"{advice}(tvmc info shows the sizes)" if is_any else "")
        )
    return number


def add_max_option(group: Any) -> None:
    """Add `--max`."""
    group.add_argument(
        "--max",
        action="append",
        default=[],
        metavar="SIZE=N",
        help="the largest value of a size that only a run knows (tvmc info shows them), such as "
        "seq=128, or none for no limit; may be repeated",
    )


def max_sizes(values: Sequence[str]) -> dict[str, int | None]:
    """Parse `--max` into upper bounds by the names of sizes; None for no limit.

    Raises
    ------
    UsageError
        a value is no number from 1 up and not "none", or a size is named twice.
    """
    sizes: dict[str, int | None] = {}
    for value in values:
        for part in _split(value):
            name, separator, text = part.rpartition("=")
            if not separator or not name:
                raise UsageError(f"--max {shown(value)}: write it as SIZE=N, such as seq=128")
            if name in sizes:
                raise UsageError(f'--max {shown(value)}: size "{shown(name)}" is named twice')
            sizes[name] = _number(value, text.strip())
    return sizes


def _split(value: str) -> list[str]:
    """Split at commas, but join a part without "=" with the next, because names may have commas."""
    parts: list[str] = []
    prefix = ""
    for part in value.split(","):
        prefix += part
        if "=" in part:
            parts.append(prefix.strip())
            prefix = ""
        else:
            prefix += ","
    return [*parts, prefix] if prefix else parts


def _number(value: str, text: str) -> int | None:
    if text.lower() == _NO_LIMIT:
        return None
    number = _positive(text)
    if number is None:
        raise UsageError(
            f"--max {shown(value)}: the largest size must be a number from 1, such as 128, or "
            f"{_NO_LIMIT} where there is no limit, not {shown(text) or 'nothing'}"
        )
    return number


def _positive(text: str) -> int | None:
    """Parse a number from 1 up; None if malformed."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or int(text[:_MOST_DIGITS]) < 1:
        return None
    return int(text[:_MOST_DIGITS])
