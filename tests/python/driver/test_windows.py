"""`--stream-input NAME:hop=N` of `tvmc compile`: summary, header and errors."""

from __future__ import annotations

import tarfile

import numpy as np
import pytest

from support.micro import Micro

pytestmark = pytest.mark.usefixtures("one_session")


@pytest.mark.slow
def test_the_summary_and_the_header(tvmc, convolutions):
    outcome = tvmc("compile", convolutions, "--stream-input=image:hop=2")
    assert (outcome.status, outcome.stderr) == (0, "")
    said = " ".join(outcome.stdout.split())
    assert (
        'Each run takes 2 of the 8 rows of input "image", and keeps 304 bytes of windows as '
        "state: 14976 -> 10656 MACs; operator 2 CONV_2D (4x4x8) and what follows take whole "
        "windows."
    ) in said
    with tarfile.open("module.tar") as tar:
        header = tar.extractfile("./codegen/host/include/tvmgen_default.h").read().decode()
    assert "#define TVMGEN_DEFAULT_IMAGE_SIZE 32\n" in header
    assert "#define TVMGEN_DEFAULT_IMAGE_HOP 2\n" in header
    assert "#define TVMGEN_DEFAULT_IMAGE_WINDOW_ROWS 8\n" in header
    assert (
        ' * "image" takes the 2 newest of the 8 rows of a window, the oldest first:\n'
        " * give all rows in their order, each of them once. The outputs are those of the whole\n"
        " * window, which is full of -3 before the first run and after reset.\n"
    ) in header


@pytest.mark.slow
@pytest.mark.cc
def test_run(tvmc, convolutions):
    """The first run, of a window that is empty but for the lines that it is given."""
    lines = Micro(convolutions).random_inputs(0)["image"][:, :2]
    window = np.full((1, 8, 8, 2), -3, np.int8)
    window[:, 6:] = lines
    np.savez("window.npz", image=window)
    np.savez("lines.npz", image=lines)
    found = []
    for option, given in ((), "window.npz"), (("--stream-input=image:hop=2",), "lines.npz"):
        assert tvmc("compile", convolutions, *option).status == 0
        assert tvmc("run", "module.tar", "-i", given, "-o", "out.npz").status == 0
        with np.load("out.npz") as outputs:
            found.append(outputs["probabilities"])
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--stream-input=nope:hop=1"],
            'tir.usmp.stream_inputs: the model has no input "nope". Its inputs: image',
        ),
        (
            ["--stream-input=image:hop=0"],
            'tir.usmp.stream_inputs: the hop of "image" must be how many rows are new in each '
            'run, at least 1, not "0"',
        ),
        (
            ["--stream-input=image:hop=9"],
            'input "image" is a window of 8 rows, so that a hop of 9 leaves nothing to keep; give '
            "less than 8 rows, or leave the hop out of tir.usmp.stream_inputs",
        ),
        (
            ["--stream-input=image:hop=2", "--stream-input=image"],
            'tir.usmp.stream_inputs: input "image" is given row by row ("image"), and as the new '
            'rows of a window ("image:hop=2"); give one of the two',
        ),
        (
            ["--stream-input=image:hop=2", "--usmp-preserve-inputs"],
            "tir.usmp.stream_inputs gives new rows of image to each run, so that there is nothing "
            "to preserve for the next one; leave out the hop, or tir.usmp.preserve_inputs",
        ),
    ],
)
def test_errors(refused, convolutions, options, message):
    assert refused("compile", convolutions, *options) == message
