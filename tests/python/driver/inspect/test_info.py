"""`tvmc info`: what a model or an archive has."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

import usmp
from support.archives import write_tar
from support.entry_models import entry_model
from support.lazy import lazy
from support.onnx_models import residual_cnn
from support.relax_models import PARAMS, Attention
from support.tflite_builder import Signature, write_model
from support.tflite_signatures import REAL, counter_file, reading, summing
from usmp.frontend.pytorch.torch_cache import without_torch_cache

onnx = lazy("onnx")
pytestmark = pytest.mark.usefixtures("one_session")

IMAGE = {
    "name": "image",
    "dtype": "int8",
    "shape": [1, 8, 8, 1],
    "scale": pytest.approx(1 / 255),
    "zero_point": -128,
}
PROBABILITIES = {
    "name": "probabilities",
    "dtype": "int8",
    "shape": [1, 10],
    "scale": 1 / 256,
    "zero_point": -128,
}


def described(tvmc, path: object) -> dict:
    outcome = tvmc("info", path, "--format", "json")
    assert (outcome.status, outcome.stderr) == (0, "")
    return json.loads(outcome.stdout)


def test_tflite(tvmc, digits_model):
    assert described(tvmc, digits_model) == {
        "file": str(digits_model),
        "format": "TFLite model",
        "inputs": [IMAGE],
        "outputs": [PROBABILITIES],
        "states": [],
        "operators": {
            "CONV_2D": 4,
            "ADD": 1,
            "DEPTHWISE_CONV_2D": 1,
            "FULLY_CONNECTED": 1,
            "MAX_POOL_2D": 1,
            "MEAN": 1,
            "SOFTMAX": 1,
        },
        "signatures": [],
    }


def test_table(tvmc, digits_model):
    lines = [line.split() for line in tvmc("info", digits_model).stdout.splitlines()]
    assert ["input", "image", "int8", "1x8x8x1", "0.00392157", "-128"] in lines
    assert ["output", "probabilities", "int8", "1x10", "0.00390625", "-128"] in lines
    assert ["CONV_2D", "4"] in lines


def test_tflite_with_several_signatures(tvmc, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(counter_file())

    def tensor(name: str) -> dict:
        no_parameters = {"scale": None, "zero_point": None}
        return {"name": name, "dtype": "float32", "shape": [1, 4], **no_parameters}

    def state(changed: bool) -> dict:
        return {"states": [{"name": "v_state", "bytes": 16, "changed": changed}]}

    found = described(tvmc, path)
    assert found["signatures"] == ["step", "peek", "clear", "twice"]
    assert found["entries"] == [
        {"entry": "step", "inputs": [tensor("by")], "outputs": [tensor("sum")], **state(True)},
        {"entry": "peek", "inputs": [], "outputs": [tensor("held")], **state(False)},
        {"entry": "clear", "inputs": [], "outputs": [], **state(True)},
        {"entry": "twice", "inputs": [tensor("x")], "outputs": [tensor("y")], "states": []},
    ]
    assert {"inputs", "outputs", "states"}.isdisjoint(found)
    lines = tvmc("info", path).stdout.splitlines()
    titles = [line for line in lines if "of entry" in line]
    assert titles == [f"inputs and outputs of entry {key}" for key in found["signatures"]]
    assert ["output", "sum", "float32", "1x4"] in [line.split() for line in lines]
    assert lines[-1] == "Signatures: step, peek, clear, twice, each compiled as an entry"


@pytest.mark.models
def test_onnx(tvmc, tmp_path):
    import onnx

    path = tmp_path / "model.onnx"
    path.write_bytes(residual_cnn())
    found = described(tvmc, path)
    graph = onnx.load_from_string(residual_cnn()).graph
    assert found["format"] == "ONNX model"
    (read,) = found["inputs"]
    assert (read["name"], read["dtype"]) == (graph.input[0].name, "float32")
    assert read["shape"] == [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    assert [output["name"] for output in found["outputs"]] == [graph.output[0].name]
    assert found["operators"] == Counter(node.op_type for node in graph.node)


@pytest.mark.slow
def test_pytorch(tvmc, tmp_path):
    models = pytest.importorskip("support.pytorch_models")
    path = tmp_path / "model.pt2"
    module = models.seeded(models.Perceptron)
    with without_torch_cache():
        path.write_bytes(models.exported(module, models.example_of(module)))
    found = described(tvmc, path)
    assert found["format"] == "program of torch.export"
    assert [tensor["dtype"] for tensor in found["inputs"] + found["outputs"]] == ["float32"] * 2
    assert found["operators"]["matmul"] > 0


def test_archive(tvmc, digits_archive):
    assert described(tvmc, digits_archive) == {
        "file": str(digits_archive),
        "format": "Model Library Format archive",
        "modules": [
            {
                "name": "default",
                "c_prefix": "tvmgen_default",
                "inputs": [IMAGE],
                "outputs": [PROBABILITIES],
                "states": [],
                "pools": [
                    {"name": "global_const_workspace", "kind": "constant", "bytes": 1276},
                    {"name": "global_workspace", "kind": "workspace", "bytes": 10},
                ],
                "state_size_bytes": 0,
            }
        ],
    }
    lines = [line.split() for line in tvmc("info", digits_archive).stdout.splitlines()]
    assert ["global_workspace", "workspace", "10"] in lines


@pytest.mark.slow
def test_archive_of_several_models(tvmc):
    models = [usmp.build(Attention, params=PARAMS, module_name=name) for name in ("a", "b")]
    usmp.export_model_library_format(models, "models.tar")
    assert [module["name"] for module in described(tvmc, "models.tar")["modules"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.tflite", "missing.tflite: No such file or directory"),
        ("model.h6", 'model.h6: unknown model format ".h6". Formats: .tflite, .onnx, .pt2'),
        ("empty.onnx", "empty.onnx: the file is empty"),
        ("bad.tar", "bad.tar: not a tar archive, or a damaged one"),
    ],
)
def test_file_that_is_no_model(refused, name, message, tmp_path):
    for present in ("model.h6", "bad.tar"):
        (tmp_path / "work" / present).write_bytes(b"text")
    (tmp_path / "work/empty.onnx").touch()
    assert refused("info", name) == message


def test_damaged_tflite(refused, digits_model, tmp_path):
    path = tmp_path / "damaged.tflite"
    path.write_bytes(digits_model.read_bytes()[:2000])
    assert refused("info", path).startswith(f"{path}: ")


@pytest.mark.slow
def test_plan_of_an_archive_is_that_of_the_model(tvmc, small_model):
    tvmc("compile", small_model, "-o", "model.tar")
    for shown_as in ("table", "json", "csv"):
        of_model = tvmc("plan", small_model, "--format", shown_as)
        of_archive = tvmc("plan", "model.tar", "--format", shown_as)
        assert (of_archive.status, of_archive.stderr) == (0, "")
        assert of_archive.stdout == of_model.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "option", ["--usmp-algorithm=exact", "--usmp-workspace-pools=sram", "--target=llvm"]
)
def test_an_archive_is_planned_already(refused, digits_archive, option):
    name = option.partition("=")[0]
    assert refused("plan", digits_archive, option) == (
        f"{name} belongs to a model, and {digits_archive} is planned already"
    )


@pytest.mark.slow
def test_plan_of_one_of_several_models(tvmc, refused):
    models = [usmp.build(Attention, params=PARAMS, module_name=name) for name in ("a", "b")]
    usmp.export_model_library_format(models, "models.tar")
    assert "Memory of b" in tvmc("plan", "models.tar", "--module-name=b").stdout
    assert refused("plan", "models.tar") == (
        'the archive holds 2 modules; choose one by its name: "a", "b"'
    )


@pytest.mark.slow
def test_entries_of_an_archive(tvmc, tmp_path):
    path = tmp_path / "model.tar"
    usmp.build(entry_model()).export_model_library_format(path)
    (module,) = described(tvmc, path)["modules"]
    x = {"name": "x", "dtype": "float32", "shape": [1, 8], "scale": None, "zero_point": None}
    y = {**x, "name": "y"}
    larger = [3, 8]
    # Whichever runs first sets the initial value.
    states = [
        {"name": "total", "bytes": 32, "changed": True},
        {"name": "states_are_set", "bytes": 1, "changed": True},
    ]
    assert module["entries"] == [
        {"entry": "learn", "inputs": [x], "outputs": [y], "states": states},
        {"entry": "tell", "inputs": [x], "outputs": [y], "states": states},
        {
            "entry": "plain",
            "inputs": [{**x, "shape": larger}],
            "outputs": [{**y, "shape": larger}, {**x, "name": "largest", "shape": [3]}],
            "states": [],
        },
    ]
    assert "inputs" not in module
    assert module["state_size_bytes"] == 33
    shown = tvmc("info", path).stdout
    assert shown.count("inputs and outputs of entry ") == 3
    assert "inputs and outputs of entry plain" in shown
    assert shown.count("States: total (32 bytes), states_are_set (1 bytes)\n") == 2


@pytest.mark.slow
def test_states_of_an_archive(tvmc, tmp_path):
    """Of one entry, and of one that only reads what another one changes."""
    path = tmp_path / "step.tflite"
    path.write_bytes(write_model(summing()))
    tvmc("compile", path, "-o", "step.tar")
    (module,) = described(tvmc, "step.tar")["modules"]
    assert module["states"] == [{"name": "v_state", "bytes": 16, "changed": True}]
    step, peek = summing(), reading()
    signatures = [
        Signature("step", 0, {"x": step.inputs[0]}, {"y": step.outputs[0]}),
        Signature("peek", 1, {}, {"k": peek.outputs[0]}),
    ]
    path.write_bytes(write_model(step, peek, signatures=signatures))
    tvmc("compile", path, "-o", "both.tar")
    (module,) = described(tvmc, "both.tar")["modules"]
    changed = [[state["changed"] for state in entry["states"]] for entry in module["entries"]]
    assert changed == [[True], [False]]
    shown = tvmc("info", "both.tar").stdout
    name = module["entries"][1]["states"][0]["name"]
    assert f"States: {name} (16 bytes, only read)\n" in shown


def test_states_of_a_model_that_cannot_be_imported(tvmc, tmp_path):
    graph = summing()
    (y,) = graph.outputs
    graph.operator("CUSTOM", [y], [graph.tensor(REAL.shape, "float32")], custom_code="Mine")
    path = tmp_path / "model.tflite"
    path.write_bytes(write_model(graph))
    assert described(tvmc, path)["states"] is None
    assert "States: not known, since the model cannot be imported\n" in tvmc("info", path).stdout


@pytest.mark.slow
@pytest.mark.models
def test_states_of_a_pytorch_program(tvmc, tmp_path):
    pytorch = pytest.importorskip("support.pytorch_models")

    class Counter(pytorch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", pytorch.torch.zeros(3))

        def forward(self, x, last):
            self.total += x
            last.copy_(x)
            return self.total * 2

    path = tmp_path / "model.pt2"
    with without_torch_cache():
        path.write_bytes(pytorch.exported(Counter(), *[pytorch.torch.ones(3)] * 2))
    found = described(tvmc, path)
    updated = {tensor["name"]: tensor.get("updated", False) for tensor in found["inputs"]}
    assert updated == {"x": False, "last": True}
    assert found["states"] == [{"name": "total", "bytes": 12, "changed": True}]
    assert "States: total (12 bytes)\n" in tvmc("info", path).stdout


def test_damaged_state_layout(tvmc, refused, tmp_path):
    path = tmp_path / "step.tflite"
    path.write_bytes(write_model(summing()))
    tvmc("compile", path, "-o", "step.tar")
    with tarfile.open("step.tar") as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}
    metadata = files["./metadata.json"]
    assert metadata.count(b'"hash": "0x') == 1
    files["./metadata.json"] = metadata.replace(b'"hash": "0x', b'"hash": "0y')
    write_tar(Path("step.tar"), files)
    assert refused("info", "step.tar").startswith("the archive's state layout is damaged: ")
