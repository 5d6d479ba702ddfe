"""The distribution of this package, and the requirements of its extras.

The distribution is named `tvm-usmp`, because `usmp` on PyPI is another project.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tvm.runtime import Module

NAME = "tvm-usmp"

EXTRAS = {
    "onnx": "onnx>=1.23,<1.24",
    "torch": "torch>=2.13",
    "executorch": "executorch>=1.5,<1.6",
    "explore": "dask[distributed]",
    "report": "vl-convert-python>=1.9",
    "serial": "pyserial",
}
"""The requirement of each extra."""


def install_command(extra: str) -> str:
    """Return a shell command that installs the requirement of `extra` into this environment.

    The command names the requirement, not the extra, so that it works for any source of usmp.
    """
    return shlex.join([sys.executable, "-m", "pip", "install", EXTRAS[extra]])


def load_library(name: str) -> Module:
    """Load a C++ library of this package; it needs tvm-ffi, but not TVM."""
    from tvm_ffi.libinfo import load_lib_module

    folders = [Path(folder) for folder in sys.modules["usmp"].__path__]
    return load_lib_module(NAME, name, extra_lib_paths=folders)
