"""`usmp.import_model`: which files are read at all."""

from __future__ import annotations

import sys

import pytest

import usmp
from support import onnx_models
from support.tflite_file import one_operator_model


def message_of(path) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.import_model(path)
    return str(error.value)


@pytest.mark.parametrize("as_type", [str, lambda path: path], ids=["str", "path"])
@pytest.mark.parametrize("name", ["model.tflite", "MODEL.TFLITE"])
def test_file_is_imported(tmp_path, name, as_type):
    path = tmp_path / name
    path.write_bytes(one_operator_model())
    mod = usmp.import_model(as_type(path))
    assert [str(name) for name in mod["main"].attrs["output_names"]] == ["y"]
    assert [param.name for param in mod["main"].params] == ["x"]


@pytest.mark.parametrize(("name", "ending"), [("model.nope", ".nope"), ("model", "")])
def test_unknown_format(tmp_path, name, ending):
    path = tmp_path / name
    path.write_bytes(one_operator_model())
    assert message_of(path) == (
        f'{path}: unknown model format "{ending}". Formats: .tflite, .onnx, .pt2'
    )


def test_what_is_no_model(tmp_path):
    assert message_of(tmp_path) == f"{tmp_path}: a folder, not a model"
    path = tmp_path / "model.tar"
    path.write_bytes(b"")
    assert message_of(path) == (
        f"{path}: an archive, not a model; tvmc run, plan and info read archives"
    )


def test_onnx_file_is_imported(tmp_path):
    path = tmp_path / "model.ONNX"
    path.write_bytes(onnx_models.small_model())
    mod = usmp.import_model(path)
    assert [str(name) for name in mod["main"].attrs["output_names"]] == ["y"]
    assert [param.name for param in mod["main"].params] == ["x"]


@pytest.mark.parametrize(
    ("ending", "package", "requirement"),
    [(".onnx", "onnx", "'onnx>=1.23,<1.24'"), (".pt2", "torch", "'torch>=2.13'")],
)
def test_package_that_is_not_installed(tmp_path, monkeypatch, ending, package, requirement):
    path = tmp_path / f"model{ending}"
    path.write_bytes(b"x")
    for name in [
        name
        for name in sys.modules
        if name.startswith(("usmp.frontend.onnx", "usmp.frontend.pytorch"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert message_of(path) == (
        f"{path}: the package {package} is needed to read {ending} files; "
        f"install it with: {sys.executable} -m pip install {requirement}"
    )


def test_missing_file(tmp_path):
    path = tmp_path / "no.tflite"
    assert message_of(path) == f"{path}: No such file or directory"


def test_a_model_that_is_no_file():
    with pytest.raises(TypeError) as error:
        usmp.import_model(object())
    assert str(error.value) == (
        "a model is the path of a file, not object; write it to a file, as "
        "onnx.save(model, path) and torch.export.save(program, path) do"
    )


def test_folder(tmp_path):
    path = tmp_path / "folder.tflite"
    path.mkdir()
    assert message_of(path) == f"{path}: Is a directory"


def test_empty_file(tmp_path):
    path = tmp_path / "empty.tflite"
    path.write_bytes(b"")
    assert message_of(path) == f"{path}: the file is empty"


def test_error_of_an_importer_names_the_file(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"something else")
    assert message_of(path).startswith(f"{path}: not a TFLite model: ")
