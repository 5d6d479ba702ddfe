"""Kernels are compared with the operators that they replace, by C that both are printed as."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from support import kernel_collection
from support.imported_models import imported
from support.kernel_collection import Collection
from support.quantized_models import CATALOG
from usmp.aot.kernel_checks import inputs, verify_kernels
from usmp.aot.kernel_checks.kernel_body import KernelBody
from usmp.aot.kernel_checks.verify_kernels import kernel_differences
from usmp.aot.transform import SelectKernels, select_kernels
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.mve.ending import VectorEnding
from usmp.planning.session import planning_session
from usmp.relax.transform import FuseOperators
from usmp.support.errors import FaultError

pytestmark = pytest.mark.cc

CORE = CORES["cortex-m55"]
VERIFY = {"tir.usmp.debug": ["verify_kernels"]}


def model_named(name: str) -> IRModule:
    return imported(next(model for model in CATALOG if model.name == name))


def fused(name: str) -> IRModule:
    """A model of the catalog as `SelectKernels` takes it."""
    return FuseOperators()(model_named(name))


@pytest.fixture
def lost_function(monkeypatch):
    """Vector kernels lose what follows the limits of a sum."""
    monkeypatch.setattr(VectorEnding, "is_plain", property(lambda _: True))
    monkeypatch.setattr(VectorEnding, "functions", lambda *_: None)
    with kernel_collection.paused():
        yield


def selected_bodies(mod: IRModule) -> list[KernelBody]:
    return select_kernels._bodies(select_kernels._selected(mod, CORE), CORE)


@pytest.mark.slow
def test_a_kernel_that_loses_a_function_is_refused(lost_function):
    with PassContext(config=VERIFY), pytest.raises(FaultError) as error:
        usmp.build(model_named("sequence_conv_leaky_relu"), "c -mcpu=cortex-m55")
    assert str(error.value) == (
        "the kernel of operators 0 CONV_2D, 1 LEAKY_RELU (8x8x4) for cortex-m55 in tiles of 2 "
        "pixels x 4 channels, vectors, windows on the stack gives -18 at [0, 0, 0, 0] of its "
        "output 0, where the operator gives -92, and 1 more; this is a fault of usmp, please "
        'report it with the model. A PassContext with disabled_pass=["usmp.SelectKernels"] builds '
        "it without kernels"
    )


def test_without_that_pass_there_are_no_kernels(lost_function):
    context = PassContext(config=VERIFY, disabled_pass=["usmp.SelectKernels"])
    with context:
        factory = usmp.build(model_named("sequence_conv_leaky_relu"), "c -mcpu=cortex-m55")
    assert not any(b"tvmgen_mve" in text for text in factory.files().values())


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with PassContext(config=VERIFY), pytest.raises(ValueError) as error:
        SelectKernels(CORE)(fused("conv_2d_relu"))
    assert str(error.value) == (
        "tir.usmp.debug=verify_kernels runs kernels on this host: C compiler no-such-compiler "
        "cannot be started (No such file or directory); install one (apt-get install gcc) or name "
        "one in the environment variable CC"
    )


@pytest.mark.slow
def test_a_body_is_compared_once_in_a_session(monkeypatch):
    compared = []

    def differences(bodies):
        compared.append(len(bodies))
        return kernel_differences(bodies)

    monkeypatch.setattr(verify_kernels, "kernel_differences", differences)
    mod = fused("conv_2d_relu")
    with planning_session(), PassContext(config=VERIFY):
        SelectKernels(CORE)(mod)
        SelectKernels(CORE)(mod)
    assert compared == [2, 0]


@pytest.mark.slow
@pytest.mark.parametrize("large", [0, 2**18], ids=["all are large", "none is large"])
def test_a_kernel_that_ends_the_program(large, monkeypatch):
    """Large operators are compared in a program of their own."""
    monkeypatch.setattr(inputs, "_LARGE", large)
    mod = fused("conv_2d_relu")
    body = selected_bodies(mod)[0]
    abort = tirx.Evaluate(tirx.call_extern("int32", "abort"))
    ends = KernelBody(body.operator, "none", body.kernel, body.func.with_body(abort))
    (difference,) = kernel_differences([ends])
    assert str(difference) == (
        "the kernel of operator 0 CONV_2D (7x9x6) for none in tiles of 1 pixel x 4 channels, "
        "vectors, windows on the stack ends the program with exit status -6"
    )


def test_the_tests_compare_what_they_select():
    mod = fused("conv_2d_relu")
    with kernel_collection.paused():
        digests = {body.digest for body in selected_bodies(mod)}
    collection = kernel_collection.collection()
    collection.seen -= digests
    SelectKernels(CORE)(mod)
    assert len(digests) == 2
    assert digests <= collection.seen
    assert all((collection.folder / digest).exists() for digest in digests)


def test_the_tests_say_which_of_them_selected_what_differs(lost_function, tmp_path):
    collection = Collection(tmp_path, test="test_it.py::test_it")
    for body in selected_bodies(fused("sequence_conv_leaky_relu")):
        collection.add(body)
    (first, *_) = collection.failures()
    assert first.endswith("\nselected by test_it.py::test_it")
    assert "CONV_2D" in first
    assert collection.pending == collection.failures() == []


def _difference(place, expected, actual, dtype="int16"):
    """What is said of bytes from a place of the second output on: (3, 4) after 4 of int8."""
    outputs = [
        SimpleNamespace(shape=(4,), dtype="int8"),
        SimpleNamespace(shape=(3, 4), dtype=dtype),
    ]
    check = SimpleNamespace(
        buffers=lambda: ["input", *outputs], operator=SimpleNamespace(outputs=outputs)
    )
    hexadecimal = [np.array(values, dtype).tobytes().hex() for values in (expected, actual)]
    return verify_kernels._described(check, ["2", str(place), *hexadecimal])


def test_what_differs_is_an_element_of_an_output():
    where = "gives 7 at [1, 2] of its output 1, where the operator gives -300"
    # The program says the byte, and the eight around it.
    assert _difference(12, [1, 2, -300, 4], [1, 2, 7, 4]) == where
    assert _difference(13, [1, 2, -300, 4], [1, 2, 7, 4]) == where
    assert _difference(24, [1, 2, 3, 4], [0, 0, 0, 0]) == "writes outside of its output 1"
    assert _difference(22, [1, 2, 3, 4], [1, 2, 3, 5]).startswith("gives 5 at [2, 3]")
    assert _difference(44, [1, 2], [1, 0], "int32").startswith("gives 0 at [2, 3]")
