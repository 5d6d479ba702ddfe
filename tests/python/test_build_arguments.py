"""`usmp.build`: a model file in the place of a module, and arguments of `tvm.relay.build`."""

from __future__ import annotations

import pytest

import usmp
from support.relax_models import PARAMS, Attention
from support.tflite_file import one_operator_model


def build(**arguments) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(Attention, params=PARAMS, **arguments)


@pytest.mark.parametrize("as_type", [str, lambda path: path], ids=["str", "path"])
def test_the_path_of_a_model(tmp_path, as_type):
    path = tmp_path / "relu.tflite"
    path.write_bytes(one_operator_model())
    built = usmp.build(as_type(path))
    assert built.files() == usmp.build(usmp.import_model(path)).files()


def test_a_path_without_a_model(tmp_path):
    with pytest.raises(usmp.UnsupportedModelError, match=r"no\.tflite: No such file"):
        usmp.build(tmp_path / "no.tflite")


@pytest.mark.parametrize(("model", "name"), [(b"TFL3", "bytes"), (None, "NoneType")])
def test_what_is_no_model(model, name):
    with pytest.raises(TypeError) as error:
        usmp.build(model)
    assert str(error.value) == (
        "usmp.build takes a Relax IRModule or the path of a model file, not "
        f"{name}; usmp.import_model reads files"
    )


@pytest.mark.slow
def test_mod_name_is_module_name():
    assert build(mod_name="net").header == build(module_name="net").header
    assert build(mod_name="net", module_name="net").module_name == "net"
    assert build().module_name == "default"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"mod_name": ""}, "module_name is empty; it is the prefix of the C symbols"),
        (
            {"module_name": "a", "mod_name": "b"},
            'module_name "a" and mod_name "b" contradict each other; give one of them',
        ),
    ],
)
def test_wrong_names(names, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        build(**names)


@pytest.mark.slow
@pytest.mark.parametrize(
    "runtime", ["crt", usmp.Runtime("crt"), usmp.Runtime("crt", {"system-lib": False})], ids=repr
)
def test_the_runtime_changes_nothing(runtime):
    assert build(runtime=runtime).files() == build().files()


def test_an_unknown_runtime():
    with pytest.raises(
        ValueError,
        match=r'^unknown runtime "rpc"\. The C needs none\. Runtimes: crt, cpp$',
    ):
        build(runtime="rpc")


@pytest.mark.parametrize("name", ["crt", "cpp"])
def test_an_unknown_option_of_a_runtime(name):
    with pytest.raises(
        ValueError, match=f'^unknown option "stack" of runtime {name}\\. Options: system-lib$'
    ):
        usmp.Runtime(name, {"stack": 1})


def test_what_is_no_runtime():
    with pytest.raises(TypeError, match=r"^runtime takes Runtime, not int$"):
        build(runtime=3)


@pytest.mark.slow
def test_ir_mod_is_mod():
    assert usmp.build(ir_mod=Attention, params=PARAMS).files() == build().files()
    with pytest.raises(TypeError, match=r"^mod and ir_mod are two names of one argument; give one"):
        usmp.build(Attention, ir_mod=Attention)
    with pytest.raises(TypeError, match=r"^usmp\.build takes a Relax IRModule .* not NoneType"):
        usmp.build()
