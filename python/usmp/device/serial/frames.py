"""Frames of the serial protocol, of which python/usmp/device/files/usmp_serial.c is the other end.

    A5 5A | kind | number | length, 2 bytes | payload | CRC-32 of kind to payload, 4 bytes

Numbers of several bytes have the lowest one first. An answer has the kind of its request and
`ANSWER`, and its number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from zlib import crc32

PROTOCOL_VERSION = 1
MAGIC = b"\xa5\x5a"
ANSWER = 0x80
FAILED = 0xFF
LONGEST_PAYLOAD = 1024
"""Bytes; devices may take fewer."""

_HEADER = struct.Struct("<2sBBH")
_CHECKSUM = struct.Struct("<I")
FRAME_BYTES = _HEADER.size + _CHECKSUM.size
"""Of a frame without payload."""


class Kind(IntEnum):
    """What a request asks for."""

    READY = 0
    """None: as an answer it says that the device has started."""
    HELLO = 1
    RESET = 2
    WRITE = 3
    RUN = 4
    READ = 5
    CYCLES = 6


class Failure(IntEnum):
    """Why a device does not do what it is asked for."""

    DAMAGED = 1
    INVALID = 2
    NO_SESSION = 3


@dataclass(frozen=True)
class Frame:
    """A request or an answer."""

    kind: int
    number: int
    payload: bytes


def encoded(frame: Frame) -> bytes:
    """The bytes of a frame on the line."""
    header = _HEADER.pack(MAGIC, frame.kind, frame.number, len(frame.payload))
    checked = header[len(MAGIC) :] + frame.payload
    return MAGIC + checked + _CHECKSUM.pack(crc32(checked))


class FrameReader:
    """Finds frames in the bytes that come in.

    What lies between frames is skipped; `damaged` counts frames with a wrong checksum, and
    `skipped` bytes that belong to no frame.
    """

    def __init__(self) -> None:
        self._bytes = b""
        self.damaged = 0
        self.skipped = 0

    def __call__(self, received: bytes) -> list[Frame]:
        """The frames that are whole with these bytes."""
        self._bytes += received
        found = []
        while (frame := self._next()) is not None:
            found.append(frame)
        return found

    @property
    def missing(self) -> tuple[int, int]:
        """How many bytes of a frame have come, and how many it has; both 0 without one."""
        if len(self._bytes) < _HEADER.size:
            return 0, 0
        return len(self._bytes), FRAME_BYTES + _HEADER.unpack_from(self._bytes)[3]

    def _next(self) -> Frame | None:
        while True:
            self._skip_to_magic()
            if len(self._bytes) < _HEADER.size:
                return None
            _, kind, number, length = _HEADER.unpack_from(self._bytes)
            if length > LONGEST_PAYLOAD:
                self._skip(1)
                continue
            end = _HEADER.size + length
            if len(self._bytes) < end + _CHECKSUM.size:
                return None
            (checksum,) = _CHECKSUM.unpack_from(self._bytes, end)
            if checksum != crc32(self._bytes[len(MAGIC) : end]):
                self.damaged += 1
                self._skip(1)
                continue
            payload = self._bytes[_HEADER.size : end]
            self._bytes = self._bytes[end + _CHECKSUM.size :]
            return Frame(kind, number, payload)

    def _skip_to_magic(self) -> None:
        start = self._bytes.find(MAGIC)
        if start < 0:
            # The last byte may be the first one of the next frame.
            start = len(self._bytes) - self._bytes.endswith(MAGIC[:1])
        self._skip(start)

    def _skip(self, count: int) -> None:
        self.skipped += count
        self._bytes = self._bytes[count:]
