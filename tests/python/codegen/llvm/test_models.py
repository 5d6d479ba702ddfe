"""Whole models give the bytes that target c gives, and with them those of the references."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support import levels
from support.compilers import require
from support.imported_models import imported
from support.joined_models import joined
from support.planner_contexts import planner_context
from support.qdq_models import between, inputs_of
from support.quantized_models import CATALOG
from support.relax_models import PARAMS, Attention
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.codegen.c.source_files import C_INTRINSICS
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects import Executor

pytestmark = pytest.mark.slow

BY_NAME = {model.name: model for model in CATALOG}
MODELS = [
    "conv_2d_same",
    "conv_2d_int16_bias32",
    *levels.sample(["depthwise_conv_2d_int16", "fully_connected_int16"], 1),
    "fully_connected_uint8_rows",
    "softmax_ten_classes",
    "div_channels",
    "l2_normalization_matrix",
    "log_softmax_image",
    "lstm_strong",
    *levels.in_long_run(["conv_2d_groups_3_stride_2", "lstm_cell_clip"]),
]
SEARCHED_LESS = {"tir.usmp.algorithm": "hill_climb"}
"""Without a proof of the plan, which is the same for both targets anyway, builds are faster."""
ONE_BY_ONE = {
    **SEARCHED_LESS,
    "disabled_pass": ["StreamOperators", "OrderOperators"],
}
"""For models side by side, in which the order of operators does not matter."""
SMALLEST = "tflm_hello_world_float"
OTHERS = [
    *("mlperf_kws_int8", "mlperf_resnet8_int8", "mlperf_resnet8_float"),
    *("mlperf_ad01_int8", "mlperf_strww_int8"),
]


@pytest.fixture(autouse=True)
def _compiler():
    require("gcc")


def assert_equal_outputs(mod, inputs, params=None):
    """Compare both targets; the source of target c, and the files of target llvm."""
    c, llvm = (usmp.build(mod, target, params=params) for target in ("c", "llvm"))
    assert llvm.header == c.header
    plans = [f.metadata["modules"]["default"]["memory"] for f in (llvm, c)]
    assert plans[0] == plans[1]
    ours, theirs = llvm.load(), c.load()
    for given in inputs(ours) if callable(inputs) else inputs:
        actual, expected = ours.run(given), theirs.run(given)
        assert {n: v.tobytes() for n, v in actual.items()} == {
            n: v.tobytes() for n, v in expected.items()
        }
    return c.source, llvm.files()


def product_between_quantizers():
    """A product that rounds as ONNX Runtime does."""
    weight = np.arange(-24, 24, dtype="int8").reshape(6, 8)

    def product(graph, x):
        return relax.op.matmul(x, graph.dequantize(relax.const(weight), 0.03, 0, "int8"))

    return between(product, (5, 6))


@pytest.mark.cc
def test_models_of_one_operator_which_call_every_function():
    product = product_between_quantizers()
    content = joined({name: BY_NAME[name].make() for name in MODELS})
    tensors, _ = graph_tensors(content)
    inputs = [*(random_inputs(tensors, seed) for seed in range(6)), *extreme_inputs(tensors)]
    # One function is for cores with MVE of floats; the tests of its kernels run them by LLVM, too.
    sources = [usmp.build(product, "c -mcpu=cortex-m55").source]
    with planner_context(ONE_BY_ONE):
        of_product = [inputs_of(product, seed) for seed in range(6)]
        sources.append(assert_equal_outputs(product, of_product)[0])
        sources.append(assert_equal_outputs(import_tflite(content), inputs)[0])
    text = "\n".join(sources)
    assert {name for name in C_INTRINSICS if f"{name}(" in text} == set(C_INTRINSICS)


@pytest.mark.cc
def test_interleaved_convolutions(symbols):
    content = BY_NAME["sequence_inverted_bottleneck"].make()
    inputs = [random_inputs(graph_tensors(content)[0], seed) for seed in range(4)]
    with tvm.transform.PassContext(config=SEARCHED_LESS):
        _, files = assert_equal_outputs(import_tflite(content), inputs)
    # LLVM knows loops that move what is still to be read in a ring.
    assert symbols(files) == {"tvmgen_default___tvm_main__": "T", "memmove": "U"}


@pytest.mark.cc
@pytest.mark.parametrize(
    ("executor", "workspace_io"),
    [(None, True), (Executor("aot", {"interface-api": "packed"}), False)],
    ids=["workspace_io", "packed"],
)
def test_interfaces(executor, workspace_io):
    model = BY_NAME["conv_2d_same"]
    inputs = random_inputs(graph_tensors(model.make())[0], 0)
    outputs = []
    with tvm.transform.PassContext(config={"tir.usmp.use_workspace_io": workspace_io}):
        for target in ("c", "llvm"):
            (output,) = usmp.build(imported(model), target, executor).load().run(inputs).values()
            outputs.append(output.tobytes())
    assert outputs[0] == outputs[1]


@pytest.mark.cc
def test_a_float_model(symbols):
    """LLVM may fuse a product and a sum only on CPUs that can; this host's default cannot.

    It needs the C library only.
    """
    generator = np.random.default_rng(0)
    inputs = [{"x": generator.normal(0, 1, (1, 16)).astype("float32")} for _ in range(3)]
    _, files = assert_equal_outputs(Attention, inputs, PARAMS)
    seen = symbols(files)
    needed = {name for name, letter in seen.items() if letter == "U"}
    assert "expf" in needed
    assert needed <= {"expf", "memcpy", "memmove", "memset"}
    assert set(seen) - needed == {"tvmgen_default___tvm_main__"}


@pytest.mark.parametrize("name", [SMALLEST, *levels.in_long_run(OTHERS)])
def test_public_models(name, shared_model):
    """Operators run interleaved but in the largest ones, of which two builds take long."""

    def inputs(module):
        generator = np.random.default_rng(0)
        for _ in range(3):
            yield {
                n: generator.integers(-128, 128, info["shape"]).astype("int8")
                if info["dtype"] == "int8"
                else generator.normal(0, 1, info["shape"]).astype(info["dtype"])
                for n, info in module.inputs.items()
            }

    disabled = ["StreamOperators"] if name == "mlperf_resnet8_int8" else []
    with tvm.transform.PassContext(config=SEARCHED_LESS, disabled_pass=disabled):
        assert_equal_outputs(usmp.import_model(shared_model(name)), inputs)
