"""`tvmc` with accelerators: the user's patterns, the user's C, a note where nothing is taken."""

from __future__ import annotations

import json
import subprocess
import tarfile

import numpy as np
import pytest
from tvm.relax.backend import _ffi_api

from conftest import ROOT
from support.board_programs import require_board
from support.commands import message_of
from support.micro import Micro
from support.quantized_models.convolutions import Conv, conv_2d
from usmp.boards.board import board_named
from usmp.runtime.reference import REFERENCE

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
EXAMPLE = ROOT / "examples/06_accelerator"
COMPILE = (
    *("compile", DIGITS, "--module-name", "digits", "-o", "digits.tar"),
    *("--usmp-algorithm=hill_climb", "--disabled-pass=StreamOperators"),
)
"""By the least planning: what is planned is no matter of these tests."""


@pytest.fixture
def one_convolution(tmp_path) -> tuple[object, ...]:
    """The same for a model of one convolution."""
    path = tmp_path / "convolution.tflite"
    path.write_bytes(conv_2d(Conv()))
    return ("compile", path, *COMPILE[2:])


@pytest.fixture
def extension():
    """The patterns of the example; they are gone afterwards."""
    yield EXAMPLE / "patterns.py"
    _ffi_api.RemovePatterns(["accel.conv2d"])


def of_zeros() -> np.ndarray:
    """What the model computes without an accelerator."""
    return Micro(DIGITS).run({"image": np.zeros((1, 8, 8, 1), np.int8)})["probabilities"]


@pytest.mark.slow
@pytest.mark.cc
def test_compile_and_run(tvmc, extension, tmp_path):
    done = tvmc(*COMPILE, "--target=accel,c", "--extension", extension)
    assert (done.status, done.stderr) == (0, "")
    with tarfile.open("digits.tar") as tar:
        module = json.load(tar.extractfile("./metadata.json"))["modules"]["digits"]
    assert len(module["accelerator_functions"]) == 4
    source = EXAMPLE / "accel.c"
    run = ("run", "digits.tar", "--fill-mode=zeros", "-o", "with.npz")
    done = tvmc(*run, "--extra-source", source)
    assert (done.status, done.stderr) == (0, "")
    with np.load("with.npz") as ours:
        np.testing.assert_array_equal(ours["probabilities"], of_zeros())


@pytest.mark.slow
@pytest.mark.board
def test_on_a_board(tvmc, extension, tmp_path):
    """With `tvmc run`, from a path that make would not take, and with make alone."""
    require_board(board_named("mps2-an385"))
    options = ("--board", "mps2-an385", "--target=accel,c", "--extension", extension)
    assert tvmc(*COMPILE, *options).status == 0
    source = tmp_path / "an accelerator, \u00e9" / "accel.c"
    source.parent.mkdir()
    source.write_text('#include "beside.h"\n' + (EXAMPLE / "accel.c").read_text())
    (source.parent / "beside.h").write_text("")
    run = ("run", "digits.tar", "--board", "mps2-an385", "--fill-mode=zeros")
    done = tvmc(*run, "--extra-source", source, "-o", "with.npz")
    assert (done.status, done.stderr) == (0, "")
    assert f"The outputs equal {REFERENCE}." in done.stdout
    with tarfile.open("digits.tar") as tar:
        tar.extractall(tmp_path)
    make = ["make", "-C", tmp_path / "project", f"EXTRA_SOURCES={EXAMPLE / 'accel.c'}", "run"]
    (tmp_path / "project/inputs.bin").write_bytes(bytes(64))
    subprocess.run(make, check=True, capture_output=True)
    with np.load("with.npz") as ours:
        np.testing.assert_array_equal(ours["probabilities"], of_zeros())
    assert (tmp_path / "project/outputs.bin").read_bytes() == of_zeros().tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ((), "the model calls tvmgen_digits_accel_main_0 of accelerators (accel); "),
        (("--extra-source", "missing.c"), "missing.c: no such file"),
    ],
)
def test_no_source_for_the_functions_on_a_board(
    refused, tvmc, one_convolution, extension, sources, message
):
    options = ("--target=accel,c", "--extension", extension, "--board", "mps2-an385")
    assert tvmc(*one_convolution, *options).status == 0
    assert refused("run", "digits.tar", "--board", "mps2-an385", *sources).startswith(message)


@pytest.mark.cc
def test_no_source_for_the_functions(refused, tvmc, one_convolution, extension):
    tvmc(*one_convolution, "--target=accel,c", "--extension", extension)
    message = refused("run", "digits.tar")
    assert message.startswith(
        "the model calls tvmgen_digits_accel_main_0 of accelerators (accel); "
    )


@pytest.mark.parametrize("name", ["accel", "my-npu"])
@pytest.mark.parametrize("pools", [(), ("--usmp-workspace-pools=sram",)])
def test_no_patterns_are_registered(refused, one_convolution, name, pools):
    message = refused(*one_convolution, f"--target={name},c", *pools)
    assert message.startswith(f'unknown target "{name}": no patterns of an accelerator have this')


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accel", "my-npu"])
def test_a_note_where_only_pools_list_it(tvmc, one_convolution, name):
    pools = ("--workspace-pools=sram", f"--workspace-pools-targets=sram:c,{name}")
    done = tvmc(*one_convolution, f"--target={name},c", *pools)
    note = f"no operator is taken by target {name}: no patterns are registered for it"
    assert (done.status, done.stderr) == (0, f"tvmc: note: {note}\n")


@pytest.mark.slow
def test_a_note_where_no_pattern_matches(tvmc, one_convolution, tmp_path):
    path = tmp_path / "lstm.py"
    path.write_text(
        "from tvm.relax.backend.pattern_registry import register_patterns\n"
        "from usmp.relax.accelerators import quantized_operator\n"
        "register_patterns([quantized_operator('idle.lstm', 'lstm')])\n"
    )
    options = ("--target=idle,c", "--extension", path)
    plan = ("plan", one_convolution[1], *options, "--usmp-algorithm=hill_climb")
    outputs = [tvmc(*one_convolution, *options), tvmc(*plan), tvmc(*plan, "--quiet")]
    _ffi_api.RemovePatterns(["idle.lstm"])
    note = "tvmc: note: no operator is taken by target idle: its patterns match nothing\n"
    assert [(done.status, done.stderr) for done in outputs] == [(0, note), (0, note), (0, "")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--extension {path}: No such file or directory"),
        ("register(", "--extension {path} failed: '(' was never closed ({name}, line 1)"),
        ("1 / 0", "--extension {path} failed: division by zero (ZeroDivisionError at {line})"),
        ("import sys; sys.exit(3)", "--extension {path} failed: 3 (SystemExit at {line})"),
    ],
)
def test_an_extension_that_fails(tvmc, one_convolution, tmp_path, content, message):
    path = tmp_path / "extension.py"
    if content is not None:
        path.write_text(content)
    done = tvmc(*one_convolution, "--target=accel,c", "--extension", path)
    line = f"{path}, line 1; TVM_BACKTRACE=1 shows the traceback"
    shown = message.format(path=path, name=path.name, line=line)
    assert (done.status, message_of(done.stderr)) == (1, shown)
