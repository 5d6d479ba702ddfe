"""`tvmc` for Python: load, compile, run, as TVM's guide has them."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.levels import sample
from support.micro import Micro
from support.small_digits import small_digits
from support.tflite_builder import write_model
from support.tflite_signatures import summing
from usmp.driver import tvmc
from usmp.driver.errors import UsageError
from usmp.frontend.pytorch.torch_cache import without_torch_cache
from usmp.runtime import load_archive


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> tvmc.TVMCModel:
    path = tmp_path_factory.mktemp("model") / "digits_int8.tflite"
    path.write_bytes(small_digits())
    return tvmc.load(path)


def algorithm_of(package: tvmc.TVMCPackage) -> str:
    return package.metadata["modules"]["default"]["memory"]["algorithm"]


@pytest.mark.slow
@pytest.mark.cc
def test_the_way_of_the_guide(small_digits_model, digits_images, tmp_path):
    images, _ = digits_images
    model = tvmc.load(small_digits_model)
    package = tvmc.compile(model, target="c", package_path=tmp_path / "model.tar")
    assert package.package_path == str(tmp_path / "model.tar")
    result = tvmc.run(
        tvmc.TVMCPackage(package_path=tmp_path / "model.tar"),
        device="cpu",
        inputs={"image": images[:1]},
    )
    assert result.outputs.keys() == {"probabilities"}
    expected = Micro(small_digits_model).run({"image": images[:1]})["probabilities"]
    assert np.array_equal(result.get_output("probabilities"), expected)
    lines = str(result).splitlines()
    assert lines[0] == "Execution time summary:"
    assert lines[1].split() == "mean (ms) median (ms) max (ms) min (ms) std (ms)".split()
    assert lines[-2:] == ["Output Names:", " ['probabilities']"]
    result.save(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as saved:
        assert np.array_equal(saved["probabilities"], result.outputs["probabilities"])


@pytest.mark.slow
def test_archive_is_that_of_build(model, tmp_path):
    tvmc.compile(model, package_path=tmp_path / "a.tar", mod_name="net", executor="aot")
    usmp.build(model.mod, module_name="net").export_model_library_format(tmp_path / "b.tar")
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


@pytest.mark.slow
def test_package_without_a_path_goes_with_its_file(model):
    package = tvmc.compile(model)
    path = package.package_path
    assert load_archive(path).metadata == package.metadata
    del package
    assert not os.path.exists(path)
    assert not os.path.exists(os.path.dirname(path))


@pytest.mark.slow
def test_pass_options_are_given_or_those_of_the_context(model):
    with PassContext(config={"tir.usmp.algorithm": "hill_climb"}):
        assert algorithm_of(tvmc.compile(model)) == "hill_climb"
        given = ["tir.usmp.algorithm=greedy_by_conflicts"]
        package = tvmc.compile(model, pass_context_configs=given)
    assert algorithm_of(package) == "greedy_by_conflicts"
    assert algorithm_of(tvmc.compile(model)) == "auto"


@pytest.mark.cc
def test_pools(model):
    workspace = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", ["c"])])
    constants = usmp.ConstantMemoryPools([usmp.ConstantPoolInfo("flash", ["c"])])
    package = tvmc.compile(model, workspace_pools=workspace, constant_pools=constants)
    memory = package.metadata["modules"]["default"]["memory"]
    assert {pool["name"] for pool in memory["pools"]} == {"sram", "flash"}
    assert tvmc.run(package).outputs["probabilities"].shape == (1, 10)


@pytest.mark.slow
@pytest.mark.cc
def test_params_are_bound(tmp_path):
    x, w = (relax.Var(name, relax.TensorType((1, 4), "float32")) for name in "xw")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.add(x, w))
        builder.emit_func_output(result)
    params = {"w": np.arange(4, dtype=np.float32).reshape(1, 4)}
    model = tvmc.TVMCModel(builder.get(), params)
    model.save(tmp_path / "model.json")
    for each in (model, tvmc.TVMCModel(model_path=tmp_path / "model.json")):
        result = tvmc.run(tvmc.compile(each), fill_mode="ones")
        (output,) = result.outputs.values()
        assert output.tolist() == [[1.0, 2.0, 3.0, 4.0]]


@pytest.mark.slow
def test_saved_model_compiles_to_the_same(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = tvmc.TVMCModel(model_path=tmp_path / "model.json")
    assert tvmc.compile(again).archive.files == tvmc.compile(model).archive.files


@pytest.mark.slow
@pytest.mark.cc
def test_several_models(model, tmp_path):
    other = tmp_path / "2nd-model.tflite"
    other.write_bytes(small_digits())
    listed = tvmc.compile([model, tvmc.load(other), tvmc.TVMCModel(model.mod)])
    assert list(listed.archive.module().entries) == ["digits_int8", "model_2nd_model", "model2"]
    named = tvmc.compile({"a": model, "b": model}, concurrent=[("a", "b")])
    mains = named.metadata["modules"]["default"]["memory"]["functions"]["main"]
    assert [main["concurrent_with"] for main in mains] == [["b"], ["a"]]
    image = np.ones((1, 8, 8, 1), np.int8)
    alone = tvmc.run(tvmc.compile(model), inputs={"image": image})
    for entry in ("a", "b"):
        result = tvmc.run(named, inputs={"image": image}, entry=entry, benchmark=True, repeat=2)
        assert np.array_equal(result.get_output("probabilities"), alone.outputs["probabilities"])
        assert len(result.times.results) == 2
    with pytest.raises(ValueError) as error:
        tvmc.run(named)
    assert str(error.value) == ('model "default" has 2 entries; choose one by its name: "a", "b"')


@pytest.mark.cc
def test_several_models_with_params_and_a_state(tmp_path):
    """Each has its own values, and with `shared_state` one state."""
    path = tmp_path / "state.tflite"
    path.write_bytes(write_model(summing()))
    summing_model = tvmc.load(path)
    bias = {"b": np.full((1, 4), 3, np.float32)}
    adding = {"add": tvmc.TVMCModel(adding_module(), bias), "keep": summing_model}
    package = tvmc.compile({**adding, "again": summing_model}, shared_state=True)
    assert tvmc.run(package, fill_mode="ones", entry="add").outputs["y"].tolist() == [[4.0] * 4]
    states = [
        main["states"].keys()
        for main in package.metadata["modules"]["default"]["memory"]["functions"]["main"]
    ]
    assert states == [set(), {"v_state"}, {"v_state"}]


def adding_module():
    x, b = (relax.Var(name, relax.TensorType((1, 4), "float32")) for name in "xb")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, b]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.add(x, b))
        builder.emit_func_output(result)
    mod = builder.get()
    main = mod["main"].with_attr("output_names", ["y"])
    mod.update_func(mod.get_global_var("main"), main)
    return mod


@pytest.mark.slow
@pytest.mark.models
def test_methods_of_a_pytorch_module(tmp_path):
    pytorch = pytest.importorskip("support.pytorch_models")
    model = pytorch.seeded(pytorch.Perceptron)
    with without_torch_cache():
        (tmp_path / "m.pt2").write_bytes(pytorch.exported(model, pytorch.example_of(model)))
    methods = {"one": tmp_path / "m.pt2", "two": tmp_path / "m.pt2"}
    package = tvmc.compile(tvmc.load(methods, model_format="pytorch"))
    assert list(package.archive.module().entries) == ["one", "two"]
    with pytest.raises(UsageError) as error:
        tvmc.load(methods, model_format="onnx")
    assert str(error.value).startswith(f'{tmp_path}/m.pt2: the file is not of format "onnx"')


def test_summary_is_the_module(model, capsys):
    text = io.StringIO()
    model.summary(text)
    assert "def main(image" in text.getvalue()
    model.summary()
    assert capsys.readouterr().out == text.getvalue()


@pytest.mark.cc
def test_benchmark_keeps_the_outputs_of_the_first_run(model):
    package = tvmc.compile(model)
    once = tvmc.run(package)
    assert len(once.times.results) == 1
    often = tvmc.run(package, benchmark=True, repeat=3, number=2)
    assert len(often.times.results) == 3
    assert np.array_equal(once.outputs["probabilities"], often.outputs["probabilities"])


@pytest.mark.parametrize("format_name", ["tflite", None])
def test_model_format(digits_model, format_name):
    assert tvmc.load(digits_model, model_format=format_name).mod["main"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda model: tvmc.load("a.tflite", model_format="onnx"),
            'a.tflite: the file is not of format "onnx"; FILE is no .onnx file by its name: '
            "rename it if it is one, and leave it out",
        ),
        (
            lambda model: tvmc.load("a.tflite", model_format="caffe"),
            'a.tflite: the file is not of format "caffe". Formats: tflite (.tflite), '
            "onnx (.onnx), pytorch (.pt2)",
        ),
        (
            lambda model: tvmc.compile(
                model, "c", cross="gcc", cross_options="-O2", dump_code=["tir", "ll"], use_vm=True
            ),
            "tvmc.compile: cross=gcc, cross_options=-O2: the archive holds C, or an object file of "
            "target llvm, for your own toolchain: leave it out (docs/integrate.md);\n"
            "dump_code=ll: LLVM's code is not kept; of target c clang -S -emit-llvm makes it of "
            "the files in codegen/host/src, and of target llvm the archive has the planned TIR in "
            "its folder src;\n"
            "use_vm: aot is the only executor: leave it out; memory of TVM's virtual "
            "machine is planned from Python (docs/tvm-vm.md)",
        ),
        (
            lambda model: tvmc.compile(model, "c", output_format="tar"),
            "tvmc.compile: output_format=tar: the archive holds C, or an object file of target "
            "llvm, for your own toolchain: write mlf; shared libraries are made by TVM itself, as "
            "by tvm.compile(mod).export_library(path)",
        ),
        (
            lambda model: tvmc.compile(model, "c", output_format="zip"),
            'unknown output format "zip". Formats: mlf',
        ),
        (
            lambda model: tvmc.compile("a.tflite"),
            "tvmc.compile takes a TVMCModel; call tvmc.load with the model's file",
        ),
        (
            lambda model: tvmc.compile([]),
            "tvmc.compile takes a TVMCModel; call tvmc.load with the model's file",
        ),
        (
            lambda model: tvmc.compile({"a": model, "b": "b.tflite"}),
            "tvmc.compile takes a TVMCModel; call tvmc.load with the model's file",
        ),
        (
            lambda model: tvmc.compile([model, model]),
            'two models are called "digits_int8"; give a dictionary of names and models',
        ),
        (
            lambda model: tvmc.compile(model, package_path="missing/model.tar"),
            "missing/model.tar: cannot be written (No such file or directory)",
        ),
        (
            lambda model: tvmc.run(model),
            "the model is not compiled yet; call tvmc.compile and run what it returns",
        ),
        (
            lambda model: tvmc.run(None, device="cuda", options={"a": 1}),
            "tvmc.run: device=cuda: the model runs on this host; tvmc run --board runs it in an "
            "emulator, and tvmc run --serial on your device; the only device is cpu;\n"
            "options: there are no projects to generate: the application is yours, and the archive "
            "in it is a module of Zephyr, a library of Arduino or a folder of CMake "
            "(docs/integrate.md); tvmc compile --board adds a program for a board, and tvmc run "
            "--board runs it in the emulator",
        ),
        (
            lambda model: tvmc.run(tvmc.compile(model), hostname="board", rpc_key="key"),
            "tvmc.run: hostname=board, rpc_key=key: the model runs on this host; tvmc run --board "
            "runs it in an emulator, and tvmc run --serial on your device",
        ),
        (
            lambda model: tvmc.run(tvmc.compile(model), fill_mode="twos"),
            'unknown fill mode "twos". Fill modes: random, zeros, ones',
        ),
        (
            lambda model: tvmc.run(tvmc.compile(model), repeat=0),
            "repeat and number must be at least 1, not 0 and 10",
        ),
        (
            lambda model: tvmc.TVMCModel(),
            "TVMCModel takes either mod, with params, or model_path",
        ),
        (
            lambda model: tvmc.TVMCModel(model_path=__file__),
            f"{__file__}: not a model that TVMCModel.save wrote",
        ),
        (
            lambda model: tvmc.TVMCModel(model_path="missing.json"),
            "missing.json: No such file or directory",
        ),
    ],
)
def test_refusals(model, tmp_path, monkeypatch, call, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        call(model)
    assert str(refused.value) == message
    assert os.listdir() == []


def test_arguments_that_are_not_used_and_unknown_ones(model):
    assert tvmc.compile(model, "c", tuning_records=None, use_vm=False, cross="")
    with pytest.raises(TypeError) as refused:
        tvmc.compile(model, "c", animals=3)
    assert str(refused.value) == "tvmc.compile() got an unexpected keyword argument 'animals'"


@pytest.mark.slow
@pytest.mark.parametrize(
    "node",
    sample([{"type": "ffi.Array", "data": [0]}, {"type": "ffi.Function", "data": {}}], 1),
    ids=lambda node: node["type"],
)
def test_a_file_that_crashes_the_reader_of_tvm(tmp_path, node):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"root_index": 0, "nodes": [node], "metadata": {}}))
    with pytest.raises(UsageError) as error:
        tvmc.TVMCModel(model_path=path)
    assert str(error.value) == f"{path}: not a model that TVMCModel.save wrote"
