"""Every program of docs/c-interface.md is built and run, on real images of digits."""

from __future__ import annotations

import re
import subprocess
import tarfile
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.attention import attention
from support.c_program import SANITIZERS
from support.dynamic_programs import Net, built
from support.python_here import run_python

pytestmark = pytest.mark.cc

PAGE = (ROOT / "docs/c-interface.md").read_text()
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def blocks():
    """Language and text of each block of code, in order."""
    return re.findall(r"```(python|c)\n(.*?)```", PAGE, re.DOTALL)


def sections():
    """A C program, and the Python that makes the archive it is built with."""
    return [
        (before, program)
        for (_, before), (language, program) in pairwise(blocks())
        if language == "c"
    ]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The archive that a program is built with, by its number."""

    @cache
    def made(index):
        folder = tmp_path_factory.mktemp("archive")
        (folder / "examples").symlink_to(ROOT / "examples")
        run_python(sections()[index][0], folder)
        return folder / "digits.tar"

    return made


@pytest.fixture
def folder(tmp_path):
    """An empty folder in which the examples are found."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_the_page_has_all_its_programs():
    assert [language for language, _ in blocks()] == ["python", "c"] * 6 + ["python"]


@pytest.mark.parametrize(
    "index", range(6), ids=["run", "pools", "workspace-io", "rows", "windows", "entries"]
)
def test_programs(folder, archive, index):
    with tarfile.open(archive(index)) as tar:
        tar.extractall(folder, filter="data")
    (folder / "main.c").write_text(sections()[index][1])
    source = "codegen/host/src/digits_lib0.c"
    command = ["gcc", *STRICT, *SANITIZERS, "-Icodegen/host/include"]
    subprocess.run([*command, "main.c", source, "-lm", "-o", "main"], cwd=folder, check=True)
    test = np.load(ROOT / "examples/digits/test_images.npz")
    for image, label in zip(test["images"][:5], test["labels"], strict=False):
        command = [folder / "main"]
        done = subprocess.run(command, input=image.tobytes(), capture_output=True, check=True)
        assert done.stdout == f"{label}\n".encode()


def test_the_packed_interface(folder):
    (_, python) = blocks()[-1]
    label = np.load(ROOT / "examples/digits/test_images.npz")["labels"][0]
    assert run_python(python, folder) == f"{label}\n"


def test_every_name_of_the_table_is_in_a_header(archive):
    """The table says `<m>` and `...`; the headers of the archives have what it means."""
    headers = ""
    for index in range(len(sections())):
        with tarfile.open(archive(index)) as tar:
            headers += tar.extractfile("./codegen/host/include/tvmgen_digits.h").read().decode()
    # Digits are of one size.
    headers += built(Net).header
    with PassContext(config={"tir.usmp.dynamic": "expression"}):
        headers += usmp.build(attention(), max_sizes={"length": 8}).header
    table = PAGE.split("| name | what it is |\n")[1].split("\n\n")[0]
    names = [
        n for line in table.splitlines()[1:] for n in re.findall("`([^`]*)`", line.split("|")[1])
    ]
    suffixes = [re.split(r"<\w+>|\.\.\.", name)[-1].split("(")[0] for name in names]
    assert len(suffixes) == 31
    # Digits run on no accelerator.
    assert [suffix for suffix in suffixes if suffix not in headers] == ["_devices"]
