"""A session of a host with a device: requests and answers over a serial line."""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from usmp.device.digests import DIGEST_BYTES
from usmp.device.serial.frames import (
    ANSWER,
    FAILED,
    FRAME_BYTES,
    LONGEST_PAYLOAD,
    PROTOCOL_VERSION,
    Failure,
    Frame,
    FrameReader,
    Kind,
    encoded,
)
from usmp.device.serial.port import DeviceError, Line
from usmp.support.not_copied import NotCopied

ANSWER_SECONDS = 5.0
"""Time limit of answers, except the first answer and answers to runs."""
_FIRST_ANSWER_SECONDS = 10.0
"""Time limit of the first answer, because the device may still be starting."""
_HELLO_SECONDS = 0.5
"""Time after which an unanswered hello is repeated."""
_HELLO = struct.Struct(f"<II{DIGEST_BYTES}s{DIGEST_BYTES}sIII")
_RUN = struct.Struct("<iI")
_TAKE_ROW = struct.Struct("<III")
_GIVE_ROW = struct.Struct("<II")
_RUN_ANSWERS = (Kind.RUN, Kind.TAKE_ROW, Kind.GIVE_ROW)
_SHORTEST_PAYLOAD = 64


@dataclass(frozen=True)
class Device:
    """The properties of a device, from its answer to a hello.

    Parameters
    ----------
    interface, code
        digests of the interface and of the code of its model.
    longest_payload
        largest payload of a frame in bytes.
    has_cycles
        whether it counts clock cycles.
    operators
        number of operators that its hooks count; 0 without hooks.
    """

    interface: bytes
    code: bytes
    longest_payload: int
    has_cycles: bool
    operators: int


class Session(NotCopied):
    """A session with a device, which ends if the device is reset.

    Parameters
    ----------
    line
        line to the device.
    timeout_seconds
        time limit of a run, and upper bound of the limits of other answers.

    Raises
    ------
    DeviceError
        no device answers, or it has another version of the protocol.
    """

    _owns = "the connection to a device"
    _instead = "make another one when this one is closed"

    def __init__(self, line: Line, timeout_seconds: float) -> None:
        self._line, self._timeout = line, timeout_seconds
        self._reader = FrameReader()
        self._number = 0
        self._session = 0
        self.device = self._hello()

    def reset(self) -> None:
        """Reset the state of the model."""
        self._ask(Kind.RESET, b"")

    def write(self, entry: int, tensor: int, content: bytes) -> None:
        """Write an input of an entry."""
        step = self.device.longest_payload - 16
        for offset in range(0, len(content), step):
            where = struct.pack("<III", entry, tensor, offset)
            self._ask(Kind.WRITE, where + content[offset : offset + step])

    def run(
        self,
        entry: int,
        sizes: Sequence[int],
        inputs: Mapping[int, bytes] | None = None,
        outputs: Mapping[int, bytearray] | None = None,
    ) -> tuple[int, int]:
        """Run an entry, and return its status and its clock cycles modulo 2^32.

        Parameters
        ----------
        inputs, outputs
            the inputs by rows, and memory for the outputs by rows, by index.
        """
        if 4 * (2 + len(sizes)) > self.device.longest_payload:
            raise DeviceError(f"the device takes no {len(sizes)} sizes; raise USMP_SERIAL_PAYLOAD")
        kind, payload = Kind.RUN, struct.pack(f"<I{len(sizes)}i", entry, *sizes)
        while True:
            frame = self._answer(kind, payload, self._timeout, _RUN_ANSWERS)
            if frame.kind == Kind.RUN | ANSWER:
                _check_length(Kind.RUN, frame.payload, _RUN.size)
                status, cycles = _RUN.unpack(frame.payload)
                return status, cycles
            kind, payload = Kind.CONTINUE, _moved_row(frame, inputs or {}, outputs or {})

    def read(self, entry: int, tensor: int, size_bytes: int) -> bytes:
        """Read an output of an entry."""
        content = b""
        while len(content) < size_bytes:
            count = min(self.device.longest_payload, size_bytes - len(content))
            where = struct.pack("<IIII", entry, tensor, len(content), count)
            content += self._ask(Kind.READ, where, count)
        return content

    def operator_cycles(self) -> list[int]:
        """Return the clock cycles of each operator in the last run."""
        cycles: list[int] = []
        while len(cycles) < self.device.operators:
            count = min(self.device.longest_payload // 8, self.device.operators - len(cycles))
            request = struct.pack("<II", len(cycles), count)
            cycles += struct.unpack(f"<{count}Q", self._ask(Kind.CYCLES, request, 8 * count))
        return cycles

    def _hello(self) -> Device:
        """Send hello until the device answers.

        Skip earlier bytes, such as start-up messages. If bytes were lost, the device may wait
        for the rest of a frame: send zeros to complete it.
        """
        seconds = min(_FIRST_ANSWER_SECONDS, self._timeout)
        interval = _HELLO_SECONDS + 2 * LONGEST_PAYLOAD * self._line.byte_seconds
        end = time.monotonic() + seconds
        while True:
            session = secrets.randbelow(2**32 - 1) + 1
            request = self._request(Kind.HELLO, struct.pack("<II", PROTOCOL_VERSION, session))
            self._line.write(encoded(request))
            stop = min(end, time.monotonic() + interval)
            frame = self._awaited(stop, partial(_is_hello, session))
            if frame is not None:
                self._session = session
                return _device(frame)
            if time.monotonic() >= end:
                raise DeviceError(self._no_answer(seconds))
            self._line.write(bytes(LONGEST_PAYLOAD + FRAME_BYTES))

    def _request(self, kind: Kind, payload: bytes) -> Frame:
        self._number = (self._number + 1) % 256
        return Frame(kind, self._number, payload)

    def _ask(self, kind: Kind, payload: bytes, answer_bytes: int = 0) -> bytes:
        """Send a request, and return the payload of its answer.

        Raises
        ------
        DeviceError
            no answer comes in time, or its payload has not `answer_bytes` bytes.
        """
        answer = self._answer(kind, payload, min(ANSWER_SECONDS, self._timeout), (kind,))
        _check_length(kind, answer.payload, answer_bytes)
        return answer.payload

    def _answer(self, kind: Kind, payload: bytes, seconds: float, kinds: Collection[Kind]) -> Frame:
        """Send a request, and return its answer, which has one of some kinds.

        Raises
        ------
        DeviceError
            no answer comes in time, or it has another kind.
        """
        request = self._request(kind, struct.pack("<I", self._session) + payload)
        damaged = self._reader.damaged
        self._line.write(encoded(request))

        def ends(frame: Frame | None) -> bool:
            return frame is not None or self._reader.damaged > damaged

        frame = self._awaited(time.monotonic() + seconds, ends)
        if frame is None and self._reader.damaged > damaged:
            raise DeviceError(
                "an answer of the device was damaged on the line (its checksum is wrong); a lower "
                "baud rate or a shorter cable may help"
            )
        if frame is None:
            raise DeviceError(self._no_answer(seconds))
        _check_answer(frame, request, kinds)
        return frame

    def _awaited(self, end: float, is_last: Callable[[Frame | None], bool]) -> Frame | None:
        """Return the first frame that `is_last` accepts; None at `end` or if it accepts None."""
        while True:
            rest = end - time.monotonic()
            received = self._line.read(max(rest, 0.0))
            for frame in self._reader(received):
                if is_last(frame):
                    return frame
            if is_last(None) or rest <= 0:
                return None

    def _no_answer(self, seconds: float) -> str:
        """Return the message for a missing answer, with the received bytes and advice."""
        received, total = self._reader.missing
        if received:
            return (
                f"the answer of the device was cut off: {received} of {total} bytes came within "
                f"{seconds:g} seconds"
            )
        if self._session:
            return (
                f"the device did not answer within {seconds:g} seconds; it may have failed, or "
                "need more time (--timeout)"
            )
        if self._reader.damaged:
            return (
                f"what came from the device within {seconds:g} seconds was damaged; is the baud "
                "rate the same at both ends?"
            )
        if self._reader.skipped:
            return (
                f"the device sent {self._reader.skipped} bytes within {seconds:g} seconds, but "
                "none that tvmc understands; is the baud rate the same at both ends, and does its "
                "program call the _serve function of tvmc export-test?"
            )
        return (
            f"no answer from the device within {seconds:g} seconds; is it on, is this the right "
            "port, and does its program call the _serve function of tvmc export-test?"
        )


def _is_hello(session: int, frame: Frame | None) -> bool:
    """Return whether a frame answers the hello of a session, and not an earlier hello."""
    return (
        frame is not None
        and frame.kind == Kind.HELLO | ANSWER
        and len(frame.payload) >= 8
        and struct.unpack_from("<II", frame.payload)[1] == session
    )


def _device(frame: Frame) -> Device:
    """Parse the answer to a hello.

    Raises
    ------
    DeviceError
        the answer has another version of the protocol, or is malformed.
    """
    (version,) = struct.unpack_from("<I", frame.payload)
    if version != PROTOCOL_VERSION:
        raise DeviceError(
            f"the device speaks version {version} of the protocol, and this tvmc version "
            f"{PROTOCOL_VERSION}; build its program with files of this tvmc export-test"
        )
    if len(frame.payload) != _HELLO.size:
        raise DeviceError("the device's first answer is not valid; its usmp_serial.c was changed")
    _, _, interface, code, longest, has_cycles, operators = _HELLO.unpack(frame.payload)
    if not _SHORTEST_PAYLOAD <= longest <= LONGEST_PAYLOAD:
        raise DeviceError(
            f"the device takes frames of {longest} bytes; USMP_SERIAL_PAYLOAD must be "
            f"{_SHORTEST_PAYLOAD} to {LONGEST_PAYLOAD}"
        )
    return Device(interface, code, longest, bool(has_cycles), operators)


def _check_length(kind: Kind, payload: bytes, size_bytes: int) -> None:
    """Raise DeviceError if an answer has another length than its kind says."""
    if len(payload) != size_bytes:
        raise DeviceError(
            f"the device answered {kind.name} with {len(payload)} bytes, not {size_bytes}; its "
            "usmp_serial.c is of another version"
        )


def _moved_row(
    frame: Frame, inputs: Mapping[int, bytes], outputs: Mapping[int, bytearray]
) -> bytes:
    """Return the bytes that a run asks for, or store those that it gives and return none.

    Raises
    ------
    DeviceError
        there are no such bytes.
    """
    is_input = frame.kind == Kind.TAKE_ROW | ANSWER
    numbers = _TAKE_ROW if is_input else _GIVE_ROW
    if len(frame.payload) >= numbers.size:
        index, offset, *counts = numbers.unpack_from(frame.payload)
        row = frame.payload[numbers.size :]
        tensor = (inputs if is_input else outputs).get(index, b"")
        if offset + sum(counts, len(row)) <= len(tensor):
            if is_input:
                return bytes(tensor[offset : offset + counts[0]])
            outputs[index][offset : offset + len(row)] = row
            return b""
    raise DeviceError(
        "the device asked for a row that there is not; its files are of another model"
    )


def _check_answer(frame: Frame, request: Frame, kinds: Collection[Kind]) -> None:
    """Check that a frame answers a request, with one of some kinds.

    Raises
    ------
    DeviceError
        the device was reset, refused the request, or answered another one.
    """
    kind = Kind(request.kind).name
    if frame.kind == Kind.READY | ANSWER or _failure(frame) == Failure.NO_SESSION:
        raise DeviceError(
            f"the device was reset during {kind}; a fault, its watchdog or its supply may be why"
        )
    if _failure(frame) == Failure.DAMAGED:
        raise DeviceError(
            f"the device got a damaged {kind} (its checksum is wrong); does it read all bytes in "
            "time? A lower baud rate may help"
        )
    if frame.kind == FAILED:
        raise DeviceError(f"the device refused {kind}; its program is of another version")
    if frame.kind not in [k | ANSWER for k in kinds] or frame.number != request.number:
        raise DeviceError(f"the device answered another request than {kind}; run the command again")


def _failure(frame: Frame) -> int | None:
    """Return the failure in a frame, or None."""
    if frame.kind != FAILED or len(frame.payload) != 4:
        return None
    return int(struct.unpack("<I", frame.payload)[0])
