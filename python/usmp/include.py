"""Where the C++ headers are, of plans and of the solver."""

from __future__ import annotations

import sys
from pathlib import Path


def get_include() -> str:
    """The folder of the C++ headers, to be given to a C++ compiler with ``-I``.

    ``usmp/objects.h`` is for algorithms in C++, and needs the headers of tvm-ffi.
    ``usmp_solver/solver.h`` needs nothing: with it, and with ``../lib/libusmp_solver.a`` beside
    this folder, other compilers place their own buffers.

    Raises
    ------
    FileNotFoundError
        The package was installed without its headers.
    """
    folders = [Path(folder) / "include" for folder in sys.modules["usmp"].__path__]
    for folder in folders:
        if (folder / "usmp/objects.h").exists():
            return str(folder)
    raise FileNotFoundError(f"usmp/objects.h is in none of {', '.join(map(str, folders))}")
