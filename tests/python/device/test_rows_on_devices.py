"""Inputs and outputs by rows on a device: no array holds all of their rows."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS
from support.device_programs import SELF_TEST, SERVE, STRICT, build_program, line_to, self_test
from support.quantized_models.masks import IMAGE, image_to_mask
from support.small_digits import small_convolutions
from usmp.device.serial.frames import ANSWER, Frame, FrameReader, Kind, encoded
from usmp.driver.tvmc import main
from usmp.frontend.tflite.importer import import_tflite
from usmp.names import PROFILE
from usmp.runtime.c_compiler import compile_c
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.cc

STRICT_SANITIZERS = (*STRICT, *SANITIZERS)
MASK_BYTES, MASK_ROW_BYTES = 12 * 32, 32


def exported(folder, model, config, **arguments):
    """The archive of a model, and the folder that `tvmc export-test` writes."""
    with PassContext(config={f"tir.usmp.{name}": value for name, value in config.items()}):
        factory = usmp.build(import_tflite(model), **arguments)
    factory.export_model_library_format(folder / "model.tar")
    export(folder)
    return folder / "model.tar", folder / "test"


def export(folder, *arguments):
    command = ["export-test", folder / "model.tar", "-o", folder / "test", "-q", *arguments]
    assert main([*map(str, command)]) == 0


@pytest.fixture(scope="module")
def masks(tmp_path_factory):
    """The files of a model whose input and output pass by rows."""
    config = {"stream_inputs": ["t0"], "stream_outputs": ["t9"], "debug": PROFILE}
    return exported(tmp_path_factory.mktemp("masks"), image_to_mask(), config, reference=True)


def ram_of_variables(archive, test, folder):
    """The bytes of all variables of a program with the self test that are not constants."""
    build_program(archive, test, SELF_TEST, folder)
    sources = [*(folder / "codegen/host/src").glob("*.c"), *test.glob("*.c")]
    taken = 0
    for source in sources:
        if "serial" in source.name:
            continue
        include = [f"-I{folder / 'codegen/host/include'}", f"-I{test}"]
        # Without relocations at load time, tables of addresses are constants.
        compile_c(["-fno-pic", *include, "-c", str(source)], folder / "one.o")
        symbols = subprocess.run(
            ["nm", "--print-size", "--radix=d", folder / "one.o"],
            check=True,
            capture_output=True,
            text=True,
        )
        variables = re.findall(r"^\d+ (\d+) [bBdD] ", symbols.stdout, re.MULTILINE)
        taken += sum(map(int, variables))
    return taken


@pytest.mark.parametrize(
    ("config", "outputs"),
    [
        ({"stream_inputs": ["image"]}, 128),
        ({"stream_inputs": ["image:hop=2"]}, 128),
        ({}, 128),
        ({"use_workspace_io": True}, 0),
    ],
    ids=["rows", "window", "whole", "workspace"],
)
def test_the_test_takes_the_ram_that_it_states(tmp_path, config, outputs):
    """No input has an array of its own, unless it is in the workspace."""
    archive, test = exported(tmp_path, small_convolutions(), config)
    pools = usmp.load_archive(archive).module().pools
    (workspace,) = (pool.size_bytes for pool in pools if not pool.is_constant)
    stated = f"{workspace + outputs} bytes of the model (memory pools {workspace}"
    header = (test / "tvmgen_default_device.h").read_text()
    assert f"RAM of the test without the stack: {stated}" in header
    assert ram_of_variables(archive, test, tmp_path) == workspace + outputs


def test_rows_are_compared_with_constants(masks, tmp_path):
    archive, test = masks
    assert "_device_output" not in (test / "tvmgen_default_device.h").read_text()
    assert self_test(archive, test, tmp_path, STRICT_SANITIZERS) == 0


@pytest.mark.parametrize(
    ("row", "result"),
    [
        (0, "source[3] ^= 1"),
        (11, "source[31] ^= 1"),
        # A row that never comes.
        (7, "return 0"),
    ],
)
def test_a_row_that_is_not_as_expected_is_told(masks, tmp_path, row, result):
    archive, test = masks
    folder = tmp_path / "test"
    folder.mkdir()
    for path in test.iterdir():
        text = path.read_text()
        if path.name == "tvmgen_default_device.c":
            before = "  return io->write("
            assert before in text
            change = result.replace("source[", "((int8_t*)(uintptr_t)source)[")
            text = text.replace(before, f"  if (row == {row}) {change};\n{before}")
        (folder / path.name).write_text(text)
    assert self_test(archive, folder, tmp_path) == 1


@pytest.fixture(scope="module")
def program(masks, tmp_path_factory):
    """A program that serves the model; a row is longer than its frames."""
    flags = (*STRICT_SANITIZERS, "-DUSMP_SERIAL_PAYLOAD=64")
    folder = tmp_path_factory.mktemp("program")
    return build_program(*masks, SERVE, folder, flags, cycles="cycles")


def test_rows_pass_over_the_line_while_the_model_runs(tvmc, masks, program, tmp_path):
    archive, _ = masks
    image = np.random.default_rng(1).integers(-128, 128, IMAGE.shape, np.int8)
    np.savez(tmp_path / "in.npz", t0=image)
    arguments = ("--inputs", tmp_path / "in.npz", "--outputs")
    with line_to(program) as port:
        outcome = tvmc("run", archive, "--serial", port, *arguments, "out.npz", "--profile")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert f"The outputs equal {REFERENCE}." in outcome.stdout
    assert tvmc("run", archive, *arguments, "host.npz").status == 0
    np.testing.assert_array_equal(np.load("out.npz")["t9"], np.load("host.npz")["t9"])


def test_cycles_of_waiting_for_rows_do_not_count(tvmc, masks, program):
    """The counter goes up by 100 whenever it is read; twice for each frame with a part of a row."""
    archive, _ = masks
    with line_to(program) as port:
        outcome = tvmc("run", archive, "--serial", port, "--profile")
    (cycles,) = re.findall(r"Cycles of a run: (\d+)", outcome.stdout)
    operators = len(usmp.load_archive(archive).module().metadata["operators"])
    assert int(cycles) == 100 * (1 + 2 * operators) + 100 * 24


def test_a_host_that_gives_up_during_a_run_can_begin_anew(tvmc, masks, program):
    """The device answers the hello that comes instead of a row."""
    archive, _ = masks
    reader, first = FrameReader(), [True]

    def change(content):
        found = b""
        for frame in reader(content):
            if frame.kind == Kind.CONTINUE and first:
                first.pop()
                hello = Frame(Kind.HELLO, 77, (2).to_bytes(4, "little") + b"\1\0\0\0")
                found += encoded(hello)
            else:
                found += encoded(frame)
        return found

    with line_to(program, to_device=change) as port:
        outcome = tvmc("run", archive, "--serial", port, "--timeout", "20")
        assert outcome.status == 1
        assert "the device answered another request than CONTINUE" in outcome.stderr
        assert not first
        assert tvmc("run", archive, "--serial", port).status == 0


def test_a_row_that_there_is_not_is_an_error(refused, masks, program):
    archive, _ = masks
    reader = FrameReader()

    def change(content):
        found = b""
        for frame in reader(content):
            if frame.kind == Kind.TAKE_ROW | ANSWER:
                payload = frame.payload[:4] + (288).to_bytes(4, "little") + frame.payload[8:]
                frame = Frame(frame.kind, frame.number, payload)
            found += encoded(frame)
        return found

    with line_to(program, change) as port:
        assert refused("run", archive, "--serial", port) == (
            "the device asked for a row that there is not; its files are of another model"
        )
