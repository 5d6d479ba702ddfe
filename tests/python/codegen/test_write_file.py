"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from usmp.codegen.model_library_format import write_archive
from usmp.codegen.write_file import write_file


def test_archive_in_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_archive({"a": b"x"}, tmp_path / "missing/net.tar")
    assert os.listdir(tmp_path) == []


def test_file_in_place_of_an_older_one(tmp_path):
    write_file(tmp_path / "file", b"older")
    write_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["n" * 255, "\N{GREEK SMALL LETTER MU}" * 127, "\U0001f600" * 63])
def test_file_of_the_longest_name(tmp_path, name):
    write_file(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_told_by_the_files_own_path(tmp_path):
    path = tmp_path / "missing" / "model.tar"
    with pytest.raises(FileNotFoundError) as error:
        write_file(path, b"new")
    assert error.value.filename == str(path)


def test_the_umask_holds_and_is_never_changed(tmp_path, monkeypatch):
    """It is that of all threads, which may create files at that moment."""
    mask = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask of the process changes"))
        write_file(tmp_path / "file", b"new")
        monkeypatch.undo()
    finally:
        os.umask(mask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
