"""Reading a Model Library Format archive back."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import tarfile
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import usmp
from support.archives import message_of, relu_archive, write_tar
from support.library_files import library_files
from support.tflite_file import one_operator_model
from usmp.runtime import ArchiveError
from usmp.runtime.archived import read_tar
from usmp.support.text.plain_text import shown


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    return relu_archive(tmp_path_factory.mktemp("archive"))


@pytest.mark.cc
def test_archive_runs(archive):
    loaded = usmp.load_archive(archive)
    x = np.array([[-1, 2, -3, 4]], np.float32)
    np.testing.assert_array_equal(loaded.load().run({"x": x})["y"], [[0, 2, 0, 4]])


def test_archive_holds_the_files(archive):
    assert sorted(usmp.load_archive(archive).files) == sorted(
        [
            "codegen/host/include/tvmgen_default.h",
            "codegen/host/src/default_lib0.c",
            "metadata.json",
            "src/default.tir",
            *library_files("default"),
        ]
    )


def test_missing(tmp_path):
    assert message_of(tmp_path / "no.tar") == "No such file or directory"


def test_folder(tmp_path):
    assert message_of(tmp_path) == "Is a directory"


@pytest.mark.parametrize("content", [b"", b"text" * 1000, b"\0" * 1024], ids=["empty", "text", "0"])
def test_no_archive(tmp_path, content):
    path = tmp_path / "model.tar"
    path.write_bytes(content)
    assert message_of(path) in (
        "not a tar archive, or a damaged one",
        "not a Model Library Format archive: no metadata.json",
    )


def test_archive_without_metadata(tmp_path):
    path = write_tar(tmp_path / "model.tar", {"./readme": b"x"})
    assert message_of(path) == "not a Model Library Format archive: no metadata.json"


@pytest.mark.parametrize(("ending", "what"), [(".h", "header"), (".c", "source")])
def test_archive_without_c(archive, tmp_path, ending, what):
    files = {n: c for n, c in usmp.load_archive(archive).files.items() if not n.endswith(ending)}
    path = write_tar(tmp_path / "model.tar", files)
    assert message_of(path) == (
        f'not an archive of C code: no {what} of module "default" in codegen/'
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil.c", "which lies outside of its folder"),
        ("/evil.c", "which lies outside of its folder"),
        ("a/../../evil.c", "which lies outside of its folder"),
        ("codegen/..", "which lies outside of its folder"),
        ("a\\b.c", "a name that no file can have everywhere"),
        ("C:/x.c", "a name that no file can have everywhere"),
        ("a\nb.c", "a name that no file can have everywhere"),
        ("\u202ea.c", "a name that no file can have everywhere"),
        (".", "a name that no file can have everywhere"),
        ("n" * 256, "a name that no file can have everywhere"),
        ("n/" * 2100 + "n", "a name that no file can have everywhere"),
    ],
)
def test_files_with_other_paths_are_refused(archive, tmp_path, name, reason):
    files = usmp.load_archive(archive).files
    path = write_tar(tmp_path / "model.tar", {**files, name: b"x"})
    assert message_of(path) == f'the archive holds "{shown(name)}", {reason}'
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.tar"]


@pytest.mark.parametrize("again", ["metadata.json", "./metadata.json", "codegen//../metadata.json"])
def test_files_that_are_there_twice(archive, tmp_path, again):
    path = write_tar(tmp_path / "model.tar", usmp.load_archive(archive).files)
    appended(path, tarfile.TarInfo(again))
    assert message_of(path) == (
        'the archive holds "codegen//../metadata.json", which lies outside of its folder'
        if ".." in again
        else 'the archive holds "metadata.json" twice'
    )


def test_folders_are_passed_over(archive, tmp_path):
    files = usmp.load_archive(archive).files
    path = write_tar(tmp_path / "model.tar", files)
    for name in (".", "./codegen", "empty"):
        entry = tarfile.TarInfo(name)
        entry.type = tarfile.DIRTYPE
        appended(path, entry)
    assert usmp.load_archive(path).files == files


def appended(path: Path, entry: tarfile.TarInfo) -> None:
    """Add a member without content."""
    with tarfile.open(path, "a", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(entry)


def test_file_that_is_a_folder_too(archive, tmp_path):
    files = usmp.load_archive(archive).files
    path = write_tar(tmp_path / "model.tar", {**files, "project": b"x", "project/a/b.c": b"y"})
    assert message_of(path) == "the archive is damaged: project is a file and a folder"


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
    ],
)
@pytest.mark.parametrize("target", ["/etc/passwd", "metadata.json", "../x"])
def test_links_and_devices_are_refused(archive, tmp_path, kind, what, target):
    path = write_tar(tmp_path / "model.tar", usmp.load_archive(archive).files)
    entry = tarfile.TarInfo("codegen/link.c")
    entry.type, entry.linkname = kind, target
    appended(path, entry)
    assert message_of(path) == f'the archive holds "codegen/link.c", which is {what}'


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**50)},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 19},
        {"GNU.sparse.numblocks": "1", "GNU.sparse.offset": "0"},
    ],
)
def test_sparse_files(archive, tmp_path, headers):
    """Read as the first says, it would fill the memory; the second never ends."""
    path = write_tar(tmp_path / "model.tar", usmp.load_archive(archive).files)
    entry = tarfile.TarInfo("huge")
    entry.pax_headers = headers
    appended(path, entry)
    assert message_of(path) == "the archive holds a sparse file"


def test_sparse_file_of_the_old_format(archive, tmp_path):
    path = write_tar(tmp_path / "model.tar", usmp.load_archive(archive).files)
    entry = tarfile.TarInfo("huge")
    entry.type = tarfile.GNUTYPE_SPARSE
    appended(path, entry)
    assert message_of(path) == "the archive holds a sparse file"


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ({"comment": "x" * 2**17}, "an extended header is too long"),
        ({"comment": "9" * 50_000}, "a number in a header is too long"),
    ],
)
def test_extended_headers_that_take_long(archive, tmp_path, headers, what):
    path = write_tar(tmp_path / "model.tar", usmp.load_archive(archive).files)
    entry = tarfile.TarInfo("x")
    entry.pax_headers = headers
    appended(path, entry)
    assert message_of(path) == f"the archive is damaged: {what}"


@pytest.mark.slow
def test_very_many_files(archive, tmp_path):
    files = usmp.load_archive(archive).files
    path = write_tar(tmp_path / "model.tar", {**files, **{f"{n}.c": b"" for n in range(10_000)}})
    assert message_of(path) == "the archive has more than 10000 files"


def test_a_file_larger_than_any_archive(archive, tmp_path):
    path = tmp_path / "model.tar"
    with path.open("wb") as file:
        file.write(archive.read_bytes())
        file.truncate(2**32 + 1)
    assert message_of(path) == (
        "the file has 4294967297 bytes or more; an archive may have 4294967296 at most"
    )


def gzip_like_a_header(content: bytes) -> bytes:
    """A gzip file whose first block has a signed sum of 0, which tar takes for its checksum."""
    file = bytearray(gzip.compress(content, mtime=0))
    for time in itertools.count():
        file[4:8] = time.to_bytes(4, "little")
        if 0 in tarfile.calc_chksums(bytes(file[:512]).ljust(512, b"\0")):
            return bytes(file)
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", bytes(10**7)], ids=["empty", "zeros"])
@pytest.mark.parametrize("compress", [gzip_like_a_header, bz2.compress, lzma.compress])
def test_compressed_archives_are_not_expanded(tmp_path, compress, content):
    path = tmp_path / "model.tar"
    path.write_bytes(compress(content))
    assert message_of(path) == "not a tar archive, but a compressed file; decompress it first"


def test_a_device():
    assert message_of(Path("/dev/zero")) == "neither a file nor a pipe"


def test_a_pipe(archive, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=[archive.read_bytes()])
    writer.start()
    assert usmp.load_archive(tmp_path / "pipe").files == usmp.load_archive(archive).files
    writer.join()


def test_a_pipe_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(read_tar, "LARGEST_ARCHIVE_BYTES", 1000)
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=[bytes(1001)])
    writer.start()
    assert message_of(tmp_path / "pipe") == (
        "the file has 1001 bytes or more; an archive may have 1000 at most"
    )
    writer.join()


def test_files_behind_a_damaged_header(archive, tmp_path):
    """tarfile would end there without a word."""
    content = bytearray(archive.read_bytes())
    content[content.index(b"./src/default.tir") + 148] ^= 1
    path = tmp_path / "model.tar"
    path.write_bytes(content)
    assert message_of(path) == "not a tar archive, or a damaged one"


def test_model_in_the_place_of_an_archive(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(one_operator_model())
    assert message_of(path) == "a model, not an archive; compile it first, with tvmc compile"


def test_an_archive_is_shown_in_short(archive):
    assert len(repr(usmp.load_archive(archive))) < 2000


def test_extract_writes_the_files(archive, tmp_path):
    loaded = usmp.load_archive(archive)
    loaded.extract(tmp_path / "new/folder")
    assert files_under(tmp_path / "new/folder") == loaded.files


def files_under(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_extract_replaces_older_files_and_leaves_others(archive, tmp_path):
    (tmp_path / "metadata.json").write_text("older")
    (tmp_path / "main.c").write_text("mine")
    loaded = usmp.load_archive(archive)
    loaded.extract(tmp_path)
    assert files_under(tmp_path) == {**loaded.files, "main.c": b"mine"}


def test_extract_does_not_follow_links_out(archive, tmp_path):
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "codegen").symlink_to(tmp_path / "outside")
    with pytest.raises(ArchiveError) as error:
        usmp.load_archive(archive).extract(folder)
    assert str(error.value) == (
        f"{folder}/codegen/host/include/tvmgen_default.h: a link leads out of {folder}; remove it"
    )
    assert files_under(folder) == {}
    assert list((tmp_path / "outside").iterdir()) == []


def test_extract_where_a_file_is_in_the_way(archive, tmp_path):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(OSError, match="File exists"):
        usmp.load_archive(archive).extract(tmp_path / "folder")
