"""Every program of docs/c-interface.md is built and run, on real images of digits."""

from __future__ import annotations

import re
import subprocess
import tarfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.attention import attention
from support.c_program import SANITIZERS, build_program
from support.dynamic_programs import Net, built
from support.python_here import run_python
from support.small_digits import small_digits
from usmp.frontend.tflite.importer import import_tflite

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("digits_session")]

PAGE = (ROOT / "docs/c-interface.md").read_text()


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


NAMES = ["run", "pools", "workspace-io", "rows", "windows", "entries"]
FILTERS = {"pools": 14, "workspace-io": 0, "rows": 4, "windows": 4, "entries": 0}
"""Sections whose model does not matter, and the filters of the small one they are tried with: it
compiles in less time. Pools need a buffer that one of them has no room for."""


def with_small_model(folder: Path, filters: int) -> Path:
    """Return the folder, after the examples, with a small model, were put there."""
    (folder / "examples/digits").mkdir(parents=True)
    (folder / "examples/digits/digits_int8.tflite").write_bytes(small_digits(filters=filters))
    images = "examples/digits/test_images.npz"
    (folder / images).symlink_to(ROOT / images)
    return folder


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The archive that a program is built with, by its number."""

    @cache
    def made(index):
        folder = tmp_path_factory.mktemp("archive")
        if NAMES[index] in FILTERS:
            with_small_model(folder, FILTERS[NAMES[index]])
        else:
            (folder / "examples").symlink_to(ROOT / "examples")
        run_python(sections()[index][0], folder)
        return folder / "digits.tar"

    return made


@pytest.fixture(scope="module")
def labels_of_small_model():
    """What one with so many filters takes the first images for."""

    @cache
    def found(filters):
        module = usmp.build(import_tflite(small_digits(filters=filters))).load()
        images = np.load(ROOT / "examples/digits/test_images.npz")["images"][:5]
        outputs = [module.run({"image": image[None]})["probabilities"] for image in images]
        labels = [int(output.argmax()) for output in outputs]
        assert len(set(labels)) > 1
        return labels

    return found


def test_the_page_has_all_its_programs():
    assert [language for language, _ in blocks()] == ["python", "c"] * 6 + ["python"]


@pytest.mark.slow
@pytest.mark.parametrize("index", range(6), ids=NAMES)
def test_programs(tmp_path, archive, labels_of_small_model, index):
    with tarfile.open(archive(index)) as tar:
        tar.extractall(tmp_path, filter="data")
    program = build_program({}, sections()[index][1], tmp_path, SANITIZERS)
    test = np.load(ROOT / "examples/digits/test_images.npz")
    filters = FILTERS.get(NAMES[index])
    labels = test["labels"] if filters is None else labels_of_small_model(filters)
    for image, label in zip(test["images"][:5], labels, strict=False):
        done = subprocess.run([program], input=image.tobytes(), capture_output=True, check=True)
        assert done.stdout == f"{label}\n".encode()


def test_the_packed_interface(tmp_path, labels_of_small_model):
    (_, python) = blocks()[-1]
    label = labels_of_small_model(0)[0]
    assert run_python(python, with_small_model(tmp_path, 0)) == f"{label}\n"


@pytest.mark.slow
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
