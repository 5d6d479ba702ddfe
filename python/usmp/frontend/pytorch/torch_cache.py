"""PyTorch without the folder that it makes for kernels, of which reading a model needs none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from usmp.support.temporary_folder import temporary_folder

_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


@contextmanager
def without_torch_cache() -> Iterator[None]:
    """Inside, PyTorch makes no folder that stays; one that the user names is used as ever."""
    if _FOLDER in os.environ:
        yield
        return
    with temporary_folder() as folder:
        os.environ[_FOLDER] = str(folder)
        try:
            yield
        finally:
            # PyTorch may have set it too.
            del os.environ[_FOLDER]
