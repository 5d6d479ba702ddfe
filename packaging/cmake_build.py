"""Commands of setuptools for both distributions: CMake builds and installs the C++ libraries.

The libraries use the ABI of tvm-ffi instead of Python's, so they are not extension modules, and
setuptools cannot compile them.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent.parent
# An editable install puts the libraries beside the Python files, where `import` finds both.
PYTHON_FOLDER = ROOT / "python"


class InstallLibraries(build_ext):
    """A command that configures, builds and installs with CMake.

    The build folder is kept between installs, so that only changes are compiled. The environment
    variable `CMAKE_ARGS` has further arguments for the configuration.
    """

    solver_alone = False

    def run(self) -> None:
        build = ROOT / "build" / sysconfig.get_platform()
        prefix = Path(PYTHON_FOLDER if self._is_in_place() else self.build_lib).resolve()
        configure = [
            *("-S", str(ROOT), "-B", str(build), "-G", "Ninja"),
            # Set the programs each time, because the folder of an isolated build is temporary.
            f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_BUILD_TYPE={'Debug' if self.debug else 'Release'}",
            f"-DUSMP_SOLVER_ALONE={'ON' if self.solver_alone else 'OFF'}",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        build.mkdir(parents=True, exist_ok=True)
        # Lock, because concurrent builds would delete each other's files.
        with (build / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _run_cmake(*configure)
            _run_cmake("--build", str(build), *([f"-j{self.parallel}"] if self.parallel else []))
            _run_cmake("--install", str(build), "--prefix", str(prefix))

    def _is_in_place(self) -> bool:
        return bool(self.editable_mode or self.inplace)

    # Both are empty, because CMake installs the files and setuptools has no others to install.
    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class CopyModules(build_py):
    """A command that copies the Python files, and removes those of an earlier build."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class AnyPythonWheel(bdist_wheel):
    """A wheel for one platform and every Python 3."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def _run_cmake(*arguments: str) -> None:
    # Flush, so that CMake's output follows that of setuptools.
    print("cmake", shlex.join(arguments), flush=True)
    subprocess.run([_tool("cmake"), *arguments], check=True)


def _tool(name: str) -> str:
    """Return the path of a program from a wheel: on PATH in isolated builds, else beside Python."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")])
    program = shutil.which(name, path=path)
    if program is None:
        sys.exit(f"the build needs {name}. Try: {sys.executable} -m pip install {name}")
    return program
