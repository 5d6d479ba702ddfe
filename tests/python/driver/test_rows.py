"""`--stream-input` and `--stream-output` of `tvmc compile`: what the summary says, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from support.micro import Micro

pytestmark = [pytest.mark.usefixtures("one_session"), pytest.mark.slow]


@pytest.mark.parametrize(
    "option", ["--stream-input=image", "--pass-config=tir.usmp.stream_inputs=image"]
)
def test_the_summary(tvmc, convolutions, option):
    outcome = tvmc("compile", convolutions, option)
    assert (outcome.status, outcome.stderr) == (0, "")
    said = " ".join(outcome.stdout.split())
    assert 'Given or taken row by row: input "image" (8 rows of 16 bytes).' in said
    assert "RAM 322 bytes = workspace 194 + inputs and outputs 128, without the stack." in said
    assert "Other inputs and outputs are provided by the application" in said


@pytest.mark.cc
def test_run(tvmc, convolutions):
    reference = Micro(convolutions)
    inputs = reference.random_inputs(0)
    np.savez("image.npz", **inputs)
    assert tvmc("compile", convolutions, "--stream-input=image", "--workspace-io").status == 0
    assert tvmc("run", "module.tar", "-i", "image.npz", "-o", "out.npz").status == 0
    with np.load("out.npz") as outputs:
        expected = reference.run(inputs)["probabilities"]
        assert np.array_equal(outputs["probabilities"], expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--stream-input=nope"],
            'tir.usmp.stream_inputs: the model has no input "nope". Its inputs: image',
        ),
        (
            ["--stream-output=probabilities"],
            'output "probabilities" cannot be given or taken by rows: operator softmax does not '
            "write it one row after the other; leave it out of tir.usmp.stream_inputs and "
            "tir.usmp.stream_outputs (--stream-input, --stream-output)",
        ),
        (
            ["--stream-input=image", "--target=llvm"],
            "inputs and outputs by rows need target c, not llvm: compile for c, or leave out "
            "tir.usmp.stream_inputs and tir.usmp.stream_outputs",
        ),
        (
            ["--stream-input=image", "--pass-config=tir.usmp.stream_inputs=image"],
            "--stream-input=image and --pass-config tir.usmp.stream_inputs=image say the same "
            "twice; give one of them",
        ),
        (
            ["--stream-input=image", "--usmp-preserve-inputs"],
            "tir.usmp.stream_inputs (image) gives inputs row by row, so that nothing is left of "
            "them to preserve; leave it out, or tir.usmp.preserve_inputs",
        ),
    ],
)
def test_errors(refused, convolutions, options, message):
    assert message in refused("compile", convolutions, *options)
