"""Part of a model on an accelerator: the same outputs, every byte where it may be."""

from __future__ import annotations

import subprocess
from collections import defaultdict

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from conftest import ROOT
from support.accelerator_c import c_of
from support.accelerator_models import (
    CONV2D,
    EXAMPLE_C,
    TWO_C,
    Two,
    attention,
    matmul_source,
    registered,
    stated,
)
from support.c_program import SANITIZERS, build_program
from support.compilers import require, run_compiler
from support.levels import number
from support.relax_models import PARAMS, Attention, X
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.planning.session import planning_session
from usmp.relax.accelerators import quantized_operator
from usmp.runtime import BuildError

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
MAIN = """
#include <stdio.h>
#include "tvmgen_default.h"
extern int calls;
int main(void) {
  static float x[16], y[64];
  int counted = 0;
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {y};
  struct tvmgen_default_devices devices = {&counted};
  if (fread(x, sizeof(x), 1, stdin) != 1) return 100;
  const int32_t status = tvmgen_default_run(&inputs, &outputs, &devices);
  if (counted != calls) return 101;
  if (status != 0) return status * 10 + calls;
  return fwrite(y, sizeof(y), 1, stdout) != 1;
}
"""


def program_output(factory, folder, stop=-1):
    matmul_source(folder, stop)
    program = build_program(factory.files(), MAIN, folder, SANITIZERS)
    return subprocess.run([program], input=X.tobytes(), capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.cc
def test_a_float_model(tmp_path):
    expected = usmp.build(Attention, params=PARAMS).run({"x": X})["output"]
    done = program_output(attention(), tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    np.testing.assert_array_equal(np.frombuffer(done.stdout, np.float32), expected.ravel())


@pytest.mark.cc
def test_an_error_ends_the_run(tmp_path):
    """The second product returns 7; the third is not computed."""
    assert program_output(attention(), tmp_path, stop=1).returncode == 7 * 10 + 2


@pytest.mark.slow
@pytest.mark.cc
def test_the_host_module_takes_sources(tmp_path):
    factory = attention()
    expected = usmp.build(Attention, params=PARAMS).run({"x": X})["output"]
    loaded = factory.load([matmul_source(tmp_path)])
    np.testing.assert_array_equal(loaded.run({"x": X})["output"], expected)
    with pytest.raises(RuntimeError, match="model default returned 7"):
        factory.load([matmul_source(tmp_path, stop=0)]).run({"x": X})


@pytest.mark.cc
def test_a_function_with_two_outputs(tmp_path):
    """Partitioned by hand; an input of the model goes straight to it."""
    (tmp_path / "npu.c").write_text(TWO_C)
    loaded = usmp.build(Two, "my-npu,c").load([tmp_path / "npu.c"])
    x, y = np.arange(6, dtype="float32").reshape(2, 3), np.array([1, -1, 0.5], "float32")
    added = x + y
    softmax = np.exp(added) / np.exp(added).sum(axis=1, keepdims=True)
    output = loaded.run({"x": x, "y": y})["output"]
    np.testing.assert_allclose(output, (softmax + added).ravel(), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.cc
def test_inputs_and_outputs_in_the_workspace(tmp_path):
    expected = usmp.build(Attention, params=PARAMS).run({"x": X})["output"]
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        loaded = attention().load([matmul_source(tmp_path)])
    np.testing.assert_array_equal(loaded.run({"x": X})["output"], expected)


@pytest.mark.slow
@pytest.mark.cc
def test_functions_that_nobody_defines(tmp_path):
    with pytest.raises(BuildError) as caught:
        attention().load()
    symbols = ", ".join(f"tvmgen_default_accel_main_{n}" for n in range(2))
    assert str(caught.value) == (
        f"the model calls {symbols} of accelerators (accel); give the C file that defines them "
        "(tvmc run --extra-source FILE.c, or load(sources=[...]) in Python)"
    )
    with pytest.raises(BuildError, match=r"missing\.c: no such file"):
        attention().load([tmp_path / "missing.c"])


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
def test_the_code_is_strict_c99(compiler, tmp_path):
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wcast-qual", "-c"]
    for name, content in attention().files().items():
        if name.startswith("codegen/"):
            (tmp_path / name.rpartition("/")[2]).write_bytes(content)
    require(compiler)
    command = [compiler, *flags, f"-I{tmp_path}", tmp_path / "default_lib0.c"]
    run_compiler([*command, "-o", tmp_path / "a.o"])


POOLS = {
    "workspace_memory_pools": WorkspaceMemoryPools(
        [
            WorkspacePoolInfo("dtcm", ["c"]),
            WorkspacePoolInfo("npu_sram", ["accel"]),
            WorkspacePoolInfo("sram", ["c", "accel"]),
        ]
    ),
    "constant_memory_pools": ConstantMemoryPools(
        [
            ConstantPoolInfo("itcm", ["c"]),
            ConstantPoolInfo("npu_flash", ["accel"]),
        ]
    ),
}


@pytest.fixture(scope="module")
def offloaded_digits():
    """The digits model with its convolutions on the accelerator, which has memory of its own."""
    with registered(CONV2D):
        return usmp.build(usmp.import_model(DIGITS), "accel,c", module_name="digits", **POOLS)


@pytest.fixture(scope="module")
def digits_alone():
    return usmp.build(usmp.import_model(DIGITS), "c")


def buffers_by_pool(factory):
    pools = defaultdict(set)
    for buffer in factory.memory_plan.buffers:
        pools[str(buffer.pool_name)].add(f"{buffer.function}: {buffer.name}")
    return dict(pools)


@pytest.mark.slow
@pytest.mark.cc
def test_every_buffer_lies_where_all_that_touch_it_may_be(offloaded_digits):
    """What only c touches, what only accel touches, and what passes between them."""
    constants = ("weight", "bias", "multiplier", "shift")
    numbered = {n: "" if n == 0 else f"_{n}" for n in range(4)}
    assert buffers_by_pool(offloaded_digits) == {
        "dtcm": {f"__tvm_main__: {name}" for name in ("max_pool", "mean", "fully_connected")},
        "npu_sram": {f"call_accel_main_{n}: workspace{suffix}" for n, suffix in numbered.items()},
        "sram": {
            *(f"__tvm_main__: call_accel_main_{n}" for n in range(4)),
            "__tvm_main__: depthwise_conv2d",
            "__tvm_main__: add",
        },
        "itcm": {
            "__tvm_main__: depthwise_conv2d_constant_1",
            "__tvm_main__: depthwise_conv2d_constant_2",
            "__tvm_main__: fully_connected_constant_1",
            "__tvm_main__: fully_connected_constant_2",
            "__tvm_main__: softmax_constant_1",
        },
        "npu_flash": {
            f"call_accel_main_{n}: {name}{suffix}"
            for n, suffix in numbered.items()
            for name in constants
        },
    }


@pytest.mark.slow
@pytest.mark.cc
def test_an_integer_model(offloaded_digits, digits_alone, digits_images):
    alone = digits_alone.load()
    together = offloaded_digits.load([EXAMPLE_C])
    for image in digits_images[0][:20]:
        expected = alone.run({"image": image[None]})["probabilities"]
        given = together.run({"image": image[None]})["probabilities"]
        np.testing.assert_array_equal(given, expected)


@pytest.mark.cc
def test_the_accelerator_may_only_read_what_it_is_given():
    """Its inputs may lie in memory that it cannot write, its outputs may not."""
    pools = WorkspaceMemoryPools(
        [
            WorkspacePoolInfo("from_c", {"c": "rw", "accel": "ro"}),
            WorkspacePoolInfo("from_accel", {"c": "ro", "accel": "rw"}),
        ]
    )
    factory = attention(workspace_memory_pools=pools)
    pools = buffers_by_pool(factory)
    made = ("call_accel_main_0", "call_accel_main_0_1", "call_accel_main_1")
    assert pools["from_accel"] == {f"__tvm_main__: {name}" for name in made}
    taken = ("softmax", "softmax1")
    assert pools["from_c"] >= {f"__tvm_main__: {name}" for name in taken}


@pytest.mark.cc
def test_no_pool_that_both_may_reach():
    pools = WorkspaceMemoryPools(
        [WorkspacePoolInfo("dtcm", ["c"]), WorkspacePoolInfo("npu_sram", ["accel"])]
    )
    with pytest.raises(ValueError) as caught:
        attention(workspace_memory_pools=pools)
    assert str(caught.value).splitlines()[0] == (
        "the model: no pool may hold buffer call_accel_main_0, which is read by target c of "
        "__tvm_main__ and written by target accel of call_accel_main_0 (dtcm: c; npu_sram: accel)"
    )


@pytest.mark.cc
def test_no_constant_pool_for_the_weights():
    pools = ConstantMemoryPools([ConstantPoolInfo("itcm", ["c"])])
    with pytest.raises(ValueError) as caught:
        attention(constant_memory_pools=pools)
    assert str(caught.value).splitlines()[0] == (
        "operator call_accel_main_0: no pool may hold buffer constant0, which is read by target "
        "accel of call_accel_main_0 (itcm: c)"
    )


@pytest.mark.slow
@pytest.mark.cc
def test_an_accelerator_that_takes_nothing_changes_nothing():
    alone = usmp.build(Attention, "c", params=PARAMS)
    idle = quantized_operator("accel.lstm", "lstm")
    assert attention(patterns=(idle,)).files() == alone.files()


@pytest.mark.slow
def test_an_accelerator_that_nothing_is_for():
    with pytest.raises(ValueError, match=r'^unknown target "accel": no patterns of an accelerator'):
        attention(patterns=())
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c", "accel"])])
    listed = attention(patterns=(), workspace_memory_pools=pools)
    assert listed.interface.accelerator_functions == []


DESCRIBED = tuple(
    quantized_operator(f"npu.{name}", name)
    for name in ("conv2d", "depthwise_conv2d", "fully_connected")
)


PUBLIC = ["mlperf_kws_int8", "mlperf_resnet8_int8", "mlperf_ad01_int8"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits_int8", *PUBLIC[: number(0, 3)]])
def test_the_metadata_is_enough_to_write_the_functions(name, shared_model, digits_alone, tmp_path):
    """All convolutions and matrix products by C that is written from metadata.json alone."""
    model = usmp.import_model(shared_model(name) if name in PUBLIC else DIGITS)
    with registered(*DESCRIBED):
        factory = usmp.build(model, "npu,c")
    module = factory.metadata["modules"]["default"]
    (tmp_path / "npu.c").write_text(c_of(module, "tvmgen_default"))
    together = factory.load([tmp_path / "npu.c"])
    alone = (usmp.build(model, "c") if name in PUBLIC else digits_alone).load()
    (tensor,) = alone.inputs
    info = alone.inputs[tensor]
    for seed in range(3):
        data = np.random.default_rng(seed).integers(-128, 128, info["shape"]).astype("int8")
        for output, expected in alone.run({tensor: data}).items():
            np.testing.assert_array_equal(together.run({tensor: data})[output], expected)


@I.ir_module
class Rectified:
    """On the accelerator, what lies between two operators of the CPU."""

    @R.function
    def main(x: R.Tensor((1, 64), "float32")):
        with R.dataflow():
            a = R.sin(x)
            b = R.nn.relu(a)
            c = R.cos(b)
            R.output(c)
        return c


RELU = ("accel.relu", is_op("relax.nn.relu")(wildcard()))
RELU_C = """
#include "tvmgen_default.h"
void tvmgen_default_accel_main_0(const float* input, float* output, void* device) {
  (void)device;
  CLEAR
  for (int i = 0; i < 64; ++i) output[i] = input[i] > 0 ? input[i] : 0;
}
"""
IN_PLACE = {"tir.usmp.use_workspace_io": True, "tir.usmp.debug": ["poison_dead_bytes"]}


def rectified(config, **facts):
    with PassContext(config=config), registered(RELU), stated("accel.relu", **facts):
        return usmp.build(Rectified, "accel,c")


@pytest.mark.slow
def test_a_function_that_cannot_fail_is_void_and_may_work_in_place(tmp_path):
    """One tensor of 256 bytes is enough for all; a function that states nothing needs two."""
    facts = {"can_fail": False, "keeps_state": False}
    # What one planning session knows of a model holds for what was stated.
    with planning_session():
        in_place = rectified(IN_PLACE, **facts, safe_distances={("input", "output"): 0})
        apart = rectified(IN_PLACE, **facts)
    sizes = [
        max(buffer.byte_offset + buffer.size_bytes for buffer in factory.memory_plan.buffers)
        for factory in (in_place, apart)
    ]
    assert sizes == [256, 512]
    header = in_place.files()["codegen/host/include/tvmgen_default.h"].decode()
    symbol = "tvmgen_default_accel_main_0"
    assert f"void {symbol}(const float* input, float* output, void* device);" in header
    assert "It cannot fail." in header


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("is_true", [True, False])
def test_the_poison_build_finds_out_a_function_that_does_not_do_what_it_states(is_true, tmp_path):
    """It clears its output before it reads its input, and states that it may work in place."""
    expected = usmp.build(Rectified).run({"x": DATA})["output"]
    clear = "" if is_true else "for (int i = 0; i < 64; ++i) output[i] = 0;"
    (tmp_path / "relu.c").write_text(RELU_C.replace("CLEAR", clear))
    facts = {"can_fail": False, "keeps_state": False}
    apart = rectified(IN_PLACE, **facts).load([tmp_path / "relu.c"])
    np.testing.assert_array_equal(apart.run({"x": DATA})["output"], expected)
    factory = rectified(IN_PLACE, **facts, safe_distances={("input", "output"): 0})
    output = factory.load([tmp_path / "relu.c"]).run({"x": DATA})["output"]
    assert (output.tobytes() == expected.tobytes()) == is_true


DATA = np.linspace(-3, 3, 64, dtype="float32").reshape(1, 64)


@pytest.mark.cc
@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
def test_the_code_of_void_functions_is_strict_c99(compiler, tmp_path):
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wcast-qual", "-c"]
    for name, content in rectified({}, can_fail=False).files().items():
        if name.startswith("codegen/"):
            (tmp_path / name.rpartition("/")[2]).write_bytes(content)
    require(compiler)
    command = [compiler, *flags, f"-I{tmp_path}", tmp_path / "default_lib0.c"]
    run_compiler([*command, "-o", tmp_path / "a.o"])
