"""docs/on-your-device.md: its commands run, its program serves a host from an emulated board."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import usmp
from conftest import ROOT
from support.board_programs import require_board
from support.compilers import require, run_compiler
from support.device_programs import SERVE, build_program, line_to
from support.small_digits import small_digits
from usmp.boards.board import board_named
from usmp.device.device_files import device_files
from usmp.device.serial import session
from usmp.driver.tvmc import main
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/on-your-device.md").read_text()
BEFORE, EMULATOR = PAGE.split("\n## In the emulator\n")
(PROGRAM,) = re.findall(r"^```c\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
# The counter of the board's FPGA, which QEMU has.
COUNTER = PROGRAM.replace("0xe0001004u", "0x40028018u")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """An emulator beside many other processes answers later than a board."""
    for name in ("ANSWER_SECONDS", "_FIRST_ANSWER_SECONDS"):
        monkeypatch.setattr(session, name, 120.0)


def commands(text):
    indented = "".join(
        re.findall(r"^    .*\n", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    )
    return [shlex.split(line) for line in indented.replace("\\\n", " ").splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.tflite").write_bytes(small_digits())
    np.savez("in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    return tmp_path


@pytest.mark.cc
def test_the_commands(folder, capfd):
    """Each of `tvmc run` has a device, with a program of what was exported before."""
    done = 0
    for command in commands(BEFORE):
        if command[1] != "run":
            if command[1] == "export-test" and "expected.npz" in command:
                assert main("run model.tar --inputs in.npz --outputs expected.npz".split()) == 0
            assert main(command[1:]) == 0, capfd.readouterr().err
            continue
        stem = Path(command[2]).stem
        parts = (folder / f"{stem}.tar", folder / f"{stem}_test")
        target = folder / f"{stem}_program"
        if not target.exists():
            build_program(*parts, SERVE, target, cycles="cycles")
        with line_to(target / "program") as port:
            arguments = [word.replace("/dev/ttyUSB0", port) for word in command[1:]]
            assert main(arguments) == 0, capfd.readouterr().err
        done += 1
    assert done == 3


@contextmanager
def emulator(command, project):
    """The pseudo-terminal of the board, whose program runs as the page says."""
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield re.search(r"/dev/pts/\d+", process.stdout.readline())[0]
        finally:
            process.kill()


@pytest.mark.board
def test_a_board_runs_the_program(folder, capfd):
    """It answers, so that its self test has passed."""
    require_board(board_named("mps2-an385"))
    *prepare, run_emulator, run = commands(EMULATOR)
    for command in prepare:
        if command[0] == "tvmc":
            assert main(command[1:]) == 0, capfd.readouterr().err
        else:
            if command[0] == "make":
                (folder / "project/main.c").write_text(COUNTER)
            command = ["sh", "-c", " ".join(command)]
            if "main.c" not in command[2]:
                subprocess.run(command, check=True, capture_output=True)
    capfd.readouterr()
    with emulator(run_emulator, folder) as port:
        arguments = [word.replace("/dev/pts/3", port) for word in run[1:]]
        assert main([*arguments, "--profile-json", "profile.json"]) == 0, capfd.readouterr().err
    assert f"The outputs equal {REFERENCE}." in capfd.readouterr().out
    profile = json.loads((folder / "profile.json").read_text())
    assert profile["unit"] == "cycles"
    assert len(profile["operators"]) == 2
    assert all(operator["cost"] > 0 for operator in profile["operators"])


@pytest.mark.board
def test_all_of_it_compiles_for_the_core(folder):
    compiler = "arm-none-eabi-gcc"
    require(compiler)
    assert main(["compile", "model.tflite", "--profile", "-q", "-o", "model.tar"]) == 0
    assert main(["export-test", "model.tar", "-o", "test", "-q"]) == 0
    usmp.load_archive("model.tar").extract(".")
    (folder / "test/main.c").write_text(PROGRAM)
    strict = "-std=c99 -Wall -Wextra -Werror -pedantic -Wconversion -O2 -mthumb -mcpu=cortex-m3"
    include = ["-Itest", "-Icodegen/host/include"]
    sources = [str(path) for path in Path("test").glob("*.c")]
    run_compiler([compiler, *strict.split(), *include, "-c", *sources])


@pytest.mark.cc
def test_the_table_of_files(folder):
    usmp.build("model.tflite").export_model_library_format("model.tar")
    archive = usmp.load_archive("model.tar")
    table = PAGE.split("| file |")[1].split("\n\n")[0].splitlines()[2:]
    named = {name for row in table for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    made = device_files(archive.module(), archive.code(), [])
    assert {name.replace("<m>", "default") for name in named} == set(made)
