"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess

import numpy as np
import pytest

import usmp
from conftest import ROOT
from support.board_programs import require_board
from support.c_program import build_program
from support.example_programs import link_checkout, write_demo_inputs
from support.python_here import run_tvmc
from usmp.boards.board import board_named
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.usefixtures("digits_session")

README = (ROOT / "README.md").read_text()
BENCHMARKS = (ROOT / "docs/benchmarks.md").read_text()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    link_checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.cc
def test_the_python_example(checkout):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["outputs"]["probabilities"].shape == (1, 10)
    assert (checkout / "digits.tar").stat().st_size > 0


def commands_of(heading: str) -> list[list[str]]:
    """The commands of a section, as a shell reads them."""
    section = README.split(f"## {heading}\n")[1].split("\n## ")[0].replace("\\\n", " ")
    return [
        shlex.split(line) for line in section.splitlines() if line.startswith("    .venv/bin/tvmc")
    ]


@pytest.mark.slow
@pytest.mark.cc
def test_the_commands(checkout, digits_images):
    images, labels = digits_images
    write_demo_inputs(images[:1])
    compile_command, run_command = commands_of("Compile a model")
    run_tvmc(*compile_command[1:])
    run_tvmc(*run_command[1:])
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


@pytest.mark.slow
@pytest.mark.cc
def test_the_firmware_of_the_commands(checkout, digits_images):
    images, labels = digits_images
    (snippet,) = re.findall(r"```c\n(.*?)```", README, re.DOTALL)
    run_tvmc(*commands_of("Compile a model")[0][1:])
    program = build_program(usmp.load_archive("digits.tar").files, snippet + MAIN, checkout, [])
    for image, label in zip(images[:3], labels[:3], strict=True):
        done = subprocess.run([program], input=image.tobytes(), capture_output=True, check=True)
        assert done.stdout == str(label).encode()


@pytest.mark.slow
@pytest.mark.board
def test_the_commands_for_a_board(checkout, digits_model):
    (checkout / "model.tflite").symlink_to(digits_model)
    require_board(board_named("mps3-an547"))
    for command in commands_of("Run it on a board"):
        shown = run_tvmc(*command[1:])
    assert f"The outputs equal {REFERENCE}." in shown


def row_of(model: str, section: str) -> list[str]:
    """The row of a model in a table of docs/benchmarks.md."""
    table = BENCHMARKS.split(f"## {section}\n")[1].split("\n## ")[0]
    (row,) = re.findall(rf"^\| {model} \| (.*) \|$", table, re.MULTILINE)
    return row.split(" | ")


@pytest.mark.cc
def test_the_figures_are_those_of_the_benchmarks():
    (ram,) = re.findall(r"^\| RAM of (\w+).* \| (\d+) \| (\d+) \|$", README, re.MULTILINE)
    model, ours, arena = ram
    row = row_of(model, "RAM")
    assert [arena, ours] == [row[0], row[4]]
    cores = r"^\| instructions on .* \| ([\d.]+) / ([\d.]+) / ([\d.]+) / ([\d.]+) \| 1, .*\|$"
    (ratios,) = re.findall(cores, README, re.MULTILINE)
    recorded = " ".join(row_of("geometric mean", "Kernels"))
    assert list(ratios) == re.findall(r"[\d.]+", recorded)


@pytest.mark.cc
def test_it_is_short():
    assert len(README.splitlines()) <= 150
