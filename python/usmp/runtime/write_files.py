"""Files of an archive, in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(files: Mapping[str, bytes], directory: Path) -> list[Path]:
    """Write the files, path -> content, under `directory`; where they are.

    Raises
    ------
    OSError
        a file cannot be written.
    """
    paths = [directory / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.write_bytes(content)
        except OSError as error:
            # A disk that is full gives an error without a name.
            raise OSError(error.errno, error.strerror, str(path)) from error
    return paths


def replace_files(files: Mapping[str, bytes], directory: Path) -> None:
    """Write the files under `directory`, which is there, in the place of those of their names.

    Raises
    ------
    OSError
        a file cannot be written; then none was, but for a fault while they are renamed.
    """
    with tempfile.TemporaryDirectory(dir=directory, prefix=".usmp-") as waiting:
        for path, name in zip(write_files(files, Path(waiting)), files, strict=True):
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
