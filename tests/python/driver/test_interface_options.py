"""`tvmc`: how a compiled model is called, and names that C cannot tell apart."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tflite import BuiltinOperator

from support.tflite_builder import Graph, write_model
from support.tflite_file import one_operator_model

pytestmark = pytest.mark.cc

X = np.array([[-1, 2, -3, 4]], np.float32)


@pytest.fixture
def model() -> Path:
    """A model in the folder of the command: y = max(x, 0)."""
    Path("relu.tflite").write_bytes(one_operator_model())
    return Path("relu.tflite")


def contents(path):
    with tarfile.open(path) as tar:
        return {entry.name: tar.extractfile(entry).read().decode() for entry in tar}


@pytest.mark.parametrize(
    ("options", "interface"),
    [
        ([], "c"),
        (["--executor-aot-interface-api=c"], "c"),
        (["--executor-aot-interface-api=c", "--executor-aot-unpacked-api=1"], "c"),
        (["--runtime=crt", "--pass-config=tir.disable_storage_rewrite=1"], "c"),
        (["--executor-aot-unpacked-api=true", "--executor-aot-link-params=1"], "c"),
        (["--executor-aot-interface-api=packed"], "packed"),
        (["--executor-aot-interface-api=packed", "--executor-aot-unpacked-api=0"], "packed"),
    ],
    ids=" ".join,
)
def test_a_model_runs_through_either_interface(tvmc, model, options, interface):
    assert tvmc("compile", model, "-o", "out.tar", *options).status == 0
    files = contents("out.tar")
    assert json.loads(files["./metadata.json"])["modules"]["default"]["interface_api"] == interface
    is_packed = interface == "packed"
    assert ("./codegen/host/src/default_lib1.c" in files) is is_packed
    declaration = "int32_t tvmgen_default_run("
    assert (declaration in files["./codegen/host/include/tvmgen_default.h"]) is not is_packed
    np.savez("in.npz", x=X)
    outcome = tvmc("run", "out.tar", "-i", "in.npz", "-o", "result.npz")
    assert (outcome.status, outcome.stderr) == (0, "")
    np.testing.assert_array_equal(np.load("result.npz")["y"], np.maximum(X, 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            [
                "--executor-aot-interface-api=packed",
                "--pass-config=tir.usmp.use_workspace_io=1",
            ],
            "tir.usmp.use_workspace_io option is only compatible with interface_api c. "
            "Please use interface_api c to be able to enable tir.usmp.use_workspace_io",
        ),
        (
            ["--executor-aot-interface-api=rpc"],
            'option interface-api of executor aot must be "c" or "packed", not rpc',
        ),
        (
            ["--executor-aot-interface-api=c", "--executor-aot-unpacked-api=0"],
            'Either need interface-api == "packed" (got: c) or unpacked-api == true (got: 0); '
            "for functions of C leave unpacked-api out, for packed functions set "
            "interface-api=packed, without runtime crt",
        ),
        (
            ["--executor-aot-interface-api=packed", "--executor-aot-unpacked-api=1"],
            'Need unpacked-api == false (got: 1) with interface-api == "packed"; '
            "leave unpacked-api out",
        ),
        (
            ["--executor-aot-unpacked-api=maybe"],
            "argument --executor-aot-unpacked-api: must be 0 or 1, not maybe. "
            "See tvmc compile --help",
        ),
        (
            ["--executor-aot-link-params=0"],
            "link-params=False: constants are part of the C; with constant_memory_pools, or "
            "--constant-pools of tvmc, the application gives their memory; leave it out",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_interface(refused, model, options, message):
    assert refused("compile", model, "-o", "out.tar", *options) == message


def sum_of(names):
    """A model of two inputs and an output."""
    graph = Graph()
    inputs = [graph.tensor([1, 4], "float32", name=name) for name in names]
    y = graph.tensor([1, 4], "float32", name="y")
    graph.operator(BuiltinOperator.ADD, inputs, [y])
    graph.inputs.extend(inputs)
    graph.output(y)
    return write_model(graph)


@pytest.mark.parametrize("names", [["serving/x", "serving:x"], ["x", "x"]])
def test_inputs_that_become_one_name_in_c(tvmc, names):
    Path("sum.tflite").write_bytes(sum_of(names))
    tvmc("compile", "sum.tflite", "-o", "out.tar")
    tvmc("run", "out.tar", "--fill-mode", "ones", "--outputs", "out.npz")
    np.testing.assert_array_equal(np.load("out.npz")["y"], [[2, 2, 2, 2]])


def test_a_tensor_that_takes_the_name_of_the_workspace_size(tvmc):
    Path("relu.tflite").write_bytes(one_operator_model(names=("workspace", "y")))
    tvmc("compile", "relu.tflite", "-o", "out.tar")
    tvmc("run", "out.tar", "--fill-mode", "ones", "--outputs", "out.npz")
    assert list(np.load("out.npz")) == ["y", "output_0"]


def test_an_input_and_an_output_of_one_name_and_size(tvmc):
    """They share a macro, as in TVM 0.18."""
    Path("relu.tflite").write_bytes(one_operator_model(names=("a", "A")))
    assert tvmc("compile", "relu.tflite", "-o", "out.tar").status == 0
    assert tvmc("run", "out.tar").status == 0
