"""Where the C++ header for algorithms of the user's own is."""

from __future__ import annotations

import sys
from pathlib import Path


def get_include() -> str:
    """The folder of ``usmp/objects.h``, to be given to a C++ compiler with ``-I``.

    Raises
    ------
    FileNotFoundError
        The package was installed without its header.
    """
    folders = [Path(folder) / "include" for folder in sys.modules["usmp"].__path__]
    for folder in folders:
        if (folder / "usmp/objects.h").exists():
            return str(folder)
    raise FileNotFoundError(f"usmp/objects.h is in none of {', '.join(map(str, folders))}")
