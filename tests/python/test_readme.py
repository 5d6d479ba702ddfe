"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import usmp
from board_programs import require_board
from conftest import ROOT
from usmp.objects.boards import board_named

README = (ROOT / "README.md").read_text()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder that looks like the checkout, where files may be left behind."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/tvmc").symlink_to(Path(sys.executable).with_name("tvmc"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example(checkout):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["outputs"]["probabilities"].shape == (1, 10)
    assert (checkout / "digits.tar").stat().st_size > 0


@pytest.fixture
def model(checkout):
    (checkout / "model.tflite").symlink_to(ROOT / "examples/digits/digits_int8.tflite")
    np.savez(checkout / "in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    return checkout


def commands_of(heading: str) -> list[list[str]]:
    """The commands of a section, as a shell reads them."""
    section = README.split(f"## {heading}\n")[1].split("\n## ")[0].replace("\\\n", " ")
    return [
        shlex.split(line) for line in section.splitlines() if line.startswith("    .venv/bin/tvmc")
    ]


def test_the_commands(model):
    compile_command, run_command = commands_of("Compile and run a model")
    subprocess.run(compile_command, check=True)
    subprocess.run(run_command, check=True)
    with np.load(model / "out.npz") as outputs:
        assert outputs["probabilities"].shape == (1, 10)


def test_the_command_with_pools(model):
    (command,) = commands_of("Memories of your own")
    subprocess.run(command, check=True)
    pools = usmp.load_archive("module.tar").module().pools
    assert [(pool.name, pool.is_internal) for pool in pools] == [
        ("dtcm", False),
        ("flash", False),
        ("itcm", False),
        ("sram", False),
    ]


def test_the_commands_for_a_board(model):
    require_board(board_named("mps3-an547"))
    for command in commands_of("Boards"):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "The outputs equal those of this host." in done.stdout


def test_the_demo_table_is_what_the_demo_prints():
    done = subprocess.run(
        [sys.executable, "examples/digits/demo.py"], cwd=ROOT, capture_output=True, check=True
    )
    printed = [" ".join(line.split()) for line in done.stdout.decode().splitlines()]
    shown = README.split("    pool  ")[1].split("## Compile")[0]
    for line in f"pool {shown}".splitlines():
        if line.strip() not in ("", "..."):
            assert " ".join(line.split()) in printed


def test_the_error_is_what_the_digits_example_gives():
    shown = README.split("the error says what is missing:")[1].split("...")[0]
    pool = usmp.WorkspacePoolInfo("sram", ["c"], usmp.PoolInfoProperties(size_hint_bytes=1024))
    mod = usmp.import_model(ROOT / "examples/digits/digits_int8.tflite")
    with pytest.raises(ValueError) as error:
        usmp.build(mod, workspace_memory_pools=usmp.WorkspaceMemoryPools([pool]))
    assert " ".join(str(error.value).split()).startswith(" ".join(shown.split()))
