"""Files of an archive, in a folder."""

from __future__ import annotations

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
