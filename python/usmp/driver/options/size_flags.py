"""`--input-shapes` and `--max`: what sizes are, or how large they may be, that a model leaves
open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from usmp.driver.errors import UsageError
from usmp.support.plain_text import shown

_NO_LIMIT = "none"
_MOST_DIGITS = 20
"""More are too large in any case, and Python takes long for thousands."""

_ANY_EXTENT = ("-1", "?")
"""How TVM and others write an extent that is open."""

_SHAPE = re.compile(r"\s*(?P<name>\S.*?)\s*:\s*\[(?P<extents>[^\[\]]*)\]\s*(?:,|$|(?=\s))")


def add_input_shapes_option(group: Any) -> None:
    """Add the option that TVM's `tvmc` had."""
    group.add_argument(
        "--input-shapes",
        action="append",
        default=[],
        metavar="NAME:[N,...]",
        help='the shapes of inputs that leave sizes open, such as "x:[1,16000]" (tvmc info shows '
        "them); may be repeated, or several with spaces between them",
    )


def input_shapes(given: Sequence[str]) -> dict[str, list[int]]:
    """What `--input-shapes` says, as `usmp.import_model` takes it.

    Raises
    ------
    UsageError
        it is written otherwise, an extent is no number from 1 up, or an input is named twice.
    """
    shapes: dict[str, list[int]] = {}
    for value in given:
        begin = 0
        while begin < len(value.rstrip()):
            found = _SHAPE.match(value, begin)
            if found is None:
                raise UsageError(
                    f"--input-shapes {shown(value)}: write it as NAME:[N,...], such as "
                    '"x:[1,16000]", several with spaces between them'
                )
            name, begin = found["name"], found.end()
            if name in shapes:
                raise UsageError(
                    f'--input-shapes {shown(value)}: input "{shown(name)}" is named twice'
                )
            shapes[name] = [
                _extent(value, text.strip()) for text in found["extents"].split(",") if text.strip()
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
    """Add the option."""
    group.add_argument(
        "--max",
        action="append",
        default=[],
        metavar="SIZE=N",
        help="how large a size may be that the shapes of the inputs leave open, such as seq=128 "
        "(tvmc info shows the sizes), or none where there is no limit; may be repeated, or several "
        "with commas between them",
    )


def max_sizes(given: Sequence[str]) -> dict[str, int | None]:
    """What `--max` says, as `usmp.import_model` takes it.

    Raises
    ------
    UsageError
        a value is no number from 1 up and not "none", or a size is named twice.
    """
    sizes: dict[str, int | None] = {}
    for value in given:
        for part in _split(value):
            name, separator, text = part.rpartition("=")
            if not separator or not name:
                raise UsageError(f"--max {shown(value)}: write it as SIZE=N, such as seq=128")
            if name in sizes:
                raise UsageError(f'--max {shown(value)}: size "{shown(name)}" is named twice')
            sizes[name] = _number(value, text.strip())
    return sizes


def _split(value: str) -> list[str]:
    """The parts between commas; one without "=" belongs to a name that has a comma."""
    parts: list[str] = []
    begun = ""
    for part in value.split(","):
        begun += part
        if "=" in part:
            parts.append(begun.strip())
            begun = ""
        else:
            begun += ","
    return [*parts, begun] if begun else parts


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
    """A number from 1 up."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or int(text[:_MOST_DIGITS]) < 1:
        return None
    return int(text[:_MOST_DIGITS])
