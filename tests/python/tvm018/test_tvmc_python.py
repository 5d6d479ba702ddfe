"""The Python functions of tvmc with what TVM 0.18 had: arguments, errors, names."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.tflite_file import one_operator_model
from usmp.driver import tvmc
from usmp.driver.run.output_names import Outputs
from usmp.frontend.model_file import MissingPackageError
from usmp.support.compatibility import CompatibilityNote
from usmp.tvm018 import ACCEPTED, REFUSED, TVMC_COMPILE, TVMC_LOAD, TVMC_NAMES, TVMC_RUN, find

DEVICE = "device"


def rows(section, verdict):
    return [
        pytest.param(row, id=f"{row.name} {' '.join(row.values)}")
        for row in section
        if row.verdict == verdict and row.name != DEVICE
    ]


def value_for(row):
    return row.values[0] if row.values else "x"


def module():
    """Adds 1 to x."""
    x = relax.Var("x", relax.TensorType((1, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(relax.op.add(x, relax.const(1.0)))
        builder.emit_func_output(y)
    mod = builder.get()
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("output_names", ["y"]))
    return mod


@pytest.fixture
def model() -> tvmc.TVMCModel:
    return tvmc.TVMCModel(module(), {})


@pytest.fixture(scope="module")
def package() -> tvmc.TVMCPackage:
    return tvmc.compile(tvmc.TVMCModel(module(), {}))


@pytest.fixture
def file(tmp_path) -> str:
    path = tmp_path / "small.tflite"
    path.write_bytes(one_operator_model())
    return str(path)


@pytest.mark.parametrize(
    ("function", "section"),
    [("load", TVMC_LOAD), ("compile", TVMC_COMPILE), ("run", TVMC_RUN)],
)
def test_a_refused_argument_says_why_and_off_is_what_happens_anyway(function, section):
    call = getattr(tvmc, function)
    for row in (each.values[0] for each in rows(section, REFUSED)):
        with pytest.raises(tvmc.TVMCException) as error:
            call(None, **{row.name: value_for(row)})
        assert str(error.value) == f"tvmc.{function}: {row.sentence(value_for(row))}"
        for off in (None, False, "", [], {}):
            with pytest.raises((TypeError, ValueError)) as error:
                call(None, **{row.name: off})
            assert row.name not in str(error.value)
    with pytest.raises(TypeError) as unknown:
        call(None, animals=3)
    assert str(unknown.value) == f"tvmc.{function}() got an unexpected keyword argument 'animals'"


def accepted(section) -> dict[str, str]:
    return {row.name: value_for(row) for row in section if row.verdict == ACCEPTED}


def notes(section) -> list[str]:
    return [row.sentence(value_for(row)) for row in section if row.verdict == ACCEPTED]


def noted(call):
    """What a call returns, and the texts of the notes that it gives about this line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompatibilityNote)
        result = call()
    found = [each for each in caught if issubclass(each.category, CompatibilityNote)]
    assert {each.filename for each in found} <= {__file__}
    return result, [str(each.message) for each in found]


def test_accepted_arguments_of_load(file):
    plain = tvmc.load(file)
    model, told = noted(lambda: tvmc.load(file, **accepted(TVMC_LOAD)))
    assert told == notes(TVMC_LOAD)
    assert tvm_ffi.structural_equal(model.mod, plain.mod)


@pytest.mark.cc
def test_accepted_arguments_of_run(package):
    plain = tvmc.run(package, "cpu")
    result, told = noted(lambda: tvmc.run(package, "cpu", **accepted(TVMC_RUN)))
    assert told == notes(TVMC_RUN)
    assert np.array_equal(result.outputs["y"], plain.outputs["y"])
    assert noted(lambda: tvmc.run(package, hostname=None, rpc_key=None, options={}))[1] == []


@pytest.mark.parametrize(
    ("device", "text"), [("micro", "micro"), ("cuda", "cuda"), ("", "''"), (None, "None")]
)
def test_other_devices(package, device, text):
    row = find(TVMC_RUN, DEVICE, text)
    with pytest.raises(tvmc.TVMCException) as error:
        tvmc.run(package, device)
    assert str(error.value) == f"tvmc.run: {row.sentence(text)}"


def test_the_parameters_of_a_package(package):
    (row,) = (row for row in TVMC_NAMES if row.verdict == ACCEPTED)
    assert noted(lambda: package.params) == (None, [row.sentence()])


def test_accepted_arguments_of_compile(model, package):
    given = {**accepted(TVMC_COMPILE), "dump_code": "tir,c", "target_host": "c"}
    with pytest.warns(CompatibilityNote) as caught:
        noted_package = tvmc.compile(model, **given)
    assert noted_package.archive.files == package.archive.files
    told = [str(each.message) for each in caught]
    assert [text.partition(":")[0] for text in told] == [
        "dump_code=tir",
        "dump_code=c",
        "desired_layout_ops=x",
        "mixed_precision_ops=x",
        "mixed_precision_calculation_type=x",
        "mixed_precision_acc_type=x",
        "target_host",
    ]


@pytest.mark.parametrize("row", rows(TVMC_NAMES, REFUSED))
def test_a_name_that_is_gone_says_why(row, model, package):
    owner, _, name = row.name.rpartition(".")
    if row.name in ("tune", "TVMCPackage.project_dir"):
        with pytest.raises(tvmc.TVMCException) as error:
            if name == "tune":
                tvmc.tune(model, target="c", trials=10)
            tvmc.TVMCPackage(package.package_path, "project")
    else:
        where = {"": tvmc, "TVMCModel": model, "TVMCPackage": package}[owner]
        assert not hasattr(where, name)
        with pytest.raises(AttributeError) as error:
            getattr(where, name)
    assert str(error.value).endswith(f": {row.reason}")


def test_names_that_never_were(model):
    for owner in (tvmc, model):
        with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
            owner.nothing  # noqa: B018


@pytest.mark.cc
def test_a_script_of_the_guide(tmp_path, file, capsys):
    """Load, compile, run, print, with arguments by position as the guide has them."""
    model = tvmc.load(file, "tflite", None)
    package = tvmc.compile(
        model,
        "c",
        3,
        usmp.Executor("aot"),
        usmp.Runtime("crt"),
        package_path=str(tmp_path / "module.tar"),
        output_format="mlf",
        tuning_records=None,
        use_vm=False,
    )
    result = tvmc.run(
        tvmc.TVMCPackage(package_path=str(tmp_path / "module.tar")),
        device="cpu",
        fill_mode="ones",
        benchmark=True,
        repeat=2,
        number=2,
    )
    print(result)
    title, _, times, *names = capsys.readouterr().out.splitlines()
    assert title == "Execution time summary:"
    assert len(times.split()) == 5
    assert names[0] == "Output Names:"
    assert np.array_equal(result.get_output("output_0"), next(iter(result.outputs.values())))
    assert (package.type, package.executor_type) == ("mlf", "aot")
    absent = ("lib_name", "lib_path", "graph", "project_dir")
    assert [getattr(package, name) for name in absent] == [None] * 4


def test_a_saved_model_is_loaded_again(model, tmp_path, monkeypatch):
    # The process that looks at files of others first.
    monkeypatch.setattr("usmp.driver.python.model._ends_the_process", lambda text: False)
    model.save(tmp_path / "model.json")
    other = tvmc.TVMCModel(tvm.IRModule(), {"w": np.zeros(1)})
    other.load(tmp_path / "model.json")
    assert tvm_ffi.structural_equal(other.mod, model.mod)
    assert other.params == {}


def test_outputs_are_found_by_both_names(tmp_path):
    a, b = np.zeros(1), np.ones(2)
    result = tvmc.TVMCResult({"y": a, "z": b}, [0.25])
    for outputs in (result.outputs, copy.copy(result).outputs):
        assert list(outputs) == ["y", "z"] and len(outputs) == 2
        assert outputs["output_1"] is outputs["z"] is outputs.get("output_1")
        assert "output_1" in outputs and "output_2" not in outputs
        keys = outputs.keys()
        assert "output_1" in keys and "output_2" not in keys
        assert list(keys) == ["y", "z"] and keys == {"y", "z"}
        assert list(reversed(keys)) == ["z", "y"] and repr(keys) == "dict_keys(['y', 'z'])"
        assert dict(outputs) == {**outputs} == {"y": a, "z": b}
        assert outputs.get("output_2", 7) == 7
    with pytest.raises(KeyError):
        result.get_output("output_2")
    again = tvmc.TVMCResult(result.outputs, result.times)
    assert again.format_times() == result.format_times()
    result.save(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays.files == ["y", "z", "output_0", "output_1"]
    again = pickle.loads(pickle.dumps(Outputs({"y": a, "cache": b}, 1)))
    assert again.aliases == {"output_0": "y"}
    assert list(again.under_all_names()) == ["y", "cache", "output_0"]


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (
            {"x": "int8"},
            'dtype_dict: input "x" is float32 in the file, not int8; its inputs: '
            "x: float32; convert the model where it is exported, or the input where it is "
            "given",
        ),
        (
            {"image": "float32"},
            'dtype_dict: the model has no input "image". Its inputs: x: float32',
        ),
    ],
)
def test_types_of_inputs_must_be_those_of_the_model(file, types, message):
    (name,) = (str(parameter.name) for parameter in tvmc.load(file).mod["main"].params)
    (dtype,) = (str(parameter.ty.dtype) for parameter in tvmc.load(file).mod["main"].params)
    assert (name, dtype) == ("x", "float32")
    assert tvmc.load(file, dtype_dict={name: dtype}).mod["main"]
    with pytest.raises(tvmc.TVMCException) as error:
        tvmc.load(file, dtype_dict=types)
    assert str(error.value) == message


def too_small() -> usmp.WorkspaceMemoryPools:
    return usmp.WorkspaceMemoryPools(
        [usmp.WorkspacePoolInfo("sram", ["c"], usmp.PoolInfoProperties(size_hint_bytes=1))]
    )


@pytest.mark.parametrize(
    ("call", "error_class", "message"),
    [
        (lambda m: tvmc.load("missing.tflite"), usmp.UnsupportedModelError, "missing.tflite: No"),
        (lambda m: tvmc.load("missing.tflite", "onnx"), ValueError, "missing.tflite: the file is"),
        (lambda m: tvmc.compile(m, "pigeon"), ValueError, 'unknown target "pigeon"'),
        (lambda m: tvmc.compile(m, runtime="cpp"), ValueError, 'Runtime("cpp"), interface-api c: '),
        (lambda m: tvmc.compile(m, state_layout="no.json"), ValueError, "no.json: No such file"),
        (
            lambda m: tvmc.compile(
                m,
                workspace_pools=too_small(),
                pass_context_configs=["tir.usmp.use_workspace_io=1"],
            ),
            usmp.DoesNotFitError,
            "",
        ),
        (lambda m: tvmc.TVMCPackage("missing.tar"), ValueError, "missing.tar: No such file"),
    ],
    ids=["no-file", "format", "target", "runtime", "layout", "pool", "archive"],
)
def test_errors_are_tvmc_exceptions_of_their_own_class(model, call, error_class, message):
    with pytest.raises(tvmc.TVMCException) as error:
        call(model)
    assert isinstance(error.value, error_class)
    assert str(error.value).startswith(message)


@pytest.mark.cc
def test_errors_of_a_run(package, monkeypatch):
    with pytest.raises(tvmc.TVMCException, match='the model has no input "z"'):
        tvmc.run(package, inputs={"z": np.zeros(1)})
    monkeypatch.setenv("CC", "false")
    with pytest.raises(tvmc.TVMCException, match="C compiler false failed"):
        tvmc.run(package)


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: tvmc.load(folder / "m.onnx"),
        lambda folder: tvmc.TVMCPackage(folder / "m.tar"),
        lambda folder: tvmc.TVMCModel(model_path=folder / "m.json"),
        lambda folder: tvmc.TVMCModel(module(), {}).save(folder / "absent" / "m.json"),
    ],
    ids=["load", "package", "model", "save"],
)
def test_a_missing_file_is_what_python_calls_it(tmp_path, call):
    with pytest.raises(FileNotFoundError, match=r"m\..*No such file or directory") as error:
        call(tmp_path)
    assert isinstance(error.value, tvmc.TVMCException)


def test_a_missing_package_is_an_import_error():
    assert issubclass(MissingPackageError, tvmc.TVMCImportError)
    assert issubclass(MissingPackageError, usmp.UnsupportedModelError)
    assert issubclass(tvmc.TVMCImportError, tvmc.TVMCException)


@tvm.ir.instrument.pass_instrument
class Watch:
    """Notes the passes that run, and the context."""

    def __init__(self):
        self.names, self.contexts = set(), set()

    def run_before_pass(self, mod, info):
        context = PassContext.current()
        self.names.add(str(info.name))
        self.contexts.add((int(context.opt_level), *map(str, context.disabled_pass)))


def test_instruments_run_in_the_context(model):
    given, outer = Watch(), Watch()
    passes = "usmp.OrderOperators", "usmp.SelectKernels"
    tvmc.compile(model, opt_level=2, disabled_pass=", ".join(passes), instruments=[given])
    assert given.contexts == {(2, *passes)}
    assert "usmp.UnifiedStaticMemoryPlanner" in given.names
    with PassContext(opt_level=1, instruments=[outer]):
        tvmc.compile(model, disabled_pass=passes)
    # All passes run at level 1, as at level 3.
    assert (3, *passes) in outer.contexts
    assert outer.names >= given.names


def test_passes_are_timed_and_printed(model, capsys):
    planner = "usmp.UnifiedStaticMemoryPlanner"
    tvmc.compile(model, print_pass_times=True, print_ir_before=[planner], print_ir_after=planner)
    ir, _, times = capsys.readouterr().out.partition("Compilation time breakdown by pass:\n")
    assert f"# IR before {planner}\n" in ir and f"# IR after {planner}\n" in ir
    assert "def __tvm_main__" in ir
    assert re.search(rf"^  {planner}: [0-9.]+ ms$", times, re.MULTILINE)
    with pytest.raises(tvmc.TVMCException) as error:
        tvmc.compile(model, print_ir_after=["tir.ConvertSSA"])
    assert str(error.value) == (
        "pass tir.ConvertSSA did not run, so there is nothing to print; print_pass_times "
        "(--print-pass-times) shows the names of those that do"
    )


def test_options_of_a_target(model):
    options = {"c": {"mcpu": "cortex-m4"}}
    package = tvmc.compile(model, "c", additional_target_options=options, reference=False)
    expected = tvmc.compile(model, "c -mcpu=cortex-m4", reference=False)
    assert package.archive.files == expected.archive.files


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (
            "llvm",
            {"c": {"mcpu": "cortex-m4"}},
            'additional_target_options["c"]["mcpu"]: target=llvm does not name "c"',
        ),
        (
            "c -mcpu=cortex-m3",
            {"c": {"mcpu": "cortex-m4"}},
            'additional_target_options["c"]["mcpu"] and target="c -mcpu=cortex-m3" both give '
            "-mcpu; give one",
        ),
        (
            {"kind": "c"},
            {"c": {"mcpu": "cortex-m4"}},
            "additional_target_options: target={'kind': 'c'} is no text; write the options into it",
        ),
        ("c", {"c": {"mcpu": "cortex-m44"}}, "target c: unknown -mcpu=cortex-m44. Did"),
    ],
    ids=["other", "twice", "dict", "core"],
)
def test_options_that_no_target_takes(model, target, options, message):
    with pytest.raises(tvmc.TVMCException) as error:
        tvmc.compile(model, target, additional_target_options=options)
    assert str(error.value).startswith(message)
