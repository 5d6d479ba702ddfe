"""Use of PyTorch without its cache folder for kernels, which reading a model does not need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from usmp.support.process.temporary_folder import temporary_folder

_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


@contextmanager
def without_torch_cache() -> Iterator[None]:
    """Redirect PyTorch's cache to a temporary folder, unless the user names a folder."""
    if _FOLDER in os.environ:
        yield
        return
    with temporary_folder() as folder:
        os.environ[_FOLDER] = str(folder)
        try:
            yield
        finally:
            # Delete the variable even if PyTorch has changed it.
            del os.environ[_FOLDER]
