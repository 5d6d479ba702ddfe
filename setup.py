"""Build `tvm-usmp`: setuptools packs the Python, CMake builds and installs the C++ libraries.

pyproject.toml has the static settings; `packaging/cmake_build.py` runs CMake.
"""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).resolve().parent / "packaging"))

from cmake_build import AnyPythonWheel, CopyModules, InstallLibraries

setup(
    # An extension without sources, so that setuptools knows that the wheel is for one platform.
    ext_modules=[Extension("usmp.libusmp", sources=[])],
    cmdclass={
        "bdist_wheel": AnyPythonWheel,
        "build_ext": InstallLibraries,
        "build_py": CopyModules,
    },
)
