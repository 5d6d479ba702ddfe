"""`tvmc compile`: models of each format, and what is no model."""

from __future__ import annotations

import json
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from tflite import BuiltinOperator

from support import onnx_models
from support.tflite_file import one_operator_model
from usmp.frontend.pytorch.torch_cache import without_torch_cache

GOOD = b"an archive that must survive"


def metadata_of(archive: Path) -> dict:
    with tarfile.open(archive) as tar:
        return json.load(tar.extractfile("./metadata.json"))["modules"]


@pytest.fixture
def model_file(tmp_path):
    """A model file of the given content."""

    def write(content: bytes) -> Path:
        path = tmp_path / "model.tflite"
        path.write_bytes(content)
        return path

    return write


def test_missing_model(refused):
    assert refused("compile", "no.tflite") == "no.tflite: No such file or directory"


def test_folder_as_model(refused):
    Path("folder.tflite").mkdir()
    assert refused("compile", "folder.tflite") == "folder.tflite: Is a directory"


def test_empty_model(refused, model_file):
    path = model_file(b"")
    assert refused("compile", path) == f"{path}: the file is empty"


def test_model_of_unknown_format(refused):
    Path("model.pb").write_bytes(b"x")
    assert refused("compile", "model.pb") == (
        'model.pb: unknown model format ".pb". Formats: .tflite, .onnx, .pt2; convert the model '
        "to TFLite, as tf.lite.TFLiteConverter.from_saved_model(folder).convert() does"
    )


def test_onnx_model(tvmc):
    Path("small.onnx").write_bytes(onnx_models.small_model())
    outcome = tvmc("compile", "small.onnx", "-o", "out.tar")
    assert (outcome.status, outcome.stderr) == (0, "")
    (main,) = metadata_of(Path("out.tar"))["default"]["memory"]["functions"]["main"]
    assert main["inputs"].keys() == {"x"}


@pytest.mark.slow
def test_quantized_onnx_model(tvmc):
    """The summary counts what is computed in float."""
    graph = onnx_models.Graph()
    x = graph.through(graph.input("x", [1, 4]), 0.5)
    y = graph.through(graph.node("Div", x, graph.constant([[1, 2, 3, 4]], "float32")), 0.5)
    graph.node("Softmax", y, outputs=["y"])
    Path("half.onnx").write_bytes(graph.model("y"))
    outcome = tvmc("compile", "half.onnx", "-o", "out.tar")
    assert (outcome.status, outcome.stderr) == (0, "")
    expected = "2 operators of the quantized model are computed in float: divide (1), softmax (1)."
    assert expected in " ".join(outcome.stdout.split())
    assert metadata_of(Path("out.tar"))["default"]["float_operators"] == {"divide": 1, "softmax": 1}


def test_summary_of_integers_only_speaks_of_no_float(tvmc):
    graph = onnx_models.Graph()
    x = graph.through(graph.input("x", [1, 4]), 0.5)
    graph.rename(graph.through(graph.node("Relu", x), 0.5), "y")
    Path("whole.onnx").write_bytes(graph.model("y"))
    outcome = tvmc("compile", "whole.onnx", "-o", "out.tar")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "in float" not in " ".join(outcome.stdout.split())


@pytest.mark.slow
def test_damaged_onnx_model(refused):
    Path("small.onnx").write_bytes(onnx_models.small_model()[:-5])
    assert refused("compile", "small.onnx").startswith(
        "small.onnx: not an ONNX model, or a damaged one: "
    )


@pytest.mark.slow
def test_pytorch_model(tvmc, monkeypatch, tmp_path):
    # PyTorch keeps a folder of its own among the temporary files.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    models = pytest.importorskip("support.pytorch_models", exc_type=ImportError)
    model = models.seeded(models.Perceptron)
    Path("small.pt2").write_bytes(models.exported(model, models.example_of(model)))
    outcome = tvmc("compile", "small.pt2", "-o", "out.tar")
    assert (outcome.status, outcome.stderr) == (0, "")
    (main,) = metadata_of(Path("out.tar"))["default"]["memory"]["functions"]["main"]
    assert main["inputs"].keys() == {"features"}


def test_files_of_other_formats(refused):
    """By their content, before it is parsed."""
    Path("x.onnx").write_bytes(b"\x1c\0\0\0TFL3")
    assert refused("compile", "x.onnx") == (
        "x.onnx: the content looks like that of a .tflite file; if it is one, name it so"
    )
    refusal = "a model, not a build; compile it first, with tvmc compile"
    assert refused("diff", "x.onnx", "x.onnx") == f"x.onnx: {refusal}"
    for other, writer in (("constants.pkl", "torch.jit.save"), ("version", "torch.save")):
        with zipfile.ZipFile("x.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
            for member in ("data.pkl", other):
                archive.writestr(f"x/{member}", b"cos\nsystem\n.")
        assert refused("compile", "x.pt2").startswith(
            f"x.pt2: a file of {writer}, which is no program; export the module, as torch.export"
        )


@pytest.mark.slow
def test_damaged_pytorch_model(refused):
    models = pytest.importorskip("support.pytorch_models", exc_type=ImportError)
    model = models.seeded(models.Perceptron)
    with without_torch_cache():
        content = models.exported(model, models.example_of(model))
    Path("small.pt2").write_bytes(content[:-5])
    assert refused("compile", "small.pt2").startswith(
        "small.pt2: not a program that torch.export.save wrote, or a damaged one: "
    )


def test_random_model(refused, model_file):
    path = model_file(random.Random(0).randbytes(4096))
    assert refused("compile", path).startswith(f"{path}: not a TFLite model: bytes 4 to 7 are b'")


@pytest.mark.parametrize("part", [4, 8, 9, 20, 64, 1000, 20000, 32000, 34000, 36000, 36471])
def test_truncated_model(refused, model_file, digits_model, part):
    Path("module.tar").write_bytes(GOOD)
    path = model_file(digits_model.read_bytes()[:part])
    message = refused("compile", path)
    assert message.startswith(f"{path}: ")
    if 8 <= part <= 36000:
        assert "the file is damaged or truncated" in message


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (
            BuiltinOperator.CUSTOM,
            'operator 0 (CUSTOM "MyOperator", output "y"): it is a custom operator, and the file '
            "does not say what it computes; replace it by builtin operators, or end the model "
            "before it",
        ),
        (
            BuiltinOperator.CONV_3D,
            'operator 0 (CONV_3D, output "y"): its inputs are 1 instead of 2 to 3',
        ),
        (
            BuiltinOperator.LSH_PROJECTION,
            'operator 0 (LSH_PROJECTION, output "y"): not supported: it makes features of text, '
            "and programs without a runtime have no text; compute them in the application, and "
            "begin the model at numbers",
        ),
    ],
    ids=["custom", "in-conversion", "unsupported"],
)
def test_operator_that_cannot_be_imported(refused, model_file, operator, message):
    path = model_file(one_operator_model(operator=operator))
    assert refused("compile", path) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("shape", "signature", "shown", "instead"),
    [
        (
            (1, 4),
            (1, -1),
            "[1, -1]",
            "give the shape, with --input-shapes (in Python input_shapes), or ",
        ),
        ((-1, 4), None, "[-1, 4]", ""),
    ],
)
def test_dynamic_shapes(refused, model_file, shape, signature, shown, instead):
    path = model_file(one_operator_model(shape=shape, signature=signature))
    assert refused("compile", path) == (
        f'{path}: input "x" has a dynamic shape, {shown}; memory is planned at compile time: '
        f"{instead}convert the model with fixed input shapes"
    )


def test_unreasonable_size(refused, model_file):
    path = model_file(one_operator_model(shape=(1, 2**31 - 1)))
    assert refused("compile", path) == (
        f'{path}: tensor 0 ("x") of shape [1, 2147483647] takes 8589934588 bytes; '
        "at most 2147483647 are supported"
    )
