"""Every text that tells someone to install something installs what it means."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from importlib.metadata import distribution
from itertools import pairwise

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import usmp
from conftest import ROOT
from support.all_cases import check_all
from support.children import run
from usmp.support.distribution import EXTRAS, NAME

INSTALL = re.compile(
    r"\b(?:pip3? +install|pip_install)((?: +(?:'[^']*'|\"[^\"]*\"|[\w.:/=-]+(?![\w.:/=>-])))+)"
)
WITH_VALUE = {"--index-url", "--progress-bar", "--retries", "--timeout"}
ON_PYPI = {
    *(
        "apache-tvm",
        "apache-tvm-ffi",
        "cmake",
        "cosmic-ray",
        "executorch",
        "ninja",
        "onnx",
        "pyserial",
        "setuptools",
    ),
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


@pytest.mark.slow
def test_the_texts_are_found():
    files = {file for file, _ in installs()}
    assert {"README.md", "examples/digits/README.md", "scripts/install.sh"} <= files


def check_installed(installed: str) -> None:
    folder = re.fullmatch(r"\.(/packaging/solver)?(?:\[(.*)\])?", installed)
    if folder:
        extras = set((folder[2] or "").replace("$extra", "demo").split(",")) - {""}
        of_all = set(distribution(NAME).metadata.get_all("Provides-Extra"))
        assert extras <= ({"executorch"} if folder[1] else of_all)
    else:
        assert canonicalize_name(Requirement(installed).name) in ON_PYPI


@pytest.mark.slow
def test_what_a_text_installs_is_what_it_means():
    check_all({f"{file}: {name}": (name,) for file, name in installs()}, check_installed)


def test_the_distribution():
    assert NAME == "tvm-usmp"
    found = distribution(NAME)
    assert found.version == usmp.__version__
    entries = {(entry.group, entry.name) for entry in found.entry_points}
    assert entries == {
        ("console_scripts", "tvmc"),
        ("console_scripts", "usmp-opt"),
        ("tvm.backends", "usmp"),
    }


def test_what_the_extras_for_users_need():
    required = [Requirement(each) for each in distribution(NAME).requires]
    for extra, requirement in EXTRAS.items():
        assert Requirement(f'{requirement}; extra == "{extra}"') in required


PIP_LINES = """\
Collecting numpy
  Downloading https://files.example/packages/numpy-2.4.6-cp311-linux.whl (16.6 MB)
  Downloading tflite-2.18.0.tar.gz (2 kB)
  [3/68] Building CXX object CMakeFiles/usmp.dir/src/usmp/judged_columns.cc.o
  [68/68] Linking CXX shared library libusmp_solver.so
Successfully built tvm-usmp
"""


@pytest.mark.parametrize(("end", "status"), [("", "0"), ("install.sh: pip failed\n", "1")])
def test_progress_of_an_install_is_shown_line_by_line(end, status):
    script = (ROOT / "scripts/install.sh").read_text()
    function = re.search(r"^show_progress\(\) \{\n.*?^\}\n", script, re.M | re.S)[0]
    process = subprocess.Popen(
        ["sh", "-c", f"{function}show_progress; echo $?"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    shown = []
    for line in PIP_LINES.splitlines(keepends=True):
        process.stdin.write(line)
        process.stdin.flush()
        if "[" in line or "Downloading" in line:
            shown.append(process.stdout.readline())
    assert process.communicate(end)[0] == f"{status}\n"
    assert shown == [
        "  numpy-2.4.6-cp311-linux.whl (16.6 MB)\n",
        "  tflite-2.18.0.tar.gz (2 kB)\n",
        "  [3/68] judged_columns.cc\n",
        "  [68/68] libusmp_solver.so\n",
    ]


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path):
    for program in ("id", "sh"):
        (tmp_path / program).symlink_to(shutil.which(program))
    # It is only looked for.
    (tmp_path / "apt-get").touch(mode=0o755)
    command = [
        shutil.which("sh"),
        ROOT / "scripts/install.sh",
        "python3",
        tmp_path / "venv",
        "demo",
    ]
    finished = run(*command, env={"PATH": str(tmp_path)})
    assert (finished.returncode, finished.stdout) == (1, "")
    become = "" if os.getuid() == 0 else "sudo "
    assert finished.stderr == (
        "usmp needs system packages that are missing: python3 g++ gcc. Install them, then run make "
        f"again:\n\n    {become}apt-get install --no-install-recommends python3 g++ gcc\n\n"
    )
    assert not (tmp_path / "venv").exists()
