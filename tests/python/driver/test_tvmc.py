"""The command line as a user starts it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import onnx_models

TVMC = str(Path(sys.executable).with_name("tvmc"))


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )


def test_compile_and_run(digits_model, digits_images, tmp_path):
    images, _ = digits_images
    np.savez(tmp_path / "in.npz", image=images[:1])
    compiled = run(
        *(TVMC, "compile", digits_model, "--target=c", "--executor=aot", "--output-format=mlf"),
        *("--pass-config", "tir.usmp.enable=1"),
        *("--pass-config", "tir.usmp.algorithm=greedy_by_size", "-o", "model.tar"),
        cwd=tmp_path,
    )
    assert (compiled.returncode, compiled.stderr) == (0, "")
    assert compiled.stdout.startswith("Memory of default (greedy_by_size)")
    done = run(
        *(sys.executable, "-m", "usmp", "run", "model.tar"),
        *("--inputs", "in.npz", "--outputs", "out.npz", "--print-time"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    label, milliseconds, unit = done.stdout.rsplit(" ", 2)
    assert (label, unit) == ("Run time:", "ms\n")
    assert float(milliseconds) > 0
    with np.load(tmp_path / "out.npz") as outputs:
        assert outputs.files == ["probabilities"]
        assert outputs["probabilities"].shape == (1, 10)
    assert sorted(os.listdir(tmp_path)) == ["in.npz", "model.tar", "out.npz"]


def test_error_is_one_line_and_status_1(tmp_path):
    done = run(TVMC, "compile", "no.tflite", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tvmc: error: no.tflite: No such file or directory\n"


def test_log_of_tvm_is_shown_only_on_request(tmp_path):
    graph = onnx_models.Graph()
    data, shape = graph.input("x", [4, 3]), graph.input("shape", [2], "int64")
    graph.node("Reshape", graph.node("Relu", data), shape, outputs=["y"])
    (tmp_path / "model.onnx").write_bytes(graph.proto("y").SerializeToString())
    command = (TVMC, "compile", "model.onnx")
    quiet = run(*command, cwd=tmp_path)
    verbose = run(*command, cwd=tmp_path, env={**os.environ, "TVM_LOG_DEBUG": "1"})
    assert quiet.returncode == verbose.returncode == 1
    (line,) = quiet.stderr.splitlines()
    assert line in verbose.stderr.splitlines()
    assert "BlockBuilder destroyed" in verbose.stderr
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_version_and_help():
    done = run(TVMC, "--version")
    assert (done.returncode, done.stdout) == (0, f"usmp {version('usmp')}\n")
    done = run(sys.executable, "-m", "usmp", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: tvmc [-h] [--version] COMMAND ...")


def test_help_of_a_command_explains_every_option(tvmc, capfd):
    for command in ("compile", "run"):
        with pytest.raises(SystemExit) as stopped:
            tvmc(command, "--help")
        assert stopped.value.code == 0
        options = [line for line in capfd.readouterr().out.splitlines() if line.startswith("  -")]
        assert len(options) >= 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND (see tvmc --help)"),
        (["run"], "the following arguments are required: FILE (see tvmc run --help)"),
        (
            ["micro"],
            "argument COMMAND: invalid choice: 'micro' (choose from 'compile', 'run') "
            "(see tvmc --help)",
        ),
    ],
)
def test_wrong_usage(refused, arguments, message):
    assert refused(*arguments).replace(
        "choose from compile, run", "choose from 'compile', 'run'"
    ) == (message)


def test_stdout_that_is_full_is_an_error(digits_archive):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [TVMC, "run", digits_archive], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"tvmc: error: [Errno 28] No space left on device\n"


def test_closed_pipe_is_no_traceback(digits_archive):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [TVMC, "run", digits_archive], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
