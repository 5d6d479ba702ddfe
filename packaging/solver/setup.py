"""Build `tvm-usmp-solver`: the package `usmp_solver` alone, from the sources of `tvm-usmp`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(FOLDER.parent))

from cmake_build import AnyPythonWheel, CopyModules, InstallLibraries  # noqa: E402


class InstallSolver(InstallLibraries):
    """A command that builds only the library without TVM."""

    solver_alone = True


# Read the version from `usmp`, the only place that defines it.
VERSION = re.search(r'^__version__ = "(.*)"', (ROOT / "python/usmp/__init__.py").read_text(), re.M)
(ROOT / "build").mkdir(exist_ok=True)

setup(
    version=VERSION[1],
    packages=find_packages(str(ROOT / "python"), include=["usmp_solver", "usmp_solver.*"]),
    package_dir={"": "../../python"},
    ext_modules=[Extension("usmp_solver.libusmp_solver", sources=[])],
    cmdclass={
        "bdist_wheel": AnyPythonWheel,
        "build_ext": InstallSolver,
        "build_py": CopyModules,
    },
    # Build outside of this folder.
    options={
        "build": {"build_base": str(ROOT / "build/solver")},
        "egg_info": {"egg_base": str(ROOT / "build")},
    },
)
