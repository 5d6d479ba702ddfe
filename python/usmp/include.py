"""The location of the C++ headers of buffers and plans."""

from __future__ import annotations

import sys
from pathlib import Path


def get_include() -> str:
    """Return the include folder of the C++ headers, for ``-I``.

    ``usmp/objects.h`` is for algorithms in C++, and needs the headers of tvm-ffi. The headers of
    the solver are in the folder that `usmp_solver.get_include` returns.

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
