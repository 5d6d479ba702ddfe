"""Frames of the serial protocol. The device side is python/usmp/device/files/usmp_serial.c.

    A5 5A | kind | number | length, 2 bytes | payload | CRC-32 of kind to payload, 4 bytes

Numbers are little-endian. An answer has the number and the kind of its request, but with
the bit `ANSWER` of the kind set. A run with rows answers `RUN` and `CONTINUE` with `TAKE_ROW` or
`GIVE_ROW` until it ends.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from zlib import crc32

PROTOCOL_VERSION = 2
MAGIC = b"\xa5\x5a"
ANSWER = 0x80
FAILED = 0xFF
LONGEST_PAYLOAD = 1024
"""Largest payload in bytes; devices may have a lower limit."""

_HEADER = struct.Struct("<2sBBH")
_CHECKSUM = struct.Struct("<I")
FRAME_BYTES = _HEADER.size + _CHECKSUM.size
"""Bytes of a frame without payload."""


class Kind(IntEnum):
    """The kind of a request."""

    READY = 0
    """No request; as an answer it says that the device has started."""
    HELLO = 1
    RESET = 2
    WRITE = 3
    RUN = 4
    READ = 5
    CYCLES = 6
    CONTINUE = 7
    """The next request after `TAKE_ROW`, with the bytes, and after `GIVE_ROW`."""
    TAKE_ROW = 8
    """No request; as an answer it asks for bytes of an input."""
    GIVE_ROW = 9
    """No request; as an answer it has bytes of an output."""


class Failure(IntEnum):
    """The reason why a device refuses a request."""

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
    """Return the bytes of a frame on the line."""
    header = _HEADER.pack(MAGIC, frame.kind, frame.number, len(frame.payload))
    checked = header[len(MAGIC) :] + frame.payload
    return MAGIC + checked + _CHECKSUM.pack(crc32(checked))


class FrameReader:
    """A reader that finds frames in the received bytes, and skips other bytes.

    `damaged` counts frames with a wrong checksum, and `skipped` counts bytes outside of frames.
    """

    def __init__(self) -> None:
        self._bytes = b""
        self.damaged = 0
        self.skipped = 0

    def __call__(self, received: bytes) -> list[Frame]:
        """Return the frames that the received bytes complete."""
        self._bytes += received
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    @property
    def missing(self) -> tuple[int, int]:
        """The received and the total bytes of an incomplete frame; 0, 0 without a whole header."""
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
            # Keep the last byte if it may begin the next frame.
            start = len(self._bytes) - self._bytes.endswith(MAGIC[:1])
        self._skip(start)

    def _skip(self, count: int) -> None:
        self.skipped += count
        self._bytes = self._bytes[count:]
