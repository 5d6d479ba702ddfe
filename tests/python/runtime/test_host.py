"""Building the emitted C on this host and running it."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tvm

import usmp
from support.tflite_file import one_operator_model
from usmp.runtime import BuildError, HostModule
from usmp.runtime.c_compiler import compile_c
from usmp.runtime.host import aligned_empty

pytestmark = pytest.mark.cc

X = np.array([[-1, 2, -3, 4]], np.float32)
Y = np.array([[0, 2, 0, 4]], np.float32)


@pytest.fixture(scope="module")
def factory(tmp_path_factory) -> usmp.AOTExecutorFactoryModule:
    path = tmp_path_factory.mktemp("host") / "relu.tflite"
    path.write_bytes(one_operator_model())
    return usmp.build(usmp.import_model(path))


@pytest.fixture(scope="module")
def module(factory) -> HostModule:
    return factory.load()


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_run(module):
    outputs = module.run({"x": X})
    assert list(outputs) == ["y"]
    assert outputs["y"].dtype == np.float32
    np.testing.assert_array_equal(outputs["y"], Y)


def test_a_tensor_of_tvm_is_an_input(module):
    np.testing.assert_array_equal(module.run({"x": tvm.runtime.tensor(X)})["y"], Y)
    unknown = tvm.runtime.empty((1, 4), "bfloat16")
    with pytest.raises(ValueError, match=r'^input "x" is a tensor of bfloat16 on cpu(:0)?; give'):
        module.run({"x": unknown})


def test_inputs_and_outputs_are_described(module):
    assert module.name == "default"
    assert {n: (i["dtype"], i["shape"]) for n, i in module.inputs.items()} == {
        "x": ("float32", [1, 4])
    }
    assert {n: (i["dtype"], i["shape"]) for n, i in module.outputs.items()} == {
        "y": ("float32", [1, 4])
    }


def test_outputs_of_two_runs_are_two_arrays(module):
    first = module.run({"x": X})["y"]
    module.run({"x": -X})
    np.testing.assert_array_equal(first, Y)


def test_input_need_not_be_contiguous(module):
    np.testing.assert_array_equal(module.run({"x": np.repeat(X, 2, axis=1)[:, ::2]})["y"], Y)


@pytest.mark.parametrize("interface", ["c", "workspace-io", "packed"])
def test_input_is_not_written(interface, tmp_path):
    path = tmp_path / "relu.tflite"
    path.write_bytes(one_operator_model())
    executor = usmp.Executor("aot", {"interface-api": "packed"} if interface == "packed" else {})
    config = {"tir.usmp.use_workspace_io": interface == "workspace-io"}
    with tvm.transform.PassContext(config=config):
        module = usmp.build(usmp.import_model(path), executor=executor).load()
    x = X.copy()
    for _ in range(2):
        np.testing.assert_array_equal(module.run({"x": x})["y"], Y)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, 'input "x" is missing; the model\'s inputs: x: float32[1, 4]'),
        ({"x": X, "z": X}, 'the model has no input "z". Its inputs: x: float32[1, 4]'),
        ({"x": X[0]}, 'input "x" is float32[4]; the model takes float32[1, 4]'),
        (
            {"x": X.astype(np.float64)},
            'input "x" is float64[1, 4]; the model takes float32[1, 4]',
        ),
        ({"x": [[1, 2, 3, 4]]}, 'input "x" is int64[1, 4]; the model takes float32[1, 4]'),
    ],
    ids=["missing", "unknown", "shape", "dtype", "list"],
)
def test_wrong_inputs(module, inputs, message):
    with pytest.raises(ValueError) as error:
        module.run(inputs)
    assert str(error.value) == message


@pytest.mark.slow
def test_files_are_gone_with_the_module(factory, temporary):
    module = factory.load()
    assert len(list(temporary.iterdir())) == 1
    del module
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        (
            "/nonexistent -m32",
            "C compiler /nonexistent cannot be started (No such file or directory); install one "
            "(apt-get install gcc) or name one in the environment variable CC",
        ),
        (
            "/",
            "C compiler / cannot be started (Permission denied); install one "
            "(apt-get install gcc) or name one in the environment variable CC",
        ),
        ("false", "C compiler false failed with exit status 1:\n(it printed nothing)"),
    ],
)
def test_c_compiler_that_does_not_work(factory, temporary, monkeypatch, compiler, message):
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(BuildError) as error:
        factory.load()
    assert str(error.value) == message
    del error
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_c_compiler_with_options(factory, monkeypatch):
    monkeypatch.setenv("CC", "gcc -DUNUSED=1")
    np.testing.assert_array_equal(factory.load().run({"x": X})["y"], Y)


def test_c_compiler_of_another_machine(factory, monkeypatch, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nfor output; do :; done\necho foreign > "$output"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(BuildError, match="the built model cannot be loaded on this host: "):
        factory.load()


def test_a_warning_is_an_error(tmp_path, factory):
    files = dict(factory.files())
    files["codegen/host/src/more.c"] = b"static int unused;\n"
    with pytest.raises(BuildError, match="unused"):
        HostModule(files, factory.metadata["modules"]["default"])


def test_model_that_returns_an_error(factory):
    files = dict(factory.files())
    source = "codegen/host/src/default_lib0.c"
    files[source] = files[source].replace(b"return 0;", b"return -3;")
    module = HostModule(files, factory.metadata["modules"]["default"])
    with pytest.raises(RuntimeError) as error:
        module.run({"x": X})
    assert str(error.value) == "model default returned -3"


@pytest.mark.parametrize("interface", ["c", "packed"])
def test_a_library_without_the_entry_point(factory, interface):
    files = dict(factory.files())
    source = "codegen/host/src/default_lib0.c"
    header = "codegen/host/include/tvmgen_default.h"
    for path in (source, header):
        files[path] = files[path].replace(b"tvmgen_default_run", b"tvmgen_default_other")
    metadata = {**factory.metadata["modules"]["default"], "interface_api": interface}
    with pytest.raises(BuildError, match="the built model cannot be loaded on this host: "):
        HostModule(files, metadata)


@pytest.mark.parametrize("dtype", ["int8", "float32", "int64"])
def test_arrays_are_aligned_as_pools_are(dtype):
    for extent in range(1, 40):
        array = aligned_empty([1, extent], dtype)
        assert (array.shape, array.dtype) == ((1, extent), np.dtype(dtype))
        assert array.ctypes.data % 16 == 0


def test_compile_c_makes_a_program(tmp_path):
    source = tmp_path / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    compile_c([str(source)], tmp_path / "program")
    assert (tmp_path / "program").stat().st_mode & 0o111
