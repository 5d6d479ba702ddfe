"""What scripts of TVM 0.18 call works on what `usmp.build` returns, or says what to write."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import pickle
import warnings

import numpy as np
import pytest
import tvm
from tvm.script import relax as R

import usmp
from support.all_cases import check_all
from support.tflite_file import one_operator_model
from usmp.support.compatibility import CompatibilityNote
from usmp.tvm018 import MAPPED, REFUSED, OldName, find
from usmp.tvm018.python_names import (
    BUILD,
    BY_POSITION,
    FACTORY,
    MICRO_PACKAGE,
    OTHER_TARGET_HOST,
    OUTPUT_TENSOR_NAMES,
    RELAY,
    SAME_TARGET_HOST,
    TESTING,
    UNPACKED,
    row_of_attribute,
)

ELSEWHERE = (*RELAY, *MICRO_PACKAGE, *TESTING)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A model of one operator."""
    path = tmp_path_factory.mktemp("model") / "small.tflite"
    path.write_bytes(one_operator_model())
    return str(path)


@pytest.fixture(scope="module")
def factory(model) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(model, reference=True, mod_name="net")


def test_all_rows_of_builds_are_tried_here():
    assert BUILD == (
        BY_POSITION,
        SAME_TARGET_HOST,
        OTHER_TARGET_HOST,
        UNPACKED,
        OUTPUT_TENSOR_NAMES,
    )
    assert {row.verdict for row in FACTORY} == {REFUSED}


@pytest.mark.parametrize("value", [usmp.Executor("aot"), usmp.Runtime("crt")], ids=str)
def test_arguments_in_the_order_of_relay_build(model, value):
    for before in ([None], [None, None]):
        with pytest.raises(TypeError) as error:
            usmp.build(model, "c", *before, value)
        what = ("workspace", "Workspace") if len(before) == 1 else ("constant", "Constant")
        assert str(error.value) == (
            f"{what[0]}_memory_pools takes {what[1]}MemoryPools, not {type(value).__name__}; "
            f"{BY_POSITION.reason}"
        )


@pytest.mark.parametrize(
    ("host", "what"),
    [("c", 'target "c"'), ("llvm -mcpu=x", 'target "llvm -mcpu=x"'), ({"kind": "c"}, "dict")],
    ids=str,
)
def test_a_target_of_the_host_by_position(model, host, what):
    with pytest.raises(TypeError) as error:
        usmp.build(model, "c", host)
    assert str(error.value) == (
        f"executor takes an Executor or its name, not {what}; {BY_POSITION.reason}"
    )


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("c", "c"),
        ("c", tvm.target.Target("c")),
        ("c -mcpu=cortex-m4", {"kind": "c", "mcpu": "cortex-m4"}),
    ],
    ids=str,
)
def test_a_host_that_is_the_target_changes_nothing(model, target, host):
    built = usmp.build(model, target, target_host=None)
    with pytest.warns(CompatibilityNote) as caught:
        noted = usmp.build(model, target, target_host=host)
    assert noted.files() == built.files()
    assert [str(each.message) for each in caught] == [SAME_TARGET_HOST.sentence()]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("host", ["llvm", "c -mcpu=cortex-m4", "cuda", "c,llvm", ""])
def test_another_host(model, host):
    with pytest.raises(ValueError) as error:
        usmp.build(model, "c", target_host=host)
    assert str(error.value) == OTHER_TARGET_HOST.sentence()


def test_what_is_built_is_not_unpacked(factory):
    with pytest.raises(TypeError) as error:
        _graph, _lib, _params = factory
    assert str(error.value) == UNPACKED.sentence()
    with pytest.raises(TypeError, match="is not subscriptable"):
        factory["default"]


def test_attributes_that_are_gone_say_what_to_use(factory):
    for row in FACTORY:
        assert not hasattr(factory, row.name)
        with pytest.raises(AttributeError) as error:
            getattr(factory, row.name)
        assert str(error.value) == row.sentence()


def test_what_the_reasons_name_is_there(factory):
    for name in ("source", "header", "files", "run", "metadata", "memory_plan", "interface"):
        assert getattr(factory, name)
    assert factory.ir_mod and factory.export_model_library_format


def test_other_attributes_are_missing_as_usual(factory, monkeypatch):
    with pytest.raises(AttributeError, match=r"object has no attribute 'nothing'$"):
        factory.nothing  # noqa: B018

    def failing(_: object) -> None:
        raise AttributeError("of mine")

    monkeypatch.setattr(type(factory), "metadata", property(failing))
    with pytest.raises(AttributeError, match=r"^of mine$"):
        factory.metadata  # noqa: B018


def test_attributes_that_are_as_they_were(factory, model):
    assert factory.libmod_name == "net"
    assert factory.executor == usmp.Executor("aot")
    assert factory.runtime == usmp.Runtime("crt")
    assert str(factory.target.kind.name) == "c"
    assert factory.get_params() == factory.params == {}
    assert factory.get_devices() == factory.devices == []
    assert factory.get_executor_config() is None
    core = usmp.build(model, "c -mcpu=cortex-m4", reference=False)
    assert core.target.attrs["mcpu"] == "cortex-m4"


def test_copies_have_them_too(factory):
    for copied in (copy.copy(factory), copy.deepcopy(factory), pickle.loads(pickle.dumps(factory))):
        assert copied.libmod_name == "net"
        assert not hasattr(copied, "lib")


def test_names_of_other_packages():
    """None of them is in TVM, and `usmp` says why where it lacks the name."""
    check_all({row.name: (row,) for row in ELSEWHERE}, check_elsewhere)


def check_elsewhere(row: OldName) -> None:
    package, _, name = row.name.rpartition(".")
    with pytest.raises((ImportError, AttributeError)):
        getattr(importlib.import_module(package), name)
    if row.to == (f"usmp.{name}",):
        assert getattr(usmp, name)
        return
    assert not hasattr(usmp, name)
    with pytest.raises(AttributeError) as error:
        getattr(usmp, name)
    assert str(error.value) == f"module 'usmp' has no attribute '{name}': {row.sentence()}"


def test_names_of_relays_frontends():
    row = find(RELAY, "tvm.relay.frontend.from_onnx")
    with pytest.raises(AttributeError) as error:
        usmp.frontend.from_onnx  # noqa: B018
    assert str(error.value) == (
        f"module 'usmp.frontend' has no attribute 'from_onnx': {row.sentence()}"
    )
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        usmp.frontend.nothing  # noqa: B018


def test_the_attribute_that_names_outputs():
    old = OUTPUT_TENSOR_NAMES.name.split()[1]
    named = Negative["main"].with_attr("output_names", ["z"])
    for function, name in (
        (Negative["main"].with_attr(old, ["y"]), "y"),
        (named.with_attr(old, ["y"]), "z"),
    ):
        mod = tvm.IRModule({"main": function}, attrs=Negative.attrs)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            factory = usmp.build(mod)
        told = [str(each.message) for each in caught if each.category is CompatibilityNote]
        assert told == ([OUTPUT_TENSOR_NAMES.sentence()] if name == "y" else [])
        assert [str(each.info.name) for each in factory.interface.entries[0].outputs] == [name]


def test_a_last_part_names_one_row():
    names = [row.name.rpartition(".")[2] for row in ELSEWHERE]
    assert len(set(names)) == len(names)
    assert row_of_attribute("nothing") is None


def test_functions_that_take_the_place_are_there():
    places = [row.to[0] for row in ELSEWHERE if row.verdict == MAPPED]
    named = [place.removeprefix("usmp.") for place in places if place.startswith("usmp.")]
    names = [place.partition("(")[0] for place in named]
    assert names
    assert all(callable(getattr(usmp, name)) for name in names)


def test_parameters_of_export(factory, tmp_path):
    names = list(inspect.signature(usmp.export_model_library_format).parameters)
    assert names == ["mods", "file_name"]
    path = tmp_path / "net.tar"
    assert usmp.export_model_library_format([factory], file_name=path) == path


def test_the_error_of_model_library_format():
    assert usmp.UnsupportedInModelLibraryFormatError is usmp.UnsupportedModelError
    with pytest.raises(usmp.UnsupportedInModelLibraryFormatError):
        usmp.build("missing.tflite")


@tvm.script.ir_module
class Negative:
    """An output with as many elements as its input."""

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.negative(x)
            R.output(y)
        return y


def evaluated(name: str, **names: object) -> object:
    """The value of what takes the place of a name."""
    (text,) = find(TESTING, name).to
    return eval(text, {"usmp": usmp, **names})


def test_whether_a_runtime_allocates(factory):
    name = "tvm.testing.usmp.is_tvm_backendallocworkspace_calls"
    assert evaluated(name, factory=factory) is False


def test_the_sizes_of_functions(factory):
    name = "tvm.micro.model_library_format._build_function_memory_map"
    (text,) = find(MICRO_PACKAGE, name).to
    functions = eval(text, {"factory": factory})
    assert "workspace_size_bytes" in functions["main"][0]
    assert functions["operator_functions"][0]["function_name"]


def test_the_workspace_of_an_archive(tmp_path):
    path = tmp_path / "both.tar"
    built = [usmp.build(Negative, mod_name=name) for name in ("one", "two")]
    usmp.export_model_library_format(built, path)
    sizes = [
        factory.metadata["modules"][factory.module_name]["memory"]["functions"]["main"][0]
        for factory in built
    ]
    name = "tvm.micro.testing.utils.mlf_extract_workspace_size_bytes"
    assert evaluated(name, path=path) == sum(each["workspace_size_bytes"] for each in sizes)


@pytest.mark.slow
@pytest.mark.cc
def test_runs_that_are_compared_with_a_reference():
    inputs = {"x": np.arange(4, dtype="float32")}
    factory = evaluated("tvm.testing.aot.compile_models")(Negative)
    outputs = evaluated("tvm.testing.aot.compile_and_run", factory=factory, inputs=inputs)
    expected = evaluated("tvm.testing.aot.generate_ref_data", mod=Negative, inputs=inputs)
    assert outputs.keys() == expected.keys()
    for key, value in outputs.items():
        np.testing.assert_array_equal(value, -inputs["x"])
        np.testing.assert_array_equal(value, expected[key])
