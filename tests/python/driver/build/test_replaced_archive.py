"""`tvmc compile` over the archive of another model: a note, which no file makes fail or slow."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tarfile
from pathlib import Path

import pytest

import usmp
from support.tflite_file import one_operator_model
from usmp.codegen.model_library_format import tar_of
from usmp.driver.build.replaced_archive import archived_model_files
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime.archive import load_archive

U2 = """
    tvmc compile my_model_{number}.tflite
    --executor=aot
    --output-format=mlf
    --target=accel,c
    --usmp-workspace-pools=sram
    --usmp-workspace-pool-sram= "target=c:rw,accel:rw"
"""
HOW = (
    "to keep both, and to link both into one program, name archive and C symbols: "
    "-o NAME.tar --module-name NAME"
)


def archive(path: str, *files: object, member: str = "metadata.json") -> str:
    """Write an archive whose modules are from these files."""
    modules = {f"m{n}": {"model_files": names} for n, names in enumerate(files)}
    Path(path).write_bytes(tar_of({member: json.dumps({"modules": modules}).encode()}))
    return path


@pytest.mark.slow
def test_use_case_u2_as_printed(tvmc, small_model):
    """Two commands without a name, as in TVM's RFC 0009, the second one twice."""
    lines = [U2.format(number=number) for number in (1, 2, 2)]
    for number in (1, 2):
        shutil.copy(small_model, f"my_model_{number}.tflite")
    outcomes = [tvmc(*shlex.split(line)[1:]) for line in lines]
    assert [outcome.status for outcome in outcomes] == [0, 0, 0]
    note = f"tvmc: module.tar held my_model_1.tflite and now holds my_model_2.tflite; {HOW}\n"
    unused = "tvmc: note: no operator is taken by target accel: no patterns are registered for it\n"
    assert [outcome.stderr for outcome in outcomes] == [unused, note + unused, unused]
    assert sorted(os.listdir()) == ["module.tar", "my_model_1.tflite", "my_model_2.tflite"]
    (module,) = load_archive("module.tar").modules.values()
    assert module.metadata["model_files"] == ["my_model_2.tflite"]
    assert module.c_prefix == "tvmgen_default"


def test_names_that_would_control_the_terminal(tvmc, small_model):
    archive("a.tar", ["b\x1b[31m.tflite", "c\n.onnx"], ["d.onnx"])
    outcome = tvmc("compile", small_model, "-o", "a.tar", "--quiet")
    assert (outcome.status, outcome.stdout) == (0, "")
    before = r"b\x1b[31m.tflite, c\n.onnx, d.onnx"
    assert outcome.stderr == f"tvmc: a.tar held {before} and now holds small.tflite; {HOW}\n"


@pytest.mark.slow
def test_the_files_of_several_models(tvmc, small_model):
    shutil.copy(small_model, "other.tflite")
    archive("a.tar", ["other.tflite"], ["small.tflite"])
    outcome = tvmc("compile", small_model, "again=other.tflite", "-o", "a.tar", "--quiet")
    assert (outcome.status, outcome.stderr) == (0, "")
    (module,) = load_archive("a.tar").modules.values()
    assert module.metadata["model_files"] == ["small.tflite", "other.tflite"]


def test_what_is_built_in_python(small_model):
    def model_files(mod: object) -> object:
        return usmp.build(mod).metadata["modules"]["default"].get("model_files")

    assert model_files(small_model) == model_files([str(small_model)]) == ["small.tflite"]
    assert model_files(import_tflite(one_operator_model())) is None


def test_a_name_that_is_no_unicode(tvmc, small_model):
    shutil.copy(small_model, b'\xff".tflite')
    assert tvmc("compile", os.fsdecode(b'\xff".tflite')).status == 0
    assert archived_model_files("module.tar") == ['\ufffd".tflite']


def _truncated(path: str) -> None:
    archive(path, ["a.tflite"])
    Path(path).write_bytes(Path(path).read_bytes()[:540])


def _linked(path: str) -> None:
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("./metadata.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)


def _of_text(text: str):
    return lambda path: Path(path).write_bytes(tar_of({"metadata.json": text.encode()}))


def _sparse(header: bytes):
    """A file of 1 TiB that takes no room on the disk."""

    def write(path: str) -> None:
        Path(path).write_bytes(header)
        os.truncate(path, 2**40)

    return write


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


OTHERS = {
    "nothing": lambda path: None,
    "folder": os.mkdir,
    "pipe": os.mkfifo,
    "empty file": lambda path: Path(path).write_bytes(b""),
    "text": lambda path: Path(path).write_text("a file of the user\n" * 100),
    "truncated": _truncated,
    "link": _linked,
    "no metadata": lambda path: archive(path, ["a.tflite"], member="other.json"),
    "no JSON": _of_text('"model_files"'),
    "JSON without end": _of_text('{"model_files":' * 100_000),
    "no modules": _of_text('{"model_files": []}'),
    "modules that are none": _of_text('{"modules": {"a": ["model_files"]}}'),
    "names that are none": lambda path: archive(path, [1, {"a": "b"}]),
    "one name": lambda path: archive(path, 1),
    "zeros": _sparse(b""),
    "large metadata": _sparse(_header("./metadata.json", 2**39)),
    "negative size": _sparse(_header("./a", -(2**39))),
    "large member": _sparse(_header("./a", 2**70)),
    "headers": lambda path: Path(path).write_bytes(_header("./a", 0) * 12_000),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_archive_of_another_model(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    OTHERS[kind]("module.tar")
    assert archived_model_files("module.tar") == []


def test_a_header_of_another_size_is_not_followed_for_ever(tmp_path):
    """After a member of 1 TiB comes the metadata, which is found without reading the member."""
    path = tmp_path / "a.tar"
    with open(path, "wb") as file:
        file.write(_header("./a", 2**40))
        file.seek(2**40, os.SEEK_CUR)
        file.write(Path(archive(str(tmp_path / "b.tar"), ["a.tflite"])).read_bytes())
    assert archived_model_files(str(path)) == ["a.tflite"]
