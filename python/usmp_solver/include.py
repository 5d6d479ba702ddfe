"""The location of the C++ headers of the solver."""

from __future__ import annotations

import sys
from pathlib import Path


def get_include() -> str:
    """Return the include folder of the C++ headers, for ``-I``.

    Other compilers need only ``usmp_solver/solver.h``, C++17, and ``../lib/libusmp_solver.a``
    beside this folder to place their own buffers.

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
