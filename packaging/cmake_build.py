"""Commands of setuptools for both distributions: CMake builds and installs the C++ libraries.

The libraries speak the ABI of tvm-ffi, not that of one Python, so they are no extension modules,
and setuptools cannot compile them.
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
# An editable install has the libraries beside the Python files, where `import` finds both.
PYTHON_FOLDER = ROOT / "python"


class InstallLibraries(build_ext):
    """Configure, build and install with CMake.

    The build folder is kept between installs, so that what has not changed is not compiled again.
    The environment variable `CMAKE_ARGS` has further arguments for the configuration.
    """

    solver_alone = False

    def run(self) -> None:
        build = ROOT / "build" / sysconfig.get_platform()
        prefix = Path(PYTHON_FOLDER if self._is_in_place() else self.build_lib).resolve()
        configure = [
            *("-S", str(ROOT), "-B", str(build), "-G", "Ninja"),
            # Given each time: an isolated build has them in a folder that is gone at the next.
            f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_BUILD_TYPE={'Debug' if self.debug else 'Release'}",
            f"-DUSMP_SOLVER_ALONE={'ON' if self.solver_alone else 'OFF'}",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        build.mkdir(parents=True, exist_ok=True)
        # Two builds at a time would delete each other's files.
        with (build / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _run_cmake(*configure)
            _run_cmake("--build", str(build), *([f"-j{self.parallel}"] if self.parallel else []))
            _run_cmake("--install", str(build), "--prefix", str(prefix))

    def _is_in_place(self) -> bool:
        return bool(self.editable_mode or self.inplace)

    # CMake knows the files that it installs; these answers only tell setuptools of no others.
    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class CopyModules(build_py):
    """Copy the Python files, without those of an earlier build that exist no longer."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class AnyPythonWheel(bdist_wheel):
    """A wheel for one platform and every Python 3."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def _run_cmake(*arguments: str) -> None:
    # Flushed, so that what CMake prints comes after what setuptools has printed.
    print("cmake", shlex.join(arguments), flush=True)
    subprocess.run([_tool("cmake"), *arguments], check=True)


def _tool(name: str) -> str:
    """A program that a wheel brings: on the path in isolated builds, else beside this Python."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")])
    found = shutil.which(name, path=path)
    if found is None:
        sys.exit(f"the build needs {name}. Try: {sys.executable} -m pip install {name}")
    return found
