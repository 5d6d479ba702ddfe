"""Files of PyTorch as dicts, lists, texts and numbers, with checked access."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from usmp_solver.formats.plain_pickle import plain_loads

_GZIP = b"\x1f\x8b"
_PROTOCOL = b"\x80"
MOST_BYTES = 1 << 48
"""Most bytes of one allocation: more than any machine has."""
_MOST_ADDRESS = 1 << 64


class Record:
    """A dict of the file, with its position, which errors name.

    Parameters
    ----------
    file
        name of the file.
    place
        position of the dict in the file.
    value
        the dict; other types are refused.
    file_bytes
        bytes of the whole file, for its outermost dict.
    """

    def __init__(self, file: str, place: str, value: object, file_bytes: int = 0) -> None:
        self.file = file
        self.place = place
        self.file_bytes = file_bytes
        if not isinstance(value, Mapping):
            self.refuse(f"is no dict, but {_described(value)}")
        self.value: Mapping[str, Any] = value

    def refuse(self, words: str) -> NoReturn:
        """Raise ValueError with the file, the position and the reason."""
        raise ValueError(f"{self.file}: {self.place} {words}")

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Return the integer under the key, or the default."""
        value = self.value.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value < high:
            self.refuse(
                f'must have a whole number from {low} to {high - 1} as "{key}", '
                f"not {_described(value)}"
            )
        return value

    def size(self, key: str) -> int:
        """Return the number of bytes under the key."""
        return self.integer(key, 0, MOST_BYTES)

    def address(self, key: str) -> int:
        """Return the address under the key."""
        return self.integer(key, 0, _MOST_ADDRESS)

    def number(self, key: str) -> float:
        """Return the finite number under the key."""
        value = self.value.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(f'must have a number as "{key}", not {_described(value)}')
        if not abs(value) < 1e300:
            self.refuse(f'must have a finite number as "{key}", not {_described(value)}')
        return float(value)

    def text(self, key: str) -> str:
        """Return the text under the key."""
        value = self.value.get(key)
        if not isinstance(value, str):
            self.refuse(f'must have text as "{key}", not {_described(value)}')
        return value

    def integers(
        self, key: str, low: int, high: int, default: Sequence[int], most: int
    ) -> list[int]:
        """Return the list of at most `most` integers under the key."""
        items = self.items(key, default)
        if len(items) > most:
            self.refuse(f'has {len(items)} numbers as "{key}"; at most {most} are read')
        numbers = Record(
            self.file, f'"{key}" of {self.place}', {str(n): v for n, v in enumerate(items)}
        )
        return [numbers.integer(number, low, high) for number in numbers.value]

    def items(self, key: str, default: Sequence[Any] | None = None) -> Sequence[Any]:
        """Return the list under the key."""
        value = self.value.get(key, default)
        if not isinstance(value, (list, tuple)):
            self.refuse(f'must have a list as "{key}", not {_described(value)}')
        return value

    def record(self, key: str) -> Record:
        """Return the dict under the key."""
        return Record(self.file, f'"{key}" of {self.place}', self.value.get(key))


def is_pytorch(data: bytes) -> bool:
    """Return whether the file begins as a pickle, JSON, or a compressed file, and not as a CSV."""
    return data.startswith((_PROTOCOL, _GZIP)) or data.lstrip(b" \t\r\n").startswith(b"{")


def load(file: str, data: bytes) -> Record:
    """Parse the file: a pickle of plain data, or JSON.

    Raises
    ------
    ValueError
        It is neither, or no dict; the message names the file.
    """
    if data.startswith(_GZIP):
        raise ValueError(f"{file}: the file is compressed; unpack it with gunzip first")
    if data.startswith(_PROTOCOL):
        try:
            snapshot = plain_loads(data)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        return Record(file, "the snapshot", snapshot, len(data))
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"{file}: lists of this JSON are too deep in each other") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file}: the file is neither a pickle of protocol 2 to 5 nor JSON, which is text: "
            f"{error.reason} at byte {error.start}"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}, line {error.lineno}: this is no JSON: {error.msg}") from None
    except ValueError:
        # Python refuses to parse integers of thousands of digits.
        raise ValueError(f"{file}: a number of this JSON has thousands of digits") from None
    return Record(file, "the file", value, len(data))


def _described(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, (bool, float)):
        return str(value)
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        return str(value) if abs(value) < 1 << 128 else "a number beyond 128 bits"
    return f'"{value[:50]}"' if isinstance(value, str) else f"a {type(value).__name__}"
