"""What the README shows works as it stands there."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import usmp
from conftest import ROOT
from support.board_programs import require_board
from support.c_program import build_program
from usmp.boards.board import board_named

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
    return checkout


def left_by_the_demo(images: np.ndarray) -> None:
    """The file of inputs that `make demo` leaves in the folder."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples/digits/demo.py")
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.write_inputs(images[:1])


def commands_of(heading: str) -> list[list[str]]:
    """The commands of a section, as a shell reads them."""
    section = README.split(f"## {heading}\n")[1].split("\n## ")[0].replace("\\\n", " ")
    return [
        shlex.split(line) for line in section.splitlines() if line.startswith("    .venv/bin/tvmc")
    ]


def test_the_commands(checkout, digits_images):
    images, labels = digits_images
    left_by_the_demo(images)
    compile_command, run_command = commands_of("Compile and run a model")
    subprocess.run(compile_command, check=True)
    subprocess.run(run_command, check=True)
    with np.load("out.npz") as outputs:
        assert outputs["probabilities"].argmax() == labels[0]


MAIN = """
#include <stdio.h>

int main(void) {
  int best = 0;
  if (fread(image, sizeof image, 1, stdin) != 1 || classify() != 0) return 1;
  for (int i = 1; i < (int)sizeof probabilities; ++i) {
    if (probabilities[i] > probabilities[best]) best = i;
  }
  return printf("%d", best) < 0;
}
"""


def test_the_firmware_of_the_commands(checkout, digits_images):
    images, labels = digits_images
    (snippet,) = re.findall(r"```c\n(.*?)```", README, re.DOTALL)
    subprocess.run(commands_of("Compile and run a model")[0], check=True)
    program = build_program(usmp.load_archive("digits.tar").files, snippet + MAIN, checkout, [])
    for image, label in zip(images[:3], labels[:3], strict=True):
        done = subprocess.run([program], input=image.tobytes(), capture_output=True, check=True)
        assert done.stdout == str(label).encode()


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
