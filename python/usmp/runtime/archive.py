"""Read a Model Library Format archive back."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usmp.runtime.host import HostModule

_METADATA_FILE = "metadata.json"


class ArchiveError(ValueError):
    """The file is not an archive that `tvmc compile` wrote; the message says why."""


@dataclass(frozen=True)
class Archive:
    """The content of an archive.

    Parameters
    ----------
    files: path -> content.
    metadata: the parsed metadata.json.
    """

    files: dict[str, bytes]
    metadata: dict[str, Any]

    def load(self) -> HostModule:
        """Build the model for this host and load it."""
        modules = self.metadata["modules"]
        return HostModule(self.files, next(iter(modules.values())))


def load_archive(path: str | Path) -> Archive:
    """Read the archive at `path`.

    Raises
    ------
    ArchiveError: the file is missing, damaged, or no Model Library Format archive.
    """
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.isfile() else None
                name = entry.name.removeprefix("./")
                if content is not None and _is_inside(name):
                    files[name] = content.read()
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror or error}") from error
    except (tarfile.TarError, EOFError) as error:
        raise ArchiveError(f"{path}: not a tar archive ({error})") from error
    if _METADATA_FILE not in files:
        raise ArchiveError(f"{path}: not a Model Library Format archive: no {_METADATA_FILE}")
    try:
        metadata = json.loads(files[_METADATA_FILE])
        for module in metadata["modules"].values():
            assert module["memory"]["functions"]["main"][0]["inputs"] is not None
            assert module["memory"]["pools"] is not None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError) as error:
        raise ArchiveError(f"{path}: {_METADATA_FILE} is damaged ({error!r})") from error
    return Archive(files, metadata)


def _is_inside(name: str) -> bool:
    """Whether the path stays inside the folder that the archive is unpacked to."""
    return not name.startswith("/") and ".." not in Path(name).parts
