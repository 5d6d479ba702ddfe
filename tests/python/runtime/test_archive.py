"""Reading a Model Library Format archive back."""

from __future__ import annotations

import copy
import io
import json
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest

import usmp
from tflite_file import one_operator_model
from usmp.runtime import ArchiveError


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    (folder / "relu.tflite").write_bytes(one_operator_model())
    factory = usmp.build(usmp.import_model(folder / "relu.tflite"))
    factory.export_model_library_format(folder / "relu.tar")
    return folder / "relu.tar"


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def message_of(path: Path) -> str:
    with pytest.raises(ArchiveError) as error:
        usmp.load_archive(path)
    prefix = f"{path}: "
    assert str(error.value).startswith(prefix)
    return str(error.value).removeprefix(prefix)


def test_archive_runs(archive):
    loaded = usmp.load_archive(archive)
    x = np.array([[-1, 2, -3, 4]], np.float32)
    np.testing.assert_array_equal(loaded.load().run({"x": x})["y"], [[0, 2, 0, 4]])


def test_archive_holds_the_files(archive):
    assert sorted(usmp.load_archive(archive).files) == [
        "codegen/host/include/tvmgen_default.h",
        "codegen/host/src/default_lib0.c",
        "metadata.json",
        "src/default.tir",
    ]


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
    assert message_of(path) == f"not an archive of C code: no {what} in codegen/"


def test_files_outside_the_archive_are_left_out(archive, tmp_path):
    files = usmp.load_archive(archive).files
    outside = {"../evil.c": b"x", "/evil.c": b"x", "a/../../evil.c": b"x"}
    path = write_tar(tmp_path / "model.tar", {**files, **outside})
    assert usmp.load_archive(path).files == files


def test_truncated(archive, tmp_path):
    content = archive.read_bytes()
    end_of_data = len(content.rstrip(b"\0"))
    for size in range(0, end_of_data, 97):
        path = tmp_path / "model.tar"
        path.write_bytes(content[:size])
        assert message_of(path) in (
            "not a tar archive, or a damaged one",
            "the archive is truncated; copy or compile it again",
        )


def test_mutated_archive_is_read_or_refused(archive, tmp_path):
    good, generator = archive.read_bytes(), random.Random(0)
    path = tmp_path / "model.tar"
    refused = 0
    for _ in range(300):
        content = bytearray(good)
        for _ in range(generator.choice([1, 20])):
            content[generator.randrange(len(content))] = generator.randrange(256)
        path.write_bytes(content)
        try:
            usmp.load_archive(path)
        except ArchiveError:
            refused += 1
    assert refused > 0


def edited(metadata: dict, steps: str, value: object) -> dict:
    """`metadata` with the entry at the path `steps` replaced, or removed if `value` is None."""
    metadata = copy.deepcopy(metadata)
    *parents, last = [int(step) if step.isdigit() else step for step in steps.split("/")]
    target = metadata
    for step in parents:
        target = target[step]
    if value is None:
        del target[last]
    else:
        target[last] = value
    return metadata


_MAIN = "modules/default/memory/functions/main"
_LACKS = 'module "default" lacks its inputs, outputs or pools'
_TENSOR = 'tensor "x" of module "default" has no valid shape and dtype'
_POOL = 'module "default" has a pool without valid name, kind or size'


@pytest.mark.parametrize(
    ("steps", "value", "fault"),
    [
        ("modules", None, 'it has no "modules"'),
        ("modules", {}, 'it has no "modules"'),
        ("modules", [1], 'it has no "modules"'),
        ("modules/default", 3, _LACKS),
        ("modules/default/memory", None, _LACKS),
        ("modules/default/memory/pools", None, _LACKS),
        ("modules/default/memory/pools", 5, _LACKS),
        (_MAIN, [], _LACKS),
        (f"{_MAIN}/0/inputs", None, _LACKS),
        (f"{_MAIN}/0/inputs", [], _LACKS),
        (f"{_MAIN}/0/outputs", "y", _LACKS),
        ("modules/default/model_name", None, 'module "default" has no "model_name"'),
        (f"{_MAIN}/0/inputs/x/shape", None, _TENSOR),
        (f"{_MAIN}/0/inputs/x/shape", [1, -4], _TENSOR),
        (f"{_MAIN}/0/inputs/x/shape", [1, "4"], _TENSOR),
        (f"{_MAIN}/0/inputs/x/dtype", "object", _TENSOR),
        (f"{_MAIN}/0/inputs/x", 1, _TENSOR),
        ("modules/default/memory/pools", [{}], _POOL),
        ("modules/default/memory/pools", [3], _POOL),
    ],
)
def test_metadata_of_the_wrong_shape(archive, tmp_path, steps, value, fault):
    files = usmp.load_archive(archive).files
    metadata = edited(json.loads(files["metadata.json"]), steps, value)
    files["metadata.json"] = json.dumps(metadata).encode()
    path = write_tar(tmp_path / "model.tar", files)
    assert message_of(path) == f"metadata.json is damaged: {fault}"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100000])
def test_metadata_that_is_no_json(archive, tmp_path, content):
    files = {**usmp.load_archive(archive).files, "metadata.json": content}
    path = write_tar(tmp_path / "model.tar", files)
    assert message_of(path) == "metadata.json is damaged: it is not JSON"
