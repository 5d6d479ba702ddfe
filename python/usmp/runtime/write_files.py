"""Write the files of an archive to a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(files: Mapping[str, bytes], directory: Path) -> list[Path]:
    """Write files below `directory`, and return their paths.

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
            # Add the path, which the error of a full disk lacks.
            raise OSError(error.errno, error.strerror, str(path)) from error
    return paths


def replace_files(files: Mapping[str, bytes], directory: Path) -> None:
    """Write files below an existing `directory`, and replace files of the same paths.

    Raises
    ------
    OSError
        a file cannot be written; all files are unchanged, unless a final renaming failed.
    """
    with tempfile.TemporaryDirectory(dir=directory, prefix=".usmp-") as waiting:
        for path, name in zip(write_files(files, Path(waiting)), files, strict=True):
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
