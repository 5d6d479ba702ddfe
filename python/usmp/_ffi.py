"""Loads the C++ extension, once: its objects, its algorithms and the ``tir.usmp.*`` options.

``tvm`` comes first, because the extension is linked against the libraries that it brings.
"""

from __future__ import annotations

from pathlib import Path

import tvm  # noqa: F401
from tvm_ffi.libinfo import load_lib_module

import usmp

LIBRARY = load_lib_module("usmp", "usmp")


def get_include() -> str:
    """The folder of ``usmp/objects.h``, for algorithms of the user's own in C++.

    Raises
    ------
    FileNotFoundError
        The package was installed without its header.
    """
    for folder in usmp.__path__:
        include = Path(folder) / "include"
        if (include / "usmp/objects.h").exists():
            return str(include)
    raise FileNotFoundError(f"no include/usmp/objects.h in {', '.join(usmp.__path__)}")
