"""Reading and writing of the members of a `.pt2` file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Mapping

from usmp.support.errors import UnsupportedModelError
from usmp.support.text.one_line import one_line
from usmp.tvm018.model_formats import EXPORT_MODULE


def read_members(content: bytes) -> dict[str, bytes]:
    """Return the members by name, without their common folder.

    Raises
    ------
    UnsupportedModelError
        the content is no `.pt2` file, or damaged, or its members are larger than the file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_entries(entries, len(content))
            return {_without_folder(entry.filename): archive.read(entry) for entry in entries}
    except UnsupportedModelError:
        raise
    except Exception as error:
        # A damaged archive makes zipfile raise many kinds of exceptions.
        raise damaged(one_line(error)) from error


def damaged(reason: str) -> UnsupportedModelError:
    """Return the error for a damaged file."""
    return UnsupportedModelError(
        f"not a program that torch.export.save wrote, or a damaged one: {reason}"
    )


def _check_format(names: Collection[str]) -> None:
    """Raise UnsupportedModelError for files that PyTorch writes in other ways."""
    if "archive_format" not in names and "data.pkl" in names:
        writer = "torch.jit.save" if "constants.pkl" in names else "torch.save"
        raise UnsupportedModelError(f"a file of {writer}, which is no program; {EXPORT_MODULE}")


def _without_folder(name: str) -> str:
    return name.partition("/")[2]


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    names = [_without_folder(entry.filename) for entry in entries]
    _check_format(names)
    folders = {entry.filename.partition("/")[0] for entry in entries}
    if len(folders) != 1 or len(set(names)) != len(names):
        raise damaged("its members are not in one folder, or one of them is there twice")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED:
            raise damaged(f"its member {entry.filename!r} is compressed")
    stored = sum(entry.file_size for entry in entries)
    if stored > size:
        raise damaged(f"its members claim {stored} bytes, and it has {size}")


def write_members(members: Mapping[str, bytes]) -> bytes:
    """Return a file of the members in PyTorch's format."""
    from torch.export.pt2_archive import PT2ArchiveWriter

    file = io.BytesIO()
    with PT2ArchiveWriter(file) as writer:
        for name, content in members.items():
            writer.write_bytes(name, content)
    return file.getvalue()
