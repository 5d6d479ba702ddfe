"""Damaged copies of files of any format, changed in their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_MUTATIONS = ("bit", "byte", "bytes", "word", "cut", "insert", "delete", "repeat", "swap")


def mutated_bytes(content: bytes, positions: Sequence[int], generator: Random) -> bytes:
    """Bits, bytes, words, lengths, offsets changed; parts exchanged, repeated or left out.

    Parameters
    ----------
    positions
        where most of the changes are made.
    """
    data = bytearray(content)

    def position() -> int:
        return (
            generator.choice(positions)
            if generator.random() < 0.8
            else generator.randrange(len(data))
        )

    kind = generator.choice(_MUTATIONS)
    if kind == "bit":
        data[position()] ^= 1 << generator.randrange(8)
    elif kind in ("byte", "bytes"):
        for _ in range(1 if kind == "byte" else 12):
            data[position()] = generator.randrange(256)
    elif kind == "word":
        at = position() & ~3
        value = generator.choice(
            [0, 1, 15, len(data), 2**31 - 1, 2**32 - 1, generator.getrandbits(32)]
        )
        data[at : at + 4] = value.to_bytes(4, "little")
    elif kind == "cut":
        del data[generator.randrange(len(data)) :]
    elif kind == "insert":
        at = position()
        data[at:at] = generator.randbytes(generator.choice([1, 2, 4, 8]))
    elif kind == "delete":
        at = position()
        del data[at : at + generator.choice([1, 2, 4, 8])]
    elif kind == "repeat":
        at = position()
        data[at:at] = data[at : at + generator.choice([4, 16, 64])]
    else:
        a, b = position() & ~3, position() & ~3
        data[a : a + 4], data[b : b + 4] = data[b : b + 4], data[a : a + 4]
    return bytes(data)
