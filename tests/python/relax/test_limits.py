"""Small files that ask for much are refused, or take little memory and time."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tvm import relax

import usmp
from conftest import ROOT
from support.commands import message_of
from support.demanding_models import MODELS
from support.demanding_sizes import MUCH
from support.lazy import lazy
from support.onnx_models import Graph
from usmp.driver import tvmc
from usmp.relax.limits import LimitedBuilder, LimitError, Limits, check_main

onnx = lazy("onnx")

MEMORY = 1 << 30
"""What a file may take beyond what those before it took."""

ENDINGS = [".tflite", ".onnx", ".pt2"]


def outcomes(endings: list[str]) -> dict[str, tuple[str, str, float, int]]:
    """What becomes of the demanding files: outcome, message, seconds and bytes, by their names.

    All in one process, as to start one takes longer than they do.
    """
    worker = subprocess.run(
        [sys.executable, "-m", "support.demanding_worker", ",".join(endings)],
        cwd=ROOT / "tests/python",
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in worker.stdout.splitlines()]
    assert worker.returncode == 0, (worker.stderr[-1000:], lines[-1:])
    return {name: (outcome, *rest) for name, _, outcome, *rest in lines}


@pytest.mark.slow
def test_demanding_files_take_little():
    has_pytorch = importlib.util.find_spec("torch") is not None
    endings = ENDINGS if has_pytorch else ENDINGS[:-1]
    found = outcomes(endings)
    assert min(Counter(Path(name).suffix for name in found)[each] for each in endings) >= 8
    for name, (outcome, message, seconds, taken) in found.items():
        assert outcome in ("refused", "compiled"), (name, message)
        assert "\n" not in message and (outcome == "compiled") == (message == ""), name
        assert seconds < 60, name
        assert taken < MEMORY, name
    if not has_pytorch:
        pytest.skip(".pt2 files: make test installs PyTorch; by hand: pip install torch")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "broadcast summed.tflite",
            'tensor 2 ("t2") of shape [400000000] takes 1600000000 bytes; a tensor may take '
            "268435456, which --max-model-bytes (in Python max_model_bytes) can raise",
        ),
        (
            "many fills.tflite",
            "the constants of the model, and what is computed of them alone, take 6710887200 "
            "bytes, the largest of them at operator broadcast_to (result of shape [16777216]); "
            "they may take 268435456, which --max-model-bytes (in Python max_model_bytes) can "
            "raise",
        ),
        (
            "expand.onnx",
            'operator Add (node "node_add_1", output "add_1"): tensor "add_1" of shape [400000000] '
            "takes 1600000000 bytes; a tensor may take 268435456, which --max-model-bytes (in "
            "Python max_model_bytes) can raise",
        ),
        (
            "split.onnx",
            'operator SplitToSequence (node "node_splittosequence_0", output "splittosequence_0"): '
            "it cuts its input into 10000000 parts; there may be 10000, which --max-operators (in "
            "Python max_operators) can raise",
        ),
        (
            "doubling.onnx",
            "with its functions written out, the model has 1099511627776 operators; there may be "
            "10000, which --max-operators (in Python max_operators) can raise",
        ),
        (
            "recursion.onnx",
            'function "F1" of the model calls itself; export the model without functions',
        ),
    ],
)
def test_messages(name, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(MODELS[name]())
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.import_model(path)
    assert str(error.value) == f"{path}: {message}"


def test_no_limit_of_the_user_is_above_that_of_c(tmp_path):
    """What C cannot index is refused where the operator is known, whatever the limit is."""
    path, graph = tmp_path / "model.onnx", Graph()
    x = graph.input("x", (1, 4))
    shape = graph.constant([2**20, 2**10, 4], "int64")
    path.write_bytes(graph.model(graph.node("ReduceSum", graph.node("Expand", x, shape))))
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.import_model(path, max_model_bytes=1 << 40)
    assert re.fullmatch(
        rf'{path}: operator Expand \(.*\): tensor ".*" of shape \[1048576, 1024, 4\] takes '
        "17179869184 bytes; a tensor may take 2147483647, because the emitted C indexes with 32 "
        "bits",
        str(error.value),
    )


def test_an_operator_that_takes_hours_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(MODELS["square pool.onnx"]())
    with pytest.raises(
        LimitError, match=r"model.onnx: operator 0 AveragePool \(.*\) computes \d{20} steps"
    ):
        usmp.build(path)


@pytest.fixture
def kilobyte(tmp_path):
    """A model with a constant of 1000 bytes and four operators."""
    graph = Graph()
    y = graph.input("x", [250])
    for _ in range(2):
        y = graph.node("Relu", graph.node("Add", y, graph.constant(np.ones(250), np.float32)))
    path = tmp_path / "model.onnx"
    path.write_bytes(graph.model(y))
    return path


@pytest.mark.models
def test_limits_can_be_chosen(kilobyte):
    for allowed, limits in (
        (True, {"max_model_bytes": 2000, "max_operators": 100}),
        (False, {"max_model_bytes": 1999}),
        (False, {"max_model_bytes": 999}),
        (False, {"max_operators": 3}),
    ):
        for load in (usmp.import_model, tvmc.load):
            if allowed:
                load(kilobyte, **limits)
                continue
            with pytest.raises(usmp.UnsupportedModelError, match="can raise"):
                load(kilobyte, **limits)


@pytest.mark.models
def test_options_of_the_command(kilobyte, tmp_path, capfd):
    output = str(tmp_path / "plan.csv")
    arguments = ["plan", str(kilobyte), "-o", output, "--quiet"]
    assert tvmc.main([*arguments, "--max-model-bytes=2K", "--max-operators=100"]) == 0
    Path(output).unlink()
    for option in ("--max-model-bytes=1k", "--max-operators=3"):
        assert tvmc.main([*arguments, option]) == 1
        _, stderr = capfd.readouterr()
        assert option.partition("=")[0] in message_of(stderr)
        assert not Path(output).exists()


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "K", "1e9", "9" * 30])
def test_values_that_are_no_limit(value, capfd):
    assert tvmc.main(["plan", "model.onnx", f"--max-model-bytes={value}"]) == 1
    assert "must be a number from 1" in capfd.readouterr().err


def test_a_builder_stops_while_the_model_grows():
    builder = LimitedBuilder(Limits(model_bytes=400, operators=50))
    x = relax.Var("x", relax.TensorType((100,), "float32"))
    emitted = 0
    with builder.function("main", [x]):
        y = x
        with pytest.raises(LimitError, match=r"^up to here the model has 51 operators"):
            while True:
                y = builder.emit(relax.op.nn.relu(y))
                emitted += 1
        with pytest.raises(LimitError, match=r"^up to here"):
            builder.normalize(relax.op.nn.relu(y))
        builder.operators = 0
        with pytest.raises(LimitError, match=r"^a tensor of shape \[101\] takes 404 bytes"):
            builder.emit(relax.op.broadcast_to(relax.const(1.0), (101,)))
        builder.emit_func_output(y)
    assert emitted == 50


@pytest.mark.models
def test_operators_are_counted_once(tmp_path):
    graph = Graph()
    y = graph.input("x", [4])
    for _ in range(60):
        y = graph.node("Relu", y)
    path = tmp_path / "model.onnx"
    path.write_bytes(graph.model(y))
    assert usmp.import_model(path, max_operators=60) is not None
    with pytest.raises(usmp.UnsupportedModelError, match="60 operators"):
        usmp.import_model(path, max_operators=59)


def test_what_is_computed_of_constants_counts(model):
    def body(b, x):
        once = b.emit(relax.op.broadcast_to(relax.const(np.ones(1, "f4")), (100,)))
        twice = b.emit(relax.op.add(once, once))
        return relax.op.add(x, twice)

    main = model(body, ("x", (100,), "float32"))["main"]
    check_main(main, Limits(model_bytes=804))
    with pytest.raises(LimitError, match="take 804 bytes"):
        check_main(main, Limits(model_bytes=803))


@pytest.mark.models
def test_sizes_do_not_overflow(tmp_path):
    graph = Graph()
    graph.node("Relu", graph.input("x", [2**31, 2**31, 4]), outputs=["y"])
    path = tmp_path / "model.onnx"
    path.write_bytes(graph.model("y"))
    with pytest.raises(usmp.UnsupportedModelError, match=f"takes {2**66} bytes"):
        usmp.import_model(path)


@pytest.mark.models
def test_values_in_other_files_count(tmp_path):
    """A hundred tensors that are the same file."""
    (tmp_path / "w.bin").write_bytes(b"\0" * 4000)
    graph = Graph()
    y = graph.input("x", [1000])
    for number in range(100):
        y = graph.node("Add", y, f"w{number}")
    proto = graph.proto(y)
    for number in range(100):
        tensor = proto.graph.initializer.add(name=f"w{number}", data_type=1, dims=[1000])
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(usmp.UnsupportedModelError, match='largest of them "w25"'):
        usmp.import_model(path, max_model_bytes=103_999)


def test_every_kind_of_file_is_tried():
    assert {name.rpartition(".")[2] for name in MODELS} == {"tflite", "onnx"}
    assert Limits().model_bytes < MUCH * 4
