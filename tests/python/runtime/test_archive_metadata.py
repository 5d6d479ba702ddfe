"""Reading the metadata of a Model Library Format archive back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import usmp
from support.archives import attention_archive, edited, message_of, relu_archive, write_tar


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    return relu_archive(tmp_path_factory.mktemp("archive"))


def test_archive_of_another_version(archive, tmp_path):
    files = usmp.load_archive(archive).files
    metadata = edited(json.loads(files["metadata.json"]), "version", 8)
    files["metadata.json"] = json.dumps(metadata).encode()
    assert message_of(write_tar(tmp_path / "model.tar", files)) == (
        "Model Library Format of version 8; this usmp reads version 7"
    )


TVM_MODULE = {
    "model_name": "default",
    "export_datetime": "2024-10-01 12:00:00Z",
    "memory": {
        "functions": {
            "main": [
                {
                    "device": 1,
                    "workspace_size_bytes": 64,
                    "constants_size_bytes": 0,
                    "io_size_bytes": 32,
                    "inputs": {"x": {"size": 16, "dtype": "float32"}},
                    "outputs": {"output": {"size": 16, "dtype": "float32"}},
                }
            ],
            "operator_functions": [],
        }
    },
    "target": ["c -keys=cpu"],
    "executors": ["aot"],
    "style": "full-model",
}


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"version": 7, "modules": {"default": TVM_MODULE}}, 'module "default" has no memory plan'),
        ({"version": 5, **TVM_MODULE}, "it has no modules"),
        ({"version": 7, **TVM_MODULE, "style": "operator", "memory": {}}, "it has no modules"),
    ],
    ids=["0.18", "0.8", "operator"],
)
def test_archive_that_tvm_wrote(tmp_path, metadata, why):
    files = {
        "metadata.json": json.dumps(metadata).encode(),
        "codegen/host/include/tvmgen_default.h": b"",
        "codegen/host/src/default_lib0.c": b"",
        "parameters/default.params": b"",
    }
    assert message_of(write_tar(tmp_path / "model.tar", files)) == (
        f"TVM itself wrote this archive ({why}), and usmp reads only its own; "
        "compile the model again with this tvmc"
    )


def _many_keys() -> bytes:
    """Of which to compare each with all others would take minutes."""
    keys = json.dumps({str(number): 0 for number in range(10**5)})
    return keys[:-1].encode() + b', "last": 0, "last": 0}'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"version": 7, "modules": {}, "version": 7}', 'it has "version" twice in one object'),
        (b'{"version": ' + b"9" * 10**6 + b"}", "it has a number of 1000000 digits"),
        (b'{"version": 1e999}', "it has the number 1e999"),
        (b'{"version": NaN}', "it has the number NaN"),
        (b'{"a\\u001b": 1, "a\\u001b": 2}', 'it has "a\\x1b" twice in one object'),
        (_many_keys, 'it has "last" twice in one object'),
    ],
    ids=["twice", "digits", "infinite", "nan", "escape", "many"],
)
def test_metadata_that_python_would_take(archive, tmp_path, content, why):
    content = content() if callable(content) else content
    files = {**usmp.load_archive(archive).files, "metadata.json": content}
    path = write_tar(tmp_path / "model.tar", files)
    assert message_of(path) == f"metadata.json is damaged: {why}"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100000, b'{"a":' * 100000])
def test_metadata_that_is_no_json(archive, tmp_path, content):
    content = content() if callable(content) else content
    files = {**usmp.load_archive(archive).files, "metadata.json": content}
    path = write_tar(tmp_path / "model.tar", files)
    assert message_of(path) == "metadata.json is damaged: it is not JSON"


@pytest.mark.slow
def test_module_is_chosen_by_name(tmp_path):
    archive, _ = attention_archive(tmp_path, "one", "two")
    assert archive.module("two").name == "two"
    with pytest.raises(ValueError) as error:
        archive.load()
    assert str(error.value) == ('the archive holds 2 modules; choose one by its name: "one", "two"')
    with pytest.raises(ValueError) as error:
        archive.module("three")
    assert str(error.value) == ('the archive holds no module "three". Its modules: one, two')
