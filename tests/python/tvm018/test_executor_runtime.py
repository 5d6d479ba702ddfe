"""`Executor` and `Runtime` are used as those of TVM 0.18 were, or say why not."""

from __future__ import annotations

import operator
import warnings

import pytest

import usmp
from support.tflite_file import one_operator_model
from usmp.support.compatibility import CompatibilityNote
from usmp.tvm018 import EXECUTOR, RUNTIME, SECTIONS, find
from usmp.tvm018.executor_runtime import CPP_SYSTEM_LIB, LINK_PARAMS, SYSTEM_LIB

C = usmp.Executor("aot", {"interface-api": "c"})
PACKED = usmp.Executor("aot", {"interface-api": "packed"})
ATTRIBUTES = [
    pytest.param(owner, row, id=row.name)
    for owner in (usmp.Executor, usmp.Runtime)
    for row in SECTIONS[owner.__name__]
    if row.name.startswith(f"{owner.__name__}.")
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A model of one operator."""
    path = tmp_path_factory.mktemp("model") / "small.tflite"
    path.write_bytes(one_operator_model())
    return str(path)


def test_options_by_name():
    executor = usmp.Executor("aot", {"interface-api": "c", "unpacked-api": True})
    assert executor["interface-api"] == "c"
    assert executor["unpacked-api"] is True
    assert executor["link-params"] is True
    assert "interface-api" in executor and "workspace-byte-alignment" not in executor
    with pytest.raises(KeyError, match="workspace-byte-alignment"):
        executor["workspace-byte-alignment"]
    assert "interface-api" not in usmp.Executor("aot")
    assert usmp.Runtime("crt", {"system-lib": False})["system-lib"] is False
    assert "system-lib" not in usmp.Runtime("crt")


def test_the_text_is_the_name():
    assert str(C) == str(PACKED) == "aot"
    assert str(usmp.Runtime("crt")) == "crt"
    assert repr(C) == 'usmp.Executor(name="aot", options={"interface-api": "c"})'
    assert repr(usmp.Runtime("cpp")) == "Runtime(name='cpp', options={})"


@pytest.mark.parametrize(
    ("one", "same", "others"),
    [
        (
            C,
            usmp.Executor("aot", {"interface-api": "c"}),
            [PACKED, usmp.Executor("aot"), usmp.Runtime("crt"), "aot", None],
        ),
        (
            usmp.Executor("aot", {"unpacked-api": True, "interface-api": "c"}),
            usmp.Executor("aot", {"interface-api": "c", "unpacked-api": 1, "link-params": True}),
            [C],
        ),
        (
            usmp.Runtime("crt"),
            usmp.Runtime("crt"),
            [usmp.Runtime("cpp"), usmp.Runtime("crt", {"system-lib": False}), "crt"],
        ),
    ],
)
def test_equality_is_that_of_name_and_options(one, same, others):
    assert one == same
    assert not operator.ne(one, same)
    assert hash(one) == hash(same)
    for other in others:
        assert one != other
        assert not operator.eq(one, other)


@pytest.mark.parametrize(("owner", "row"), ATTRIBUTES)
def test_the_registry_is_gone(owner, row):
    name = row.name.rpartition(".")[2]
    for where in (owner, owner("aot" if owner is usmp.Executor else "crt")):
        assert not hasattr(where, name)
        with pytest.raises(AttributeError) as error:
            getattr(where, name)
        assert str(error.value) == row.sentence()


@pytest.mark.parametrize("value", [True, 1])
def test_a_system_library_changes_nothing(model, value):
    with pytest.warns(CompatibilityNote) as caught:
        runtime = usmp.Runtime("crt", {"system-lib": value})
    assert [str(each.message) for each in caught] == [SYSTEM_LIB.sentence(str(value))]
    assert caught[0].filename == __file__
    assert usmp.build(model, runtime=runtime).files() == usmp.build(model).files()


def test_packed_functions_are_in_no_table():
    with pytest.raises(ValueError) as error:
        usmp.Runtime("cpp", {"system-lib": True})
    assert str(error.value) == CPP_SYSTEM_LIB.sentence()


def test_no_system_library_is_no_note():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("crt", "cpp"):
            usmp.Runtime(name, {"system-lib": False})


@pytest.mark.parametrize("value", [False, 0])
def test_constants_are_linked(value):
    with pytest.raises(ValueError) as error:
        usmp.Executor("aot", {"link-params": value})
    assert str(error.value) == LINK_PARAMS.sentence(str(value))


def test_the_graph_executor(model):
    with pytest.raises(ValueError) as error:
        usmp.build(model, executor="graph")
    assert str(error.value) == find(EXECUTOR, 'Executor("graph")').sentence()


@pytest.mark.parametrize("runtime", ["crt", "cpp"])
@pytest.mark.parametrize("executor", [C, PACKED], ids=["c", "packed"])
def test_runtimes_call_functions_of_one_interface(model, runtime, executor):
    row = find(RUNTIME, f'Runtime("{runtime}"), interface-api {executor["interface-api"]}')
    assert (row is None) == ((runtime == "cpp") == executor.is_packed)
    if row is None:
        built = usmp.build(model, executor=executor, runtime=runtime)
        assert built.executor == executor and built.runtime == usmp.Runtime(runtime)
        return
    for given in (runtime, usmp.Runtime(runtime)):
        with pytest.raises(ValueError) as error:
            usmp.build(model, executor=executor, runtime=given)
        assert str(error.value) == row.sentence()
