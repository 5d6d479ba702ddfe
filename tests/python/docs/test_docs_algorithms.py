"""The algorithms of docs/algorithms.md work as the page says."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tvm

import usmp
from conftest import ROOT
from support.compilers import run_compiler
from support.placement_graphs import graph
from support.python_here import registering, run_python, run_tvmc
from usmp.algorithms import get_custom_algorithm
from usmp.analysis import check_plan, pool_usage
from usmp.objects import BufferInfo

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("digits_session")]

PAGE = (ROOT / "docs/algorithms.md").read_text()
BLOCKS = dict(zip(("mine", "use", "cpp"), re.findall(r"```\S+\n(.*?)```", PAGE, re.S), strict=True))
TEXT = re.sub(r"```\S+\n.*?```", "", PAGE, flags=re.DOTALL)
COMMANDS = re.findall(r"^    (\S.*)", TEXT.replace("\\\n", " "), re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch, digits_model):
    """A folder with the model and `mine.py`."""
    (tmp_path / "model.tflite").symlink_to(digits_model)
    (tmp_path / "mine.py").write_text(BLOCKS["mine"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_in_python_by_tvmc_and_in_a_program(folder):
    by_tvmc = shlex.split(COMMANDS[0])
    assert by_tvmc[0] == "tvmc"
    with registering():
        assert run_tvmc(*by_tvmc[1:]).startswith("Memory of model (mine)")
    printed = run_python(BLOCKS["use"], folder)
    assert "global_workspace 928 False" in printed.splitlines()


def test_the_attributes_of_a_buffer_exist():
    rows = PAGE.split("| attribute |")[1].split("\n\n")[0].splitlines()[2:]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert len(names) == 9
    for name in names:
        assert hasattr(BufferInfo, name)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The library of the page, built by its command and loaded."""
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler; install g++")
    folder = tmp_path_factory.mktemp("cpp")
    (folder / "mine.cc").write_text(BLOCKS["cpp"])
    _, build = COMMANDS
    assert shlex.split(build)[0] == "c++"
    # One of the programs in the command loads all of TVM, which this process has done.
    (code,) = re.findall(r"python3 -c '(.*?)'", build)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    build = build.replace(f"$(python3 -c '{code}')", printed.getvalue().strip())
    # The include folders are those that this environment's `python` prints.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command, environment = f"printf '%s\\n' {build}", {**os.environ, "PATH": path}
    words = subprocess.run(
        command, shell=True, check=True, cwd=folder, env=environment, stdout=subprocess.PIPE
    ).stdout.decode()
    # It runs for a moment: to optimize it takes longer.
    run_compiler([*words.splitlines(), "-O0", "-Wall", "-Wextra", "-Werror"], cwd=folder)
    ctypes.CDLL(str(folder / "mine.so"))


def test_in_cpp(compiled):
    buffers = graph({"a": 10, "b": 30, "c": 20}, {"a": "c", "b": "c", "c": "ab"})
    ordered = list(buffers.values())
    plan = get_custom_algorithm("first_fit")(ordered, 50)
    check_plan(ordered, plan)
    assert [plan[buffer].byte_offset for buffer in ordered] == [0, 0, 30]


@pytest.mark.slow
def test_in_cpp_on_a_model(compiled, digits_model):
    with tvm.transform.PassContext(config={"tir.usmp.custom_algorithm": "first_fit"}):
        plan = usmp.build(digits_model).memory_plan
    pools = {str(use.pool_name): use.peak_bytes for use in pool_usage(plan)}
    assert pools == {"global_workspace": 1408, "global_const_workspace": 27112}
