"""Read the files of a tar archive, which may be damaged or malicious.

Nothing is written to disk, and the memory is limited by the size of the archive.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
from pathlib import Path, PurePosixPath

from usmp.plain.model_library_format import LARGEST_ARCHIVE_BYTES
from usmp.support.model_content import format_of_content
from usmp.support.text.plain_text import shown
from usmp.support.tvmc_exception import TVMCException

_MOST_MEMBERS = 10_000
_LARGEST_EXTENDED_HEADER_BYTES = 2**16
_LONGEST_FILE_NAME, _LONGEST_PATH = 255, 4095
"""Limits of Linux in bytes."""

_END_OF_TAR = bytes(2 * tarfile.BLOCKSIZE)
_COMPRESSED = rb"\x1f\x8b|BZh[1-9](?:1AY&SY|\x17rE8P\x90)|\xfd7zXZ"
"""First bytes of gzip, bzip2 and xz files. tarfile takes some for a header with checksum 0."""

_EXTENDED_HEADERS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class ArchiveError(TVMCException, ValueError):
    """A file is no archive of `tvmc compile`; the message has the reason."""


class MissingArchiveError(FileNotFoundError, ArchiveError):
    """A missing archive."""


def read_tar(path: str | Path) -> dict[str, bytes]:
    """Return the contents of the files in the archive at `path`, by path.

    Raises
    ------
    ArchiveError
        the file cannot be read or is too large, or see `files_of_tar`.
    """
    return files_of_tar(_content(Path(path)))


def files_of_tar(archived: bytes) -> dict[str, bytes]:
    """Return the contents of the files in a tar archive, by path.

    Raises
    ------
    ArchiveError
        the archive is damaged or no uncompressed tar archive; or a member is neither a file nor a
        folder, is repeated, or lies outside of the archive.
    """
    if re.match(_COMPRESSED, archived):
        raise ArchiveError("not a tar archive, but a compressed file; decompress it first")
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archived), mode="r:", tarinfo=_Member) as tar:
            for number, member in enumerate(tar):
                if number == _MOST_MEMBERS:
                    raise ArchiveError(f"the archive has more than {_MOST_MEMBERS} files")
                name = _checked_name(member)
                if member.isdir():
                    continue
                content = tar.extractfile(member)
                if content is None or name in files:
                    raise ArchiveError(f'the archive holds "{shown(name)}" twice')
                files[name] = content.read()
            end = tar.offset
    except ArchiveError:
        raise
    except Exception as error:
        # The fields of a damaged header can make tarfile raise almost anything.
        raise ArchiveError(_not_a_tar(archived)) from error
    if not archived.endswith(_END_OF_TAR):
        raise ArchiveError("the archive is truncated; copy or compile it again")
    if archived.count(0, end) < len(archived) - end:
        raise ArchiveError(_not_a_tar(archived))
    _check_folders(files)
    return files


def file_of_archive(path: str | Path, name: str, most_bytes: int) -> bytes | None:
    """Return a file of an archive of usmp, or None if it is missing, too large or unreadable.

    Besides the file, only headers are read, and only if `path` is a regular file. This is fast, and
    raises no errors for any `path`.

    Parameters
    ----------
    most_bytes
        largest size of the file, in bytes.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            for _ in range(_MOST_MEMBERS):
                block = file.read(tarfile.BLOCKSIZE)
                member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
                if member.name == f"./{name}" and member.isreg():
                    return file.read(member.size) if 0 <= member.size <= most_bytes else None
                file.seek(-(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE, os.SEEK_CUR)
    except (OSError, ValueError, OverflowError, tarfile.TarError):
        pass
    return None


def _content(path: Path) -> bytes:
    """Return the bytes of a file or pipe, unless it is too large."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
                raise ArchiveError("neither a file nor a pipe")
            # The size of a pipe is unknown until its end.
            content = b"" if _is_large(status.st_size) else file.read(LARGEST_ARCHIVE_BYTES + 1)
            size = max(status.st_size, len(content))
    except FileNotFoundError as error:
        raise MissingArchiveError(error.strerror) from error
    except OSError as error:
        raise ArchiveError(error.strerror or str(error)) from error
    if _is_large(size):
        raise ArchiveError(
            f"the file has {size} bytes or more; "
            f"an archive may have {LARGEST_ARCHIVE_BYTES} at most"
        )
    return content


def _is_large(size: int) -> bool:
    return size > LARGEST_ARCHIVE_BYTES


def _not_a_tar(archived: bytes) -> str:
    if format_of_content(archived):
        return "a model, not an archive; compile it first, with tvmc compile"
    return "not a tar archive, or a damaged one"


class _Member(tarfile.TarInfo):
    """A member whose headers tarfile reads in bounded time and memory.

    The header of a sparse file may claim any size, and take any time if damaged. Python before
    3.12.6 takes quadratic time for long numbers in extended headers (CVE-2024-6232).
    """

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _EXTENDED_HEADERS:
            if self.size > _LARGEST_EXTENDED_HEADER_BYTES:
                raise ArchiveError("the archive is damaged: an extended header is too long")
            assert tar.fileobj is not None
            start = tar.fileobj.tell()
            header = tar.fileobj.read(self.size)
            tar.fileobj.seek(start)
            if b"GNU.sparse" in header:
                raise ArchiveError("the archive holds a sparse file")
            if re.search(rb"[0-9]{20}", header):
                raise ArchiveError("the archive is damaged: a number in a header is too long")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise ArchiveError("the archive holds a sparse file")
        member: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return member


def _checked_name(member: tarfile.TarInfo) -> str:
    """Return the path of a member, which must be a file or a folder inside of the archive."""
    subject = f'the archive holds "{shown(member.name)}", '
    if not (member.isfile() or member.isdir()):
        raise ArchiveError(
            f"{subject}which is {_KINDS.get(member.type, 'neither file nor folder')}"
        )
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise ArchiveError(f"{subject}which lies outside of its folder")
    names = [part.encode("utf-8", "surrogatepass") for part in path.parts]
    if (
        not member.name.isprintable()
        or "\\" in member.name
        or (names and b":" in names[0])
        or (not names and not member.isdir())
        or max(map(len, names), default=0) > _LONGEST_FILE_NAME
        or sum(len(name) + 1 for name in names) > _LONGEST_PATH
    ):
        raise ArchiveError(f"{subject}a name that no file can have everywhere")
    return str(path)


def _check_folders(files: dict[str, bytes]) -> None:
    """Check that no path is both a file and a folder."""
    for name in files:
        for folder in PurePosixPath(name).parents:
            if str(folder) in files:
                raise ArchiveError(
                    f"the archive is damaged: {shown(folder)} is a file and a folder"
                )
