"""What a host asks of a device: a device in Python answers, or does not as it should."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from usmp.device.digests import DIGEST_BYTES
from usmp.device.serial import session as sessions
from usmp.device.serial.frames import (
    ANSWER,
    FAILED,
    PROTOCOL_VERSION,
    Failure,
    Frame,
    FrameReader,
    Kind,
    encoded,
)
from usmp.device.serial.port import DeviceError
from usmp.device.serial.session import Device, Session

DIGESTS = b"i" * DIGEST_BYTES, b"c" * DIGEST_BYTES


class Answering:
    """A line to a device with one tensor of 200 bytes.

    Parameters
    ----------
    longest
        bytes of a payload that the device takes.
    change
        what becomes of each answer: a frame of the request and one of the answer -> another one,
        or bytes, or None.
    """

    byte_seconds = 0.0

    def __init__(self, longest=64, change=lambda request, answer: answer, version=PROTOCOL_VERSION):
        self.longest, self.change, self.version = longest, change, version
        self.asked: list[Frame] = []
        self.memory = bytearray(200)
        self.cycles = [100 + number for number in range(20)]
        self._reader = FrameReader()
        self._answers = b""

    def write(self, content: bytes) -> None:
        for request in self._reader(content):
            self.asked.append(request)
            answer = Frame(request.kind | ANSWER, request.number, self._payload(request))
            changed = self.change(request, answer)
            if changed is not None:
                self._answers += changed if isinstance(changed, bytes) else encoded(changed)

    def read(self, seconds: float) -> bytes:
        given, self._answers = self._answers, b""
        return given

    def _payload(self, request: Frame) -> bytes:
        if request.kind == Kind.HELLO:
            _, session = struct.unpack("<II", request.payload)
            known = *DIGESTS, self.longest, 1, len(self.cycles)
            return struct.pack(
                f"<II{DIGEST_BYTES}s{DIGEST_BYTES}sIII", self.version, session, *known
            )
        assert len(request.payload) - 4 <= self.longest
        rest = request.payload[4:]
        if request.kind == Kind.WRITE:
            *_, offset = struct.unpack_from("<III", rest)
            self.memory[offset : offset + len(rest) - 12] = rest[12:]
        if request.kind == Kind.READ:
            *_, offset, count = struct.unpack("<IIII", rest)
            return bytes(self.memory[offset : offset + count])
        if request.kind == Kind.RUN:
            return struct.pack("<iI", -3, sum(rest))
        if request.kind == Kind.CYCLES:
            start, count = struct.unpack("<II", rest)
            return struct.pack(f"<{count}Q", *self.cycles[start : start + count])
        return b""


def test_tensors_are_moved_in_parts_that_the_device_takes():
    line = Answering()
    session = Session(line, 5.0)
    assert session.device == Device(*DIGESTS, 64, True, 20)
    content = bytes(range(200))
    session.write(1, 2, content)
    assert bytes(line.memory) == content
    # The session, and where they go, take 16 bytes of each.
    parts = [len(asked.payload) - 16 for asked in line.asked if asked.kind == Kind.WRITE]
    assert parts == [48, 48, 48, 48, 8]
    assert session.read(1, 2, 200) == content
    counts = [struct.unpack("<5I", a.payload)[4] for a in line.asked if a.kind == Kind.READ]
    assert counts == [64, 64, 64, 8]
    assert session.operator_cycles() == line.cycles
    asked = [struct.unpack("<3I", a.payload)[1:] for a in line.asked if a.kind == Kind.CYCLES]
    assert asked == [(0, 8), (8, 8), (16, 4)]


def test_runs_have_the_sizes_of_their_inputs():
    line = Answering()
    session = Session(line, 5.0)
    assert session.run(3, [4, 5]) == (-3, 12)
    assert session.run(1, [1] * 14)[0] == -3
    with pytest.raises(DeviceError, match="takes no 15 sizes; raise USMP_SERIAL_PAYLOAD"):
        session.run(1, [1] * 15)
    session.reset()
    assert line.asked[-1].kind == Kind.RESET


def test_requests_are_numbered_in_a_byte():
    line = Answering()
    session = Session(line, 5.0)
    for _ in range(300):
        session.reset()
    assert [asked.number for asked in line.asked] == [n % 256 for n in range(1, 302)]


def failing(kind, failure):
    payload = struct.pack("<I", failure)
    return lambda request, answer: (
        replace(answer, kind=FAILED, payload=payload) if request.kind == kind else answer
    )


def instead(asked, **fields):
    return lambda request, answer: replace(answer, **fields) if request.kind == asked else answer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (failing(Kind.RESET, Failure.NO_SESSION), "the device was reset during RESET"),
        (failing(Kind.RESET, Failure.DAMAGED), "the device got a damaged RESET"),
        (failing(Kind.RESET, 99), "the device refused RESET"),
        (instead(Kind.RESET, kind=Kind.READY | ANSWER), "the device was reset during RESET"),
        (instead(Kind.RESET, kind=Kind.RUN | ANSWER), "answered another request than RESET"),
        (instead(Kind.RESET, number=9), "answered another request than RESET"),
        (instead(Kind.RESET, payload=b"abcd"), "answered RESET with 4 bytes, not 0"),
    ],
)
def test_other_answers_are_errors(change, message):
    session = Session(Answering(change=change), 5.0)
    with pytest.raises(DeviceError, match=message):
        session.reset()


def damaged(request, answer):
    content = bytearray(encoded(answer))
    content[-1] ^= 1
    return bytes(content) if request.kind == Kind.RESET else answer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damaged, "was damaged on the line"),
        (lambda q, a: None if q.kind == Kind.RESET else a, "did not answer within 0.01 seconds"),
        (lambda q, a: encoded(a)[:-1] if q.kind == Kind.RESET else a, "was cut off: "),
    ],
)
def test_answers_that_do_not_come_whole_are_errors(monkeypatch, change, message):
    session = Session(Answering(change=change), 5.0)
    monkeypatch.setattr(sessions, "ANSWER_SECONDS", 0.01)
    with pytest.raises(DeviceError, match=message):
        session.reset()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"change": lambda q, a: None}, "no answer from the device within 0.01 seconds"),
        ({"change": lambda q, a: b"hello"}, "5 bytes within 0.01 seconds, but none that tvmc"),
        (
            {"version": 99},
            f"speaks version 99 of the protocol, and this tvmc version {PROTOCOL_VERSION}",
        ),
        ({"longest": 63}, "takes frames of 63 bytes"),
        ({"change": lambda q, a: replace(a, payload=a.payload[:-1])}, "first answer is not valid"),
    ],
)
def test_a_device_that_does_not_say_hello_is_an_error(monkeypatch, known, message):
    monkeypatch.setattr(sessions, "_FIRST_ANSWER_SECONDS", 0.01)
    monkeypatch.setattr(sessions, "_HELLO_SECONDS", 0.1)
    with pytest.raises(DeviceError, match=message):
        Session(Answering(**known), 5.0)


def test_hello_is_said_again_until_the_device_has_started(monkeypatch):
    monkeypatch.setattr(sessions, "_HELLO_SECONDS", 0.001)
    line = Answering()
    line.change = lambda request, answer: answer if len(line.asked) > 2 else b"booting"
    assert Session(line, 5.0).device.longest_payload == 64
    assert [asked.kind for asked in line.asked] == [Kind.HELLO] * 3
    assert len({asked.payload for asked in line.asked}) == 3
