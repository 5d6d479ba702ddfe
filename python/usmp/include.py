"""Where the C++ headers of buffers and plans are."""

from __future__ import annotations

import sys
from pathlib import Path


def get_include() -> str:
    """The folder of the C++ headers, to be given to a C++ compiler with ``-I``.

    ``usmp/objects.h`` is for algorithms in C++, and needs the headers of tvm-ffi. Those of the
    solver by itself are in the folder of `usmp_solver.get_include`.

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
