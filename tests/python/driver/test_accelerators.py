"""`tvmc` with accelerators: the user's patterns, the user's C, a note where nothing is taken."""

from __future__ import annotations

import json
import tarfile

import numpy as np
import pytest
from tvm.relax.backend import _ffi_api

from conftest import ROOT

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
EXAMPLE = ROOT / "examples/accelerator"
COMPILE = ("compile", DIGITS, "--module-name", "digits", "-o", "digits.tar")


@pytest.fixture
def extension():
    """The patterns of the example; they are gone afterwards."""
    yield EXAMPLE / "patterns.py"
    _ffi_api.RemovePatterns(["accel.conv2d"])


def test_compile_and_run(tvmc, extension, tmp_path):
    done = tvmc(*COMPILE, "--target=accel,c", "--extension", extension)
    assert (done.status, done.stderr) == (0, "")
    assert "note:" not in done.stdout
    with tarfile.open("digits.tar") as tar:
        module = json.load(tar.extractfile("./metadata.json"))["modules"]["digits"]
    assert len(module["accelerator_functions"]) == 4
    source = EXAMPLE / "accel.c"
    done = tvmc("run", "digits.tar", "--extra-source", source, "-o", "with.npz")
    assert (done.status, done.stderr) == (0, "")
    assert tvmc(*COMPILE).status == 0
    assert tvmc("run", "digits.tar", "-o", "without.npz").status == 0
    with np.load("with.npz") as ours, np.load("without.npz") as expected:
        np.testing.assert_array_equal(ours["probabilities"], expected["probabilities"])


def test_no_source_for_the_functions(tvmc, extension):
    tvmc(*COMPILE, "--target=accel,c", "--extension", extension)
    done = tvmc("run", "digits.tar")
    assert done.status == 1
    assert done.stderr.startswith("tvmc: error: the model calls tvmgen_digits_accel_main_0, ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["accel", "ethos-u"])
def test_a_note_where_no_patterns_are_registered(tvmc, name):
    done = tvmc(*COMPILE, f"--target={name},c")
    note = f"note: no operator is taken by target {name}: no patterns are registered for it\n"
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.startswith(note)


def test_a_note_where_no_pattern_matches(tvmc, tmp_path):
    path = tmp_path / "lstm.py"
    path.write_text(
        "from tvm.relax.backend.pattern_registry import register_patterns\n"
        "from usmp.relax.accelerators import quantised_operator\n"
        "register_patterns([quantised_operator('idle.lstm', 'lstm')])\n"
    )
    done = tvmc(*COMPILE, "--target=idle,c", "--extension", path)
    _ffi_api.RemovePatterns(["idle.lstm"])
    assert done.stdout.startswith(
        "note: no operator is taken by target idle: its patterns match nothing\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--extension {}: No such file or directory"),
        ("register(", "--extension {} failed: SyntaxError: '(' was never closed ({}, line 1)"),
        ("1 / 0", "--extension {} failed: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "--extension {} failed: SystemExit: 3"),
    ],
)
def test_an_extension_that_fails(tvmc, tmp_path, content, message):
    path = tmp_path / "extension.py"
    if content is not None:
        path.write_text(content)
    done = tvmc(*COMPILE, "--target=accel,c", "--extension", path)
    shown = message.format(path, path.name)
    assert (done.status, done.stderr) == (1, f"tvmc: error: {shown}\n")
