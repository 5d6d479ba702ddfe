"""Time by operator on this host: hooks are called, and see the operators alone."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from support.accelerator_models import MATMUL, MATMUL_C, registered
from support.entry_models import entry_model
from support.micro import Micro
from support.planner_views import plan
from support.relax_models import PARAMS, Attention, X
from support.small_digits import small_convolutions, small_digits
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR
from usmp.runtime import BuildError, HostProfiler, NotProfiled, load_archive, profile_on_host
from usmp.runtime.archived.read_metadata import DamagedMetadata
from usmp.transform import CallOperatorHooks

pytestmark = pytest.mark.cc

SMALL = small_digits()
IMAGE = {"image": np.ones((1, 8, 8, 1), np.int8)}


def profiled(model, *arguments, **options):
    with PassContext(config={"tir.usmp.debug": ["profile"]}):
        return usmp.build(model, *arguments, **options)


@cache
def profiled_small():
    return profiled(import_tflite(SMALL))


def metadata_of(factory):
    return factory.metadata["modules"][factory.module_name]


@I.ir_module
class Unequal:
    """Three operators; the second one takes a thousand times the time of the first."""

    @T.prim_func
    def little(a: T.handle("float32"), b: T.handle("float32")):
        T.func_attr({"target": T.target("c")})
        A = T.decl_buffer((64,), "float32", data=a)
        B = T.decl_buffer((64,), "float32", data=b)
        for i in range(64):
            B[i] = T.exp(A[i])

    @T.prim_func
    def much(a: T.handle("float32"), b: T.handle("float32")):
        T.func_attr({"target": T.target("c")})
        A = T.decl_buffer((64,), "float32", data=a)
        B = T.decl_buffer((64,), "float32", data=b)
        for j in range(1000):
            for i in range(64):
                B[i] = T.exp(A[i] + T.Cast("float32", j))

    @T.prim_func
    def __tvm_main__(x: T.handle("float32"), y: T.handle("float32")):
        T.func_attr({"target": T.target("c")})
        c = T.alloc_buffer((64,), "float32")
        d = T.alloc_buffer((64,), "float32")
        Unequal.little(x, c.data)
        Unequal.much(c.data, d.data)
        Unequal.little(d.data, y)


@pytest.mark.slow
def test_a_profile_of_convolutions():
    content = small_convolutions()
    factory, reference = profiled(import_tflite(content)), Micro(content)
    profiler = HostProfiler(factory.files(), metadata_of(factory))
    image = reference.random_inputs(0)
    expected = reference.run(image)["probabilities"]
    np.testing.assert_array_equal(profiler.module.run(image)["probabilities"], expected)
    profile = profiler.measure(image, runs=20)
    assert (profile.unit, profile.runs) == ("ns", 20)
    interleaved, *others = profile.operators
    # Operators that run interleaved are timed together.
    assert interleaved.functions == ("conv2d_to_conv2d1",)
    assert interleaved.kinds == ("conv2d 3x3", "conv2d 3x3 s2")
    assert len(others) == 2
    assert all(operator.cost > 0 for operator in profile.operators)
    assert 1_000 < profile.cost < 1e9


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("llvm",), ("c", usmp.Executor("aot", {"interface-api": "packed"}))],
    ids=["llvm", "packed"],
)
def test_other_targets_and_interfaces(arguments):
    factory = profiled(import_tflite(SMALL), *arguments)
    profiler = HostProfiler(factory.files(), metadata_of(factory))
    expected = Micro(SMALL).run(IMAGE)["probabilities"]
    np.testing.assert_array_equal(profiler.module.run(IMAGE)["probabilities"], expected)
    profile = profiler.measure(IMAGE, runs=20)
    assert (profile.unit, profile.runs, len(profile.operators)) == ("ns", 20, 2)
    assert all(0 < operator.cost < 1e9 for operator in profile.operators)


def test_times_are_those_of_the_operators():
    described = {
        name: [TensorInfo(tensor, [64], "float32")]
        for name, tensor in ((INPUT_TENSORS_ATTR.name, "x"), (OUTPUT_TENSORS_ATTR.name, "y"))
    }
    mod = IRModule(Unequal.functions)
    main = mod["__tvm_main__"].with_attrs(described)
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    factory = AOTExecutorFactoryModule(CallOperatorHooks()(plan(mod)), "default")
    inputs = {"x": np.ones(64, np.float32)}
    little, much, again = profile_on_host(
        factory.files(), metadata_of(factory), inputs, runs=20
    ).operators
    assert much.cost > 100 * max(little.cost, again.cost)
    assert little.functions == again.functions == ("little",)


@pytest.mark.slow
def test_runs_last_about_a_second_unless_they_are_counted():
    factory = profiled_small()
    profiler = HostProfiler(factory.files(), metadata_of(factory))
    assert 5 <= profiler.measure(IMAGE).runs <= 1000
    assert profiler.measure(IMAGE, runs=1).runs == 1
    with pytest.raises(ValueError, match="at least one run, not 0"):
        profiler.measure(IMAGE, runs=0)


@pytest.mark.slow
def test_each_entry_has_a_profile():
    factory = profiled(entry_model())
    profiler = HostProfiler(factory.files(), metadata_of(factory))
    x = {"x": np.ones((1, 8), np.float32)}
    learn, tell = (profiler.measure(x, entry, 3) for entry in ("learn", "tell"))
    assert {o.entry for o in learn.operators} == {"learn"}
    assert not {o.index for o in learn.operators} & {o.index for o in tell.operators}


def test_functions_of_an_accelerator_are_operators(tmp_path):
    with registered(MATMUL):
        factory = profiled(Attention, "accel,c", params=PARAMS)
    files, metadata = factory.files(), metadata_of(factory)
    with pytest.raises(BuildError, match="give the C file that defines them"):
        HostProfiler(files, metadata)
    source = tmp_path / "accel.c"
    source.write_text(MATMUL_C.replace("STOP", "-1"))
    profile = profile_on_host(files, metadata, {"x": X}, runs=2, sources=[source])
    on_accelerator = [o for o in profile.operators if "accel" in o.functions[0]]
    assert [o.macs for o in on_accelerator] == [16 * 64] * 3
    assert all(operator.cost > 0 for operator in on_accelerator)


def test_operators_that_the_code_does_not_have_are_refused():
    """How many are counted is what the code says."""
    factory = profiled_small()
    metadata = metadata_of(factory)
    metadata["operators"] = [*metadata["operators"], metadata["operators"][0]]
    with pytest.raises(DamagedMetadata, match='has other "operators" than its code'):
        profile_on_host(factory.files(), metadata, IMAGE, runs=1)


@pytest.mark.slow
def test_an_archive_has_a_profiler(tmp_path):
    path = tmp_path / "digits.tar"
    profiled_small().export_model_library_format(path)
    assert len(load_archive(path).profiler().measure(IMAGE, runs=1).operators) == 2
    usmp.build(import_tflite(SMALL)).export_model_library_format(path)
    with pytest.raises(NotProfiled, match="compile the model with --profile"):
        load_archive(path).profiler()
