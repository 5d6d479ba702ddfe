"""The wheel and the source archive: what is in them, and that they work where nothing else is."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import usmp
from conftest import ROOT
from support import children, levels
from support.small_digits import small_digits

pytestmark = pytest.mark.cc

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
BUILD_WHEEL = [*PIP, "wheel", "--no-build-isolation", "--no-index", "--no-deps"]
# Installed by CMake; all else in a wheel is known to git.
LIBRARIES = {"usmp/libusmp.so", "usmp_solver/libusmp_solver.so", "usmp_solver/lib/libusmp_solver.a"}
HEADERS = {
    "usmp/include/usmp/objects.h",
    "usmp_solver/include/usmp_solver/model/effort.h",
    "usmp_solver/include/usmp_solver/model/problem.h",
    "usmp_solver/include/usmp_solver/solver.h",
}
CMAKE_PACKAGE = {
    f"usmp_solver/lib/cmake/usmp_solver/usmp_solver-{name}.cmake"
    for name in ("config", "config-release", "config-version")
}
NO_COMPILER = """#!/bin/sh
# Makes an empty object in the place of that of a source: all sources and headers are there, as
# another test finds, and were compiled where the libraries of the checkout were built.
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then object=$2; fi
  shift
done
exec cc -x c -c /dev/null -o "$object"
"""
USER_PROGRAM = """
import numpy as np
import usmp
import usmp_solver

factory = usmp.build(usmp.import_model("model.tflite"), target="c", module_name="digits")
ram: int = factory.ram_bytes
text: str = repr(factory)
outputs: dict[str, np.ndarray] = factory.run({"image": np.zeros((1, 8, 8, 1), np.int8)})
pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", [])])
name: str = pools.pools[0].pool_name
problem = usmp_solver.Problem.from_buffers([usmp_solver.Buffer("a", 4, [(0, 1)])])
print(usmp_solver.solve(problem).status.name)
"""


def tracked(*folders: str) -> set[str]:
    """The files that git knows, relative to the root, but for settings of tools."""
    listed = subprocess.check_output(["git", "ls-files", *folders], cwd=ROOT, text=True)
    paths = map(Path, listed.splitlines())
    return {str(path) for path in paths if path.name[0] != "." and (ROOT / path).is_file()}


def run(*command: str | Path, cwd: Path, **settings: str) -> str:
    """What the command prints; it must succeed."""
    finished = children.run(
        *command,
        cwd=cwd,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1500,
    )
    assert finished.returncode == 0, finished.stdout[-4000:]
    return finished.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the wheel and the source archive, made once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "dist"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            sdist = f"from setuptools import build_meta as b; b.build_sdist({str(folder)!r})"
            run(sys.executable, "-c", sdist, cwd=ROOT)
            # setuptools keeps its copies of files, of those too that exist no longer.
            copies = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
            stale = ROOT / "build" / copies / "usmp/stale_module.py"
            stale.parent.mkdir(parents=True, exist_ok=True)
            stale.touch()
            run(*BUILD_WHEEL, "--wheel-dir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(dist) -> Path:
    (path,) = dist.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def solver_wheel(dist) -> Path:
    """The wheel of the solver alone, from the build folder of the other, once for all workers."""
    folder = dist / "solver"
    folder.mkdir(exist_ok=True)
    with (dist / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            run(*BUILD_WHEEL, "--wheel-dir", folder, ROOT / "packaging/solver", cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def solver_environment(solver_wheel, tmp_path_factory) -> Path:
    """A virtual environment with the wheel of the solver, NumPy and tvm-ffi, and nothing else."""
    folder = tmp_path_factory.mktemp("solver_environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=ROOT)
    install = ["install", "--quiet", "--no-index", "--no-deps", solver_wheel]
    run(*PIP, "--python", folder / "bin/python", *install, cwd=ROOT)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in ("apache-tvm-ffi", "numpy", "typing-extensions"):
        for file in distribution(name).files or ():
            top = Path(file).parts[0]
            if top != ".." and not (packages / top).exists():
                (packages / top).symlink_to(Path(sysconfig.get_path("purelib")) / top)
    return folder


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """A virtual environment with the wheel, and with the dependencies that are installed here."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=ROOT)
    install = ["install", "--quiet", "--no-index", "--no-deps", wheel]
    run(*PIP, "--python", folder / "bin/python", *install, cwd=ROOT)
    # As a path only: .pth files in that folder, of the editable install too, are not read.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_the_wheel_has_the_files_of_git_and_the_libraries(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    sources = {name.removeprefix("python/") for name in tracked("python")}
    assert names - metadata == sources | LIBRARIES | HEADERS | CMAKE_PACKAGE


def test_the_wheel_fits_every_python_of_this_platform(wheel):
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    assert wheel.name == f"tvm_usmp-{usmp.__version__}-py3-none-{platform}.whl"


@pytest.mark.slow
def test_the_source_archive_has_what_the_build_needs(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = ("python", "src", "packaging", "setup.py", "pyproject.toml", "CMakeLists.txt")
    assert tracked(*needed) <= names
    assert not [name for name in names if name.endswith((".so", ".a", ".pyc"))]


@pytest.mark.slow
def test_the_source_archive_builds_a_wheel_offline(sdist, wheel, tmp_path):
    # In one piece and not optimized, which is quick: what is built is compared, not run.
    unity = "-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0"
    flags = f"-DCMAKE_CXX_FLAGS_RELEASE=-O0 {unity} -DCMAKE_CXX_COMPILER_LAUNCHER="
    if not levels.is_long_run():
        launcher = tmp_path / "no_compiler"
        launcher.write_text(NO_COMPILER)
        launcher.chmod(0o755)
        flags += str(launcher)
    run(*BUILD_WHEEL, "--wheel-dir", tmp_path, sdist, cwd=tmp_path, CMAKE_ARGS=flags)
    names = [set(zipfile.ZipFile(path).namelist()) for path in (wheel, tmp_path / wheel.name)]
    assert names[0] == names[1]


@pytest.mark.slow
def test_the_installed_wheel_compiles_and_runs_a_model(environment, tmp_path):
    model, archive = tmp_path / "model.tflite", tmp_path / "digits.tar"
    model.write_bytes(small_digits())
    tvmc = environment / "bin/tvmc"
    run(tvmc, "compile", model, "--target=c", "-o", archive, cwd=tmp_path)
    assert "RAM 84 bytes" in run(tvmc, "plan", archive, cwd=tmp_path)
    # In one process: to start it takes longer than what it does.
    where = "import json\n\nprint(json.dumps([usmp.__file__, usmp_solver.__file__]))\n"
    (tmp_path / "program.py").write_text(USER_PROGRAM + where)
    python = environment / "bin/python"
    printed = run(python, "program.py", cwd=tmp_path, **children.WITHOUT_TORCH)
    status, files = printed.splitlines()
    assert status == "OPTIMAL"
    assert all(Path(file).is_relative_to(environment) for file in json.loads(files))


@pytest.mark.slow
def test_the_wheel_of_the_solver_has_its_package_and_nothing_else(solver_wheel):
    archive = zipfile.ZipFile(solver_wheel)
    names = set(archive.namelist())
    (folder,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
    metadata = {name for name in names if name.startswith(f"{folder}/")}
    sources = {name.removeprefix("python/") for name in tracked("python/usmp_solver")}
    installed = {name for name in LIBRARIES | HEADERS if name.startswith("usmp_solver/")}
    assert names - metadata == sources | installed | CMAKE_PACKAGE
    assert f"{folder}/licenses/LICENSE" in metadata
    text = archive.read(f"{folder}/METADATA").decode()
    required = {line for line in text.splitlines() if line.startswith("Requires-Dist: ")}
    assert {line for line in required if "extra ==" not in line} == {
        "Requires-Dist: apache-tvm-ffi<0.2,>=0.1.11",
        "Requires-Dist: numpy",
    }
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    assert solver_wheel.name == f"tvm_usmp_solver-{usmp.__version__}-py3-none-{platform}.whl"


@pytest.mark.slow
def test_the_installed_solver_plans_without_tvm(solver_environment, tmp_path):
    shutil.copy(ROOT / "packaging/solver/example.csv", tmp_path / "in.csv")
    python = [solver_environment / "bin/python"]
    command = [*python, "-m", "usmp_solver", "in.csv", "--capacity", "12", "-o", "out.csv"]
    alone = {"PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    assert "memory: peak 12 bytes" in run(*command, cwd=tmp_path, **alone)
    program = """
import importlib.util as util
import usmp_solver
assert util.find_spec("tvm") is None and util.find_spec("usmp") is None
print(usmp_solver.solve(usmp_solver.read_csv("out.csv").problem).peak, usmp_solver.__file__)
"""
    peak, file = run(*python, "-c", program, cwd=tmp_path, **alone).split()
    assert peak == "12" and Path(file).is_relative_to(solver_environment)


@levels.long_run()
def test_types_of_a_program_that_uses_the_installed_wheel_are_checked(environment, tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(USER_PROGRAM)
    wrong = 'import usmp\n\nusmp.WorkspacePoolInfo("sram", []).pool_name + 1\nusmp.missing\n'
    (tmp_path / "wrong.py").write_text(wrong)
    # In the folder of the program: the settings of this repository do not hold there.
    command = [*(sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports")]
    command += ["--python-executable", str(environment / "bin/python"), "--cache-dir=/dev/null"]
    command += ["--follow-imports=silent"]
    # Both in one run, which reads the package once.
    finished = children.run(*command, "program.py", "wrong.py", cwd=tmp_path, timeout=1500)
    *errors, summary = finished.stdout.splitlines()
    assert [(line.partition(":")[0], line.rpartition("[")[2]) for line in errors] == [
        ("wrong.py", "operator]"),
        ("wrong.py", "attr-defined]"),
    ]
    assert summary.endswith("in 1 file (checked 2 source files)")


def test_the_metadata_of_the_distribution():
    metadata = distribution("tvm-usmp").metadata
    assert metadata["Requires-Python"] == "<3.14,>=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"
    classifiers = metadata.get_all("Classifier")
    pythons = {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)}
    assert pythons <= set(classifiers)
    assert {"Operating System :: POSIX :: Linux", "Operating System :: MacOS"} <= set(classifiers)
    assert metadata.get_all("Project-URL")


def test_the_version_stands_in_one_place():
    version = re.compile(rf"^[^#\n]*version[^\n]*{re.escape(usmp.__version__)}", re.M | re.I)
    files = ("setup.py", "pyproject.toml", "CMakeLists.txt", "python/usmp/__init__.py")
    assert [name for name in files if version.search((ROOT / name).read_text())] == [
        "python/usmp/__init__.py"
    ]


def test_the_build_requirements_are_those_that_the_script_installs():
    pyproject = (ROOT / "pyproject.toml").read_text()
    requires = re.findall(r'"([^"]+)"', re.search(r"requires = \[(.*?)\]", pyproject, re.S)[1])
    line = re.search(r"^pip_install (.*cmake.*)$", (ROOT / "scripts/install.sh").read_text(), re.M)
    assert set(line[1].replace('"', "").split()) == set(requires)
