"""What docs/tutorial.md shows works as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

import usmp
from conftest import ROOT
from support.board_programs import require_board
from support.c_program import build_program
from support.example_programs import link_checkout, write_demo_inputs
from support.python_here import run_script, run_tvmc
from usmp.boards.board import board_named
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.usefixtures("digits_session")

PAGE = (ROOT / "docs/tutorial.md").read_text()
FIRST_PASS = ROOT / "examples/01_first_pass.py"
README = (ROOT / "README.md").read_text()


def section(number: int) -> str:
    return re.split(r"^## ", PAGE, flags=re.MULTILINE)[number]


def commands_of(number: int) -> list[list[str]]:
    """The commands of a section, as a shell reads them."""
    lines = section(number).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("    tvmc ")]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The checkout."""
    link_checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / '.venv/bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.slow
@pytest.mark.cc
def test_the_demo_table_is_what_the_demo_prints(capfd):
    text = run_script(ROOT / "examples/digits/demo.py", folder=ROOT)
    # The table is from `tvmc`, a process of its own.
    text += capfd.readouterr().out
    printed = [" ".join(line.split()) for line in text.splitlines()]
    shown = section(1).split("    pool  ")[1].split("\n\n")[0]
    lines = [" ".join(line.split()) for line in f"pool {shown}".splitlines()]
    assert len(lines) == 6
    assert [line for line in lines if line != "..." and line not in printed] == []


@pytest.mark.slow
@pytest.mark.cc
def test_compile_and_run(checkout, digits_images):
    images, labels = digits_images
    write_demo_inputs(images[:1])
    for command in commands_of(2):
        run_tvmc(*command[1:])
    with np.load("out.npz") as outputs:
        assert outputs["probabilities"].argmax() == labels[0]
    files = usmp.load_archive("digits.tar").files
    table = section(2).split("| file | content |")[1]
    named = set(re.findall(r"^\| `([\w./]+)` \|", table, re.MULTILINE))
    assert len(named) == 4
    assert named <= set(files)


@pytest.mark.slow
@pytest.mark.cc
def test_plans_to_look_at_and_to_compare_with(checkout):
    peaks = []
    for command in commands_of(3):
        shown = run_tvmc(*command[1:])
        peaks += re.findall(r"^ *global_workspace +workspace +(\d+)", shown, re.MULTILINE)
    assert peaks == ["928", "1152", "1248", "1024"]
    assert Path("plan.csv").read_text().startswith("pool,")


@pytest.mark.slow
@pytest.mark.cc
def test_the_firmware_is_that_of_the_readme(checkout):
    """Which is run there."""
    (snippet,) = re.findall(r"```c\n(.*?)```", section(4), re.DOTALL)
    assert f"```c\n{snippet}```" in README
    run_tvmc(*commands_of(2)[0][1:])
    scales = (
        "#include <stdio.h>\nint main(void) { return classify() || printf("
        '"%g %d", TVMGEN_DEFAULT_PROBABILITIES_SCALE, TVMGEN_DEFAULT_PROBABILITIES_ZERO_POINT)'
        " < 0; }\n"
    )
    program = build_program(usmp.load_archive("digits.tar").files, snippet + scales, checkout, [])
    done = subprocess.run([program], capture_output=True, check=True)
    assert done.stdout == b"0.00390625 -128"


@pytest.mark.slow
@pytest.mark.cc
def test_the_command_with_pools(checkout):
    (command,) = commands_of(5)
    run_tvmc(*command[1:])
    pools = usmp.load_archive("pools.tar").module().pools
    assert [(pool.name, pool.is_internal) for pool in pools] == [
        ("dtcm", False),
        ("flash", False),
        ("itcm", False),
        ("sram", False),
    ]


@pytest.mark.slow
@pytest.mark.cc
def test_the_error_is_what_a_small_pool_gives(digits_model):
    shown = section(5).split("This is what a pool of 800 bytes gives:")[1].split("...")[0]
    pool = usmp.WorkspacePoolInfo("sram", ["c"], usmp.PoolInfoProperties(size_hint_bytes=800))
    with pytest.raises(ValueError) as error:
        usmp.build(digits_model, workspace_memory_pools=usmp.WorkspaceMemoryPools([pool]))
    assert " ".join(str(error.value).split()).startswith(" ".join(shown.split()))


@pytest.mark.slow
@pytest.mark.board
def test_the_commands_for_a_board(checkout):
    require_board(board_named("mps3-an547"))
    for command in commands_of(6):
        shown = run_tvmc(*command[1:])
    assert f"The outputs equal {REFERENCE}." in shown


@pytest.mark.cc
def test_the_first_pass_is_the_example(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", section(7), re.DOTALL)
    docstring, _, example = FIRST_PASS.read_text().removeprefix('"""').partition('"""\n\n')
    assert "python examples/01_first_pass.py" in docstring
    assert code == example
    printed = run_script(FIRST_PASS, folder=tmp_path)
    shown = [line.split() for line in re.findall(r"^    (\w+ +sram.*)", section(7), re.MULTILINE)]
    assert len(shown) == 3
    assert [line.split() for line in printed.splitlines()[-3:]] == shown
