"""Where the C++ headers of the solver are."""

from __future__ import annotations

import sys
from pathlib import Path


def get_include() -> str:
    """The folder to be given to a C++ compiler with ``-I``.

    ``usmp_solver/solver.h`` needs nothing but C++17: with it, and with
    ``../lib/libusmp_solver.a`` beside this folder, other compilers place their own buffers.

    Raises
    ------
    FileNotFoundError
        The package was installed without its headers.
    """
    folders = [Path(folder) / "include" for folder in sys.modules["usmp_solver"].__path__]
    for folder in folders:
        if (folder / "usmp_solver/solver.h").exists():
            return str(folder)
    raise FileNotFoundError(f"usmp_solver/solver.h is in none of {', '.join(map(str, folders))}")
