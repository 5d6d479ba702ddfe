"""What the command line can say without TVM, it says without loading TVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TVMC = str(Path(sys.executable).with_name("tvmc"))
HEAVY = {"numpy", "rich", "torch", "tvm", "tvm_ffi"}


def loaded(*arguments: str) -> set[str]:
    """The top-level packages that a process of the command loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        # Else the command keeps what it loads late out of stderr.
        env={**os.environ, "TVM_LOG_DEBUG": "1"},
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
        ["run", "--help"],
        ["compile"],
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


def test_elsewhere_importing_the_package_registers_its_options():
    script = (
        "import usmp\n"
        "from tvm.ir.transform import PassContext\n"
        "PassContext(config={'tir.usmp.enable': True})\n"
        "assert callable(usmp.build) and 'build' in usmp.__all__\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", ["tvmc.py", "tvmc"])
def test_a_script_of_the_same_name_gets_the_package_when_it_asks(tmp_path, name):
    script = tmp_path / name
    script.write_text(
        "import usmp.build\n"
        "from usmp import Executor\n"
        "assert callable(usmp.build) and usmp.Executor is Executor\n"
        "assert usmp.__version__\n"
        "try:\n"
        "    usmp.nothing\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "module 'usmp' has no attribute 'nothing'\n"
