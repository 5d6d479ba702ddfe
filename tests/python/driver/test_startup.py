"""What the command line can say without TVM, it says without loading TVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TVMC = str(Path(sys.executable).with_name("tvmc"))
HEAVY = {"numpy", "rich", "torch", "tvm", "tvm_ffi"}


def loaded(*arguments: str, **settings: str) -> set[str]:
    """The top-level packages that a process loads, with these settings of the environment."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        # Else the command keeps what it loads late out of stderr.
        env={**os.environ, "TVM_LOG_DEBUG": "1", **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["--version"],
        ["compile", "--help"],
        ["plan", "--help"],
        ["explore", "--help"],
        ["explore", "missing.tflite"],
        ["explain", "--help"],
        ["run", "--help"],
        ["diff", "--help"],
        ["diff", "missing.tar", "missing.tar"],
        ["check", "--help"],
        ["check", "missing.tflite", "--boards", "all"],
        ["export-test", "--help"],
        ["export-test", "missing.tar"],
        ["compile"],
        ["micro", "build", "project", "zephyr"],
        ["nope"],
        ["compile", "missing.tflite"],
        ["list"],
        ["list", "--format", "json"],
        ["completion", "bash"],
    ],
    ids=" ".join,
)
def test_command_that_needs_no_tvm(arguments):
    packages = loaded(TVMC, *arguments)
    assert "usmp" in packages
    assert not packages & HEAVY


def test_module_that_needs_no_tvm():
    assert not loaded("-m", "usmp", "--version") & HEAVY


def test_command_that_needs_tvm(digits_model):
    """The test of the tests above: what is loaded late is seen."""
    assert {"numpy", "rich", "tvm", "tvm_ffi"} <= loaded(TVMC, "plan", str(digits_model))


@pytest.mark.parametrize("ending", [".tflite", ".pt2"])
def test_torch_is_loaded_for_its_own_models_only(digits_model, tmp_path, ending):
    """Where it is installed, TVM loads it."""
    pytest.importorskip("torch")
    model = tmp_path / f"model{ending}"
    model.write_bytes(digits_model.read_bytes())
    command = "import sys; from usmp.driver import tvmc; tvmc.main(sys.argv[1:]); "
    command += "print('torch' in sys.modules, file=sys.__stdout__)"
    done = subprocess.run(
        [sys.executable, "-c", command, "plan", str(model)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == str(ending == ".pt2")


@pytest.mark.parametrize("name", ["tvmc.py", "tvmc", "flash", "__main__.py", "-m", "python"])
def test_whatever_the_program_is_called(tmp_path, name):
    """The installed script, renamed as in an application that brings it along."""
    script = tmp_path / name
    script.write_text(Path(TVMC).read_text())
    packages = loaded(str(script), "list")
    assert "usmp" in packages
    assert not packages & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [
        "sys.argv[:] = ['tvmc']",
        "sys.argv[:] = ['/usr/lib/application.cgi', 'serve']",
        "sys.argv.clear()",
        "del sys.argv, sys.orig_argv",
    ],
)
def test_where_the_interpreter_is_part_of_another_program(arguments):
    command = "from usmp.driver import tvmc; tvmc.main(['list']); tvmc.main(['nope'])"
    packages = loaded("-c", f"import sys; {arguments}; {command}")
    assert "usmp" in packages
    assert not packages & HEAVY


def test_completion_of_shells_that_needs_no_tvm():
    settings = {"_ARGCOMPLETE": "1", "COMP_LINE": "tvmc compile --boa", "COMP_POINT": "18"}
    packages = loaded(TVMC, **settings)
    assert "argcomplete" in packages
    assert not packages & HEAVY
