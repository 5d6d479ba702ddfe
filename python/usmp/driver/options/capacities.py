"""`--capacity`: the bytes of a single pool, or of each named pool, that may be used."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.driver.errors import UsageError
from usmp.driver.options.byte_count import INT64_MAX, byte_count


def capacities(given: Sequence[str]) -> int | dict[str, int] | None:
    """Parse `--capacity` into bytes of a single pool, bytes by pool in order, or None if unset.

    Raises
    ------
    UsageError
        a value is no number of bytes, a pool is named twice, or only some values have a name.
    """
    named: dict[str, int] = {}
    for value in given:
        name, separator, text = value.rpartition("=")
        if separator and not name.strip():
            raise UsageError(f"--capacity={value}: write it as POOL=BYTES, such as sram=64K")
        if name.strip() in named:
            problem = f'pool "{name.strip()}" is named twice' if separator else "it is given twice"
            raise UsageError(f"--capacity={value}: {problem}")
        named[name.strip()] = _bytes(value, text)
    if "" not in named:
        return named or None
    if len(named) > 1:
        raise UsageError(
            f"--capacity={named['']} names no pool, but others do; write all as POOL=BYTES"
        )
    return named[""]


def _bytes(value: str, text: str) -> int:
    number = byte_count(text)
    if number is None:
        raise UsageError(
            f"--capacity={value}: the capacity must be bytes, such as 1000, 0x400 or 64K (K is "
            "1024, M is 1024K); leave it out for the smallest peak"
        )
    if number > INT64_MAX:
        raise UsageError(f"--capacity={value}: the capacity must be at most {INT64_MAX}")
    return number
