"""`tvmc run --serial` with a program of this host at the other end of a pseudo-terminal."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.archives import relu_archive
from support.device_programs import SERVE, build_program, line_to
from support.small_digits import small_digits
from usmp.codegen.model_library_format import write_archive
from usmp.device.serial.frames import ANSWER, Frame, FrameReader, Kind, encoded
from usmp.driver.tvmc import main
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import load_archive
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """The archive of a model with hooks, and a program that serves it."""
    folder = tmp_path_factory.mktemp("device")
    with PassContext(config={"tir.usmp.debug": ["profile"]}):
        factory = usmp.build(import_tflite(small_digits()), reference=True)
        factory.export_model_library_format(folder / "digits.tar")
    assert main(["export-test", str(folder / "digits.tar"), "-o", str(folder / "test")]) == 0
    parts = (folder / "digits.tar", folder / "test", SERVE, folder)
    return folder / "digits.tar", build_program(*parts, cycles="cycles")


def test_a_run_is_compared_with_the_reference_build(tvmc, device):
    archive, program = device
    with line_to(program) as port:
        outcome = tvmc("run", archive, "--serial", port)
    assert (outcome.status, outcome.stderr) == (0, "")
    first, second, *outputs = outcome.stdout.splitlines()
    assert first.startswith("Cycles of a run: ")
    assert second == f"The outputs equal {REFERENCE}."
    assert outputs == tvmc("run", archive).stdout.splitlines()


def test_cycles_by_operator(tvmc, device):
    """The program counts 100 for each operator, across the counter's largest number."""
    archive, program = device
    with line_to(program) as port:
        arguments = ("--serial", f"{port},9600", "--profile", "--profile-json", "profile.json")
        outcome = tvmc("run", archive, *arguments)
    assert (outcome.status, outcome.stderr) == (0, "")
    with open("profile.json") as file:
        profile = json.load(file)
    assert profile["unit"] == "cycles"
    assert [operator["cost"] for operator in profile["operators"]] == [100] * 2
    assert "Cycles of a run: 500" in outcome.stdout
    assert " cycles " in outcome.stdout


def test_boot_messages_and_an_echo_are_skipped(tvmc, device):
    """Bytes before the first frame, among them the begin of one that is none."""
    archive, program = device
    boot = [b"\r\nU-Boot 2026.01 \xa5\x5a\x00\xa5\x5a\x01\x01\x04\x00 ready\r\n"]
    with line_to(program, lambda content: boot.pop() + content if boot else content) as port:
        outcome = tvmc("run", archive, "--serial", port, "--quiet")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout == tvmc("run", archive).stdout


def test_a_device_that_waits_for_the_rest_of_a_frame(tvmc, device):
    """As after a command that was interrupted: most of a frame came, and then nothing."""
    archive, program = device
    cut = encoded(Frame(Kind.WRITE, 1, bytes(200)))[:50]
    parts = [cut]
    with line_to(program, to_device=lambda c: parts.pop() + c if parts else c) as port:
        assert tvmc("run", archive, "--serial", port).status == 0


class Fault:
    """Changes the first answer of a kind on its way to the host."""

    def __init__(self, kind, change):
        self.kind, self.change, self.reader = kind | ANSWER, change, FrameReader()

    def __call__(self, content):
        frames = self.reader(content)
        return b"".join(
            self.change(encoded(f)) if f.kind == self.kind else encoded(f) for f in frames
        )


def flipped(content):
    return content[:-5] + bytes([content[-5] ^ 4]) + content[-4:]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (Kind.READ, flipped, "an answer of the device was damaged on the line (its checksum is "),
        (Kind.READ, lambda c: c[:-3], "the answer of the device was cut off: 17 of 20 bytes came "),
        (Kind.RUN, lambda c: b"", "the device did not answer within 1 seconds; it may have "),
        (
            Kind.RUN,
            lambda c: b"Reset: watchdog\r\n" + encoded(Frame(Kind.READY | ANSWER, 0, b"")),
            "the device was reset during RUN; a fault, its watchdog or its supply may be why",
        ),
        (
            Kind.RUN,
            lambda c: encoded(Frame(Kind.RUN | ANSWER, c[3], b"\xf9\xff\xff\xff" + bytes(4))),
            "the model returned -7 on the device",
        ),
        (Kind.HELLO, lambda c: b"", "no answer from the device within 1 seconds; is it on, is "),
        (Kind.HELLO, flipped, "what came from the device within 1 seconds was damaged; is the "),
        (
            Kind.HELLO,
            lambda c: b"login: ",
            "none that tvmc understands; is the baud rate the same at both ends, and does its ",
        ),
        (
            Kind.HELLO,
            lambda c: encoded(Frame(c[2], c[3], b"\x09" + c[7:-4])),
            "the device speaks version 9 of the protocol, and this tvmc version 2; build its ",
        ),
    ],
    ids=["damaged", "cut", "silent", "reset", "status", "no-hello", "noise", "login", "version"],
)
def test_answers_that_are_none(refused, device, kind, change, message):
    archive, program = device
    start = time.monotonic()
    with line_to(program, Fault(kind, change)) as port:
        assert message in refused("run", archive, "--serial", port, "--timeout", "1")
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("damage", ["checksum", "session"])
def test_requests_that_the_device_refuses(refused, device, damage):
    """The device says that bytes were lost on the way to it, or that it knows no such session."""
    archive, program = device
    reader = FrameReader()

    def change(content):
        found = b""
        for frame in reader(content):
            if frame.kind == Kind.RUN and damage == "session":
                frame = Frame(frame.kind, frame.number, bytes(4) + frame.payload[4:])
            whole = encoded(frame)
            found += flipped(whole) if frame.kind == Kind.RUN and damage == "checksum" else whole
        return found

    expected = {
        "checksum": "the device got a damaged RUN (its checksum is wrong); does it read all bytes "
        "in time? A lower baud rate may help",
        "session": "the device was reset during RUN; a fault, its watchdog or its supply may be "
        "why",
    }
    with line_to(program, to_device=change) as port:
        assert refused("run", archive, "--serial", port) == expected[damage]


def test_another_model(refused, device, tmp_path):
    _, program = device
    other = relu_archive(tmp_path)
    with line_to(program) as port:
        assert refused("run", other, "--serial", port) == (
            "the device has a model with other entries, inputs, outputs or sizes than "
            f"{other}; build its program with what tvmc export-test writes for it"
        )


def test_expected_outputs_and_an_older_archive(refused, device, tmp_path):
    """Same interface, other code: where outputs differ, that may be why."""
    archive, program = device
    files = load_archive(archive).files
    files["codegen/host/src/default_lib0.c"] += b"/* retrained */"
    write_archive(files, tmp_path / "later.tar")
    np.savez("expected.npz", probabilities=np.full((1, 10), 5, np.int8))
    with line_to(program) as port:
        arguments = ("--serial", port, "--expected", "expected.npz", "--quiet")
        message = refused("run", tmp_path / "later.tar", *arguments)
    assert message.startswith(
        'output "probabilities" on the device differs from the expected outputs: 10 of 10 elements'
    )
    assert message.endswith("(the device's program was built from another archive than this one)")


def test_a_port_that_there_is_not(refused, device):
    message = refused("run", device[0], "--serial", "missing")
    assert message.startswith("missing: cannot be opened at 115200 baud (")


@pytest.mark.parametrize("text", ["/dev/ttyS0,fast", "/dev/ttyS0,0", ",9600", "/dev/ttyS0,"])
def test_a_baud_rate_that_is_none(refused, text):
    assert refused("run", "model.tar", "--serial", text) == (
        f"argument --serial: {text} is no port and baud rate, as /dev/ttyUSB0,115200 is. "
        "See tvmc run --help"
    )


def test_without_pyserial(refused, device, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "serial", None)
    assert "the package pyserial is needed to talk to a device; install it with: " in refused(
        "run", device[0], "--serial", "missing"
    )


def test_a_board_and_a_device(refused):
    assert refused("run", "model.tar", "--serial", "x", "--board", "mps2-an385") == (
        "--serial is for a device of yours, and --board for an emulator; give one"
    )
