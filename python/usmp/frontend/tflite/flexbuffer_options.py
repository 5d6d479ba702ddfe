"""Options of custom operators: a map of numbers, as FlexBuffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatbuffers import flexbuffers

from usmp.frontend.tflite.model import TfliteOperator
from usmp.frontend.tflite.read import READER_ERRORS

_ERRORS = (*READER_ERRORS, AssertionError, KeyError)
"""How the reader reports what points nowhere, or is of another type."""

_LONGEST_LIST = 300
"""Of what the file calls its options, in characters of a message."""


def flexbuffer_options(
    operator: TfliteOperator, limits: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    """The options of a custom operator by name, which must be integers or booleans.

    Parameters
    ----------
    limits
        the least and the greatest value of each option, by names in alphabetical order, as the
        kernels read them. There may be no other options.

    Raises
    ------
    UnsupportedModelError
        options are missing, or not these, or out of their limits.
    """
    table = operator.table
    content = bytes(table.CustomOptionsAsNumpy()) if table.CustomOptionsLength() else b""
    if not content:
        raise operator.unsupported(f"it has no options; it needs {_listed(list(limits))}")
    try:
        values = _integers(content, len(limits))
    except _ERRORS as error:
        raise operator.unsupported(
            f"its options are damaged, or no map of {len(limits)} integers: it needs "
            f"{_listed(list(limits))}"
        ) from error
    if list(values) != list(limits):
        given = _listed(list(values))[:_LONGEST_LIST]
        raise operator.unsupported(f"it has the options {given}, not {_listed(list(limits))}")
    for name, (least, greatest) in limits.items():
        if not least <= values[name] <= greatest:
            raise operator.unsupported(
                f"option {name} is {values[name]}; supported: {least} to {greatest}"
            )
    return values


def _integers(content: bytes, count: int) -> dict[str, int]:
    """A map with so many entries.

    Raises
    ------
    TypeError
        it is no map, has another number of entries, or one that is no integer.
    """
    root = flexbuffers.GetRoot(content)
    if not root.IsMap:
        raise TypeError("no map")
    entries = root.AsMap
    keys, values = entries.Keys, entries.Values
    if len(keys) != count or len(values) != count:
        raise TypeError("another number of entries")
    return {keys[index].AsKey: _integer(values[index]) for index in range(count)}


def _integer(value: flexbuffers.Ref) -> int:
    if not (value.IsInt or value.IsBool):
        raise TypeError("no integer")
    return int(value.AsInt)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"
