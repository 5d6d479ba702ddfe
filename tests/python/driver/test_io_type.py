"""`--io-type` of `tvmc compile` and `tvmc plan`: what it says, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from support.tflite_builder import Graph, per_tensor, write_model
from support.tflite_file import one_operator_model


@pytest.fixture
def model():
    """Writes y = DEQUANTIZE(QUANTIZE(x)), if asked for with z = TANH(y), which stays float."""

    def write(dtype: str = "int8", has_float_output: bool = False) -> str:
        graph = Graph()
        x = graph.input((1, 4), "float32", name="x")
        q = graph.tensor((1, 4), dtype, per_tensor(0.5, 3))
        y = graph.tensor((1, 4), "float32", name="y")
        graph.operator("QUANTIZE", [x], [q])
        graph.operator("DEQUANTIZE", [q], [y])
        graph.output(y)
        if has_float_output:
            z = graph.tensor((1, 4), "float32", name="z")
            graph.operator("TANH", [y], [z])
            graph.output(z)
        Path("model.tflite").write_bytes(write_model(graph))
        return "model.tflite"

    return write


def said(outcome) -> list[str]:
    assert (outcome.status, outcome.stderr) == (0, "")
    return [line for line in outcome.stdout.splitlines() if "--io-type" in line or "float" in line]


INTEGERS = 'By --io-type these are integers, not float: input "x" (int8), output "y" (int8).'


@pytest.mark.parametrize("io_type", ["int8", "quantized"])
@pytest.mark.parametrize("command", ["compile", "plan"])
def test_the_summary(tvmc, model, command, io_type):
    assert said(tvmc(command, model(), "--io-type", io_type)) == [INTEGERS]


def test_what_stays_float(tvmc, model):
    outcome = tvmc("compile", model(has_float_output=True), "--io-type=int8")
    assert said(outcome) == [INTEGERS, 'Still float: output "z", which is computed by tanh.']


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--io-type=float",)])
def test_float_is_the_default(tvmc, model, options):
    assert said(tvmc("compile", model(), *options)) == []
    assert io_sizes(tvmc, model(), *options) == {"x": 16, "y": 16}


def test_sizes(tvmc, model):
    assert io_sizes(tvmc, model(), "--io-type=int8") == {"x": 4, "y": 4}


def io_sizes(tvmc, *arguments):
    plan = json.loads(tvmc("plan", *arguments, "--workspace-io", "--format=json").stdout)
    (entry,) = plan["functions"]["main"]
    return {n: t["size"] for n, t in (*entry["inputs"].items(), *entry["outputs"].items())}


def test_integers_already(tvmc):
    graph = Graph()
    x = graph.input((1, 4), "int8", per_tensor(0.5, 3))
    y = graph.tensor((1, 4), "int8", per_tensor(0.25, 3))
    graph.operator("QUANTIZE", [x], [y])
    graph.output(y)
    Path("integers.tflite").write_bytes(write_model(graph))
    outcome = tvmc("compile", "integers.tflite", "--io-type=int8")
    nothing = "--io-type changes nothing: the model has no float inputs and outputs."
    assert said(outcome) == [nothing]


@pytest.mark.cc
def test_a_run_takes_the_integers(tvmc, model):
    assert tvmc("compile", model(), "--io-type=int8", "-q").status == 0
    np.savez("in.npz", x=np.array([[-1, 2, -3, 4]], np.int8))
    assert tvmc("run", "module.tar", "-i", "in.npz", "-o", "out.npz").status == 0
    np.testing.assert_array_equal(np.load("out.npz")["y"], [[-1, 2, -3, 4]])


@pytest.mark.cc
def test_a_run_refuses_floats_as_it_does_for_any_model_of_integers(tvmc, model):
    assert tvmc("compile", model(), "--io-type=int8", "-q").status == 0
    np.savez("in.npz", x=np.zeros((1, 4), np.float32))
    outcome = tvmc("run", "module.tar", "-i", "in.npz")
    assert outcome.status == 1
    assert "float32" in outcome.stderr


# ---- errors


@pytest.mark.parametrize("command", ["compile", "plan"])
def test_an_unknown_type(refused, model, command):
    line = refused(command, model(), "--io-type=int4")
    for part in ("--io-type", "int4", "float", "quantized", "int8"):
        assert part in line


def test_another_type(refused, model):
    assert refused("compile", model("uint8"), "--io-type=int8") == (
        'io_type "int8": input "x" is quantized to uint8; "quantized" takes each input and output '
        "in its own type"
    )


def test_a_float_model(refused):
    Path("relu.tflite").write_bytes(one_operator_model())
    assert refused("compile", "relu.tflite", "--io-type=int8") == (
        'io_type "int8": the model quantizes none of its inputs and outputs: input "x" is read by '
        'relu; output "y" is computed by relu'
    )
