"""The command line as a user starts it: a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from support import onnx_models
from support.children import TVMC, ended, run, run_tvmc, start, wait_until
from support.commands import COMMANDS, message_of
from support.small_digits import small_digits
from usmp.driver.tvmc import main as tvmc_main

SEE = "See tvmc --help"


@pytest.mark.slow
@pytest.mark.cc
def test_compile_and_run(digits_images, tmp_path):
    images, _ = digits_images
    (tmp_path / "digits.tflite").write_bytes(small_digits())
    np.savez(tmp_path / "in.npz", image=images[:1])
    compiled = run(
        *(TVMC, "compile", "digits.tflite", "--target=c", "--executor=aot", "--output-format=mlf"),
        *("--pass-config", "tir.usmp.enable=1"),
        *("--pass-config", "tir.usmp.algorithm=greedy_by_size", "-o", "model.tar"),
        cwd=tmp_path,
    )
    assert (compiled.returncode, compiled.stderr) == (0, "")
    assert compiled.stdout.startswith("Memory of digits (greedy_by_size)")
    done = run(
        *(sys.executable, "-m", "usmp", "run", "model.tar"),
        *("--inputs", "in.npz", "--outputs", "out.npz", "--print-time"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    title, _, times = done.stdout.splitlines()
    assert title == "Execution time summary:"
    mean, median, maximum, minimum, deviation = map(float, times.split())
    assert mean == median == maximum == minimum > deviation == 0
    with np.load(tmp_path / "out.npz") as outputs:
        assert outputs.files == ["probabilities", "output_0"]
        assert outputs["probabilities"].shape == (1, 10)
    assert sorted(os.listdir(tmp_path)) == ["digits.tflite", "in.npz", "model.tar", "out.npz"]


def test_error_is_one_line_and_status_1(tmp_path):
    done = run(TVMC, "compile", "no.tflite", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tvmc: error: no.tflite: No such file or directory\n"


@pytest.mark.slow
def test_log_of_tvm_is_shown_only_on_request(tmp_path):
    graph = onnx_models.Graph()
    data, shape = graph.input("x", [4, 3]), graph.input("shape", [2], "int64")
    graph.node("Reshape", graph.node("Relu", data), shape, outputs=["y"])
    (tmp_path / "model.onnx").write_bytes(graph.proto("y").SerializeToString())
    command = ("compile", "model.onnx")
    quiet = run_tvmc(*command, folder=tmp_path)
    verbose = run_tvmc(*command, folder=tmp_path, environment={"TVM_LOG_DEBUG": "1"})
    assert quiet.returncode == verbose.returncode == 1
    assert message_of(quiet.stderr)
    assert set(quiet.stderr.splitlines()) <= set(verbose.stderr.splitlines())
    assert "BlockBuilder destroyed" in verbose.stderr
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.slow
def test_version_and_help():
    done = run(TVMC, "--version")
    assert (done.returncode, done.stdout) == (0, f"usmp {version('tvm-usmp')}\n")
    done = run(sys.executable, "-m", "usmp", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: tvmc [-h] [--version] COMMAND ...")


def test_without_arguments_it_shows_the_help(tvmc, capfd):
    outcome = tvmc()
    assert (outcome.status, outcome.stderr) == (0, "")
    with pytest.raises(SystemExit):
        tvmc("--help")
    assert outcome.stdout == capfd.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples_of_it(tvmc, capfd, command):
    with pytest.raises(SystemExit) as stopped:
        tvmc(command, "--help")
    assert stopped.value.code == 0
    shown = capfd.readouterr().out
    assert shown.startswith(f"usage: tvmc {command} [")
    examples = shown.split("\nexamples:\n")[1]
    assert examples.count(f"tvmc {command}") >= 2


def shown_help(capfd, command, *flags):
    with pytest.raises(SystemExit):
        tvmc_main([command, *flags])
    return capfd.readouterr().out


def options_of(text):
    return re.findall(r"^  (-\S+|FILE)", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "most"),
    [("compile", 30), ("plan", 32), ("explain", 30), ("explore", 30), ("check", 30)],
)
def test_help_has_the_options_that_are_often_needed(capfd, command, most):
    text = shown_help(capfd, command, "--help")
    assert 20 < len(options_of(text)) <= most
    assert text.splitlines()[-1] == f"tvmc {command} --help-all shows all options."
    examples = text.partition("examples:\n")[2]
    assert 1 <= len(re.findall(r"^  tvmc ", examples, re.MULTILINE)) <= 6


def test_help_all_has_rare_options_too(capfd):
    often, everything = (shown_help(capfd, "compile", f) for f in ("--help", "--help-all"))
    # What the help does not say is in tvmc list options-of-0.18.
    rare = {"--executor", "--disabled-pass", "--print-ir-after", "--constant-pools-io", "-f"}
    assert {*options_of(often)} < {*options_of(everything)}
    assert rare <= {*options_of(everything)} - {*options_of(often)}
    assert not {"--runtime", "--target-llvm-mcpu"} & {*options_of(everything)}
    groups = [line for line in often.splitlines() if re.fullmatch(r"\w.*:", line)]
    assert groups == [
        *("model:", "target and code:", "memory:", "search:", "several models:", "state:"),
        *("output files:", "options:", "examples:"),
    ]
    words = " ".join(everything.split())
    for default in ("c", "aot", "16", "default", "module.tar", "mlf"):
        assert f"(default: {default})" in words
    assert "default: []" not in words
    # Each default is said once.
    for option in re.split(r"\n  -", everything):
        assert option.count("default: ") <= 1, option


def test_a_command_without_rare_options_has_one_help(capfd):
    text = shown_help(capfd, "list", "--help")
    assert "--help-all" not in text
    assert shown_help(capfd, "list", "--help-all") == text


def _sleeps(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "S"


@pytest.mark.slow
def test_interrupted_command_ends_as_shells_expect(tmp_path):
    pipe = tmp_path / "model.tar"
    os.mkfifo(pipe)
    process = start(TVMC, "run", pipe, stderr=subprocess.PIPE)
    # Opened once the command opens it too; from then on it waits for what is never written.
    with pipe.open("wb"):
        # Python sees no signal that comes between its last look and the read that waits.
        wait_until(process, lambda: _sleeps(process.pid))
        process.send_signal(signal.SIGINT)
        _, stderr = ended(process)
    assert (process.returncode, stderr) == (130, "tvmc: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "the following arguments are required: FILE. See tvmc run --help"),
        (["nope"], f'unknown command "nope". Commands: {", ".join(COMMANDS)}. {SEE}'),
        (
            ["complie"],
            'unknown command "complie". Did you mean "compile"? Commands: '
            f"{', '.join(COMMANDS)}. {SEE}",
        ),
        (["--nope"], "unknown option --nope. Options: --help, --version"),
        (
            ["compile", "x.tflite", "--target=c", "-mcpu=cortex-m3"],
            "unrecognized arguments: -mcpu=cortex-m3. Write it within the quotes of --target, as "
            f'--target="c -mcpu=cortex-m3". {SEE}',
        ),
    ],
)
def test_wrong_usage(refused, arguments, message):
    assert refused(*arguments) == message


@pytest.mark.cc
def test_stdout_that_is_full_is_an_error(digits_archive, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = run_tvmc("run", digits_archive, folder=tmp_path, stdout=full.fileno())
    assert done.returncode == 1
    assert done.stderr == "tvmc: error: [Errno 28] No space left on device\n"


@pytest.mark.cc
def test_closed_pipe_is_no_traceback(digits_archive, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    done = run_tvmc("run", digits_archive, folder=tmp_path, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
def test_an_error_does_not_control_the_terminal(tmp_path):
    name = "\x1b[31m\u202eno\r.tflite"
    done = run(TVMC, "compile", name, cwd=tmp_path)
    assert done.stderr == "tvmc: error: \\x1b[31m\\u202eno .tflite: No such file or directory\n"
    done = run(TVMC, "compile", "x.tflite", "--\x1b[31m", cwd=tmp_path)
    assert done.stderr == "tvmc: error: unknown option --\\x1b[31m\n  See tvmc compile --help\n"


def test_long_names_leave_room_for_what_is_wrong(tmp_path):
    done = run(TVMC, "compile", f"{'x' * 3000}.tflite", cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert len(line) < 300
    assert line.endswith(".tflite: File name too long")
