"""Files of an archive, in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(files: Mapping[str, bytes], directory: Path) -> list[Path]:
    """Write the files, path -> content, under `directory`; where they are.

    Raises
    ------
    OSError: a file cannot be written.
    """
    paths = [directory / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return paths
