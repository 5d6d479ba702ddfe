"""A serial line of this host, by pyserial."""

from __future__ import annotations

from typing import Protocol

from usmp.support.distribution import install_command
from usmp.support.not_copied import NotCopied
from usmp.support.text.plain_text import shown

DEFAULT_BAUD = 115200
_BITS_OF_BYTE = 10
"""Bits of a byte on the line, with a start and a stop bit."""
_WRITE_SECONDS = 5.0


class DeviceError(RuntimeError):
    """A device does not answer, or refuses a request."""


class Line(Protocol):
    """A line to a device. Both methods raise `DeviceError` if the connection is lost."""

    byte_seconds: float
    """Time to transfer a byte, in seconds."""

    def read(self, seconds: float) -> bytes:
        """Return the received bytes, after waiting at most `seconds` for the first one."""

    def write(self, content: bytes) -> None:
        """Send bytes."""


class SerialLine(NotCopied):
    """A serial port.

    Parameters
    ----------
    path
        path of the port, such as "/dev/ttyUSB0" or "COM3".
    baud
        bit rate in bits per second.

    Raises
    ------
    DeviceError
        pyserial is not installed, or the port cannot be opened.
    """

    _owns = "an open serial port"
    _instead = "open the port again when this one is closed"

    def __init__(self, path: str, baud: int = DEFAULT_BAUD) -> None:
        try:
            import serial
        except ModuleNotFoundError as error:
            if error.name != "serial":
                raise
            raise DeviceError(
                "the package pyserial is needed to talk to a device; install it with: "
                f"{install_command('serial')}"
            ) from error
        self._errors = (serial.SerialException, OSError)
        self._path = shown(path)
        self.byte_seconds = _BITS_OF_BYTE / baud
        try:
            self._port = serial.Serial(path, baud, write_timeout=_WRITE_SECONDS, exclusive=True)
            self._port.reset_input_buffer()
        except (*self._errors, ValueError) as error:
            raise DeviceError(f"{self._path}: cannot be opened at {baud} baud ({error})") from error

    def read(self, seconds: float) -> bytes:
        try:
            self._port.timeout = seconds
            first = bytes(self._port.read(1))
            return first + bytes(self._port.read(self._port.in_waiting)) if first else b""
        except self._errors as error:
            raise self._lost(error) from error

    def write(self, content: bytes) -> None:
        try:
            self._port.write(content)
        except self._errors as error:
            raise self._lost(error) from error

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def _lost(self, error: Exception) -> DeviceError:
        return DeviceError(f"{self._path}: the line was lost ({error}); is the device plugged in?")
