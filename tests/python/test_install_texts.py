"""Every text that tells someone to install something installs what it means."""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib.metadata import distribution
from itertools import pairwise

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import usmp
from conftest import ROOT
from usmp.support.distribution import EXTRAS, NAME

INSTALL = re.compile(
    r"\b(?:pip3? +install|pip_install)((?: +(?:'[^']*'|\"[^\"]*\"|[\w.:/=-]+(?![\w.:/=>-])))+)"
)
WITH_VALUE = {"--index-url", "--progress-bar", "--retries", "--timeout"}
ON_PYPI = {
    *("apache-tvm", "apache-tvm-ffi", "cmake", "ninja", "onnx", "setuptools"),
    *("scikit-learn", "tensorflow-cpu", "torch", "torchao"),
}
"""What the texts install from PyPI; projects of these names are those that are meant."""


def installs() -> list[tuple[str, str]]:
    """Each file of the repository that tells someone to install something, and what."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / name for name in tracked.stdout.decode().split("\0")]
    return [
        (str(path.relative_to(ROOT)), installed)
        for path in paths
        if path.is_file()
        for words in INSTALL.findall(path.read_bytes().decode(errors="replace").replace("\\\n", ""))
        for installed in what_is_installed(shlex.split(words))
    ]


def what_is_installed(words: list[str]) -> list[str]:
    values = [word for before, word in pairwise(words) if before in WITH_VALUE]
    return [word for word in words if not word.startswith(("-", "$")) and word not in values]


INSTALLS = installs()


def test_the_texts_are_found():
    files = {file for file, _ in INSTALLS}
    assert {"README.md", "examples/digits/README.md", "scripts/install.sh"} <= files


@pytest.mark.parametrize(("file", "installed"), INSTALLS)
def test_what_a_text_installs_is_what_it_means(file, installed):
    folder = re.fullmatch(r"\.(?:\[(.*)\])?", installed)
    if folder:
        extras = set((folder[1] or "").replace("$extra", "demo").split(",")) - {""}
        assert extras <= set(distribution(NAME).metadata.get_all("Provides-Extra"))
    else:
        assert canonicalize_name(Requirement(installed).name) in ON_PYPI


def test_the_distribution():
    assert NAME == "tvm-usmp"
    found = distribution(NAME)
    assert found.version == usmp.__version__
    entries = {(entry.group, entry.name) for entry in found.entry_points}
    assert entries == {("console_scripts", "tvmc"), ("tvm.backends", "usmp")}


def test_what_the_extras_for_users_need():
    for extra, requirement in EXTRAS.items():
        assert f'{requirement}; extra == "{extra}"' in distribution(NAME).requires
