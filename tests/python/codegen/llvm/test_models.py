"""Whole models give the bytes that target c gives, and with them those of the references."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.compilers import require
from support.imported_models import imported
from support.qdq_models import between, inputs_of
from support.quantized_models import CATALOG
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.codegen.c_files import C_INTRINSICS
from usmp.objects import Executor

BY_NAME = {model.name: model for model in CATALOG}
MODELS = [
    "conv_2d_same",
    "conv_2d_groups_3_stride_2",
    "conv_2d_int16_bias32",
    "depthwise_conv_2d_int16",
    "fully_connected_int16",
    "fully_connected_uint8_rows",
    "softmax_ten_classes",
    "div_channels",
    "l2_normalization_matrix",
    "log_softmax_image",
    "lstm_strong",
    "lstm_cell_clip",
]
SEARCHED_LESS = {"tir.usmp.algorithm": "hill_climb"}
"""Without a proof of the plan, which is the same for both targets anyway, builds are faster."""
MLPERF = ["ad01", "kws", "resnet8", "strww"]


@pytest.fixture(autouse=True)
def _compiler():
    require("gcc")


def assert_equal_outputs(mod, inputs_of):
    c, llvm = usmp.build(mod, "c"), usmp.build(mod, "llvm")
    assert llvm.header == c.header
    plans = [f.metadata["modules"]["default"]["memory"] for f in (llvm, c)]
    assert plans[0] == plans[1]
    ours, theirs = llvm.load(), c.load()
    for inputs in inputs_of(ours):
        actual, expected = ours.run(inputs), theirs.run(inputs)
        assert {n: v.tobytes() for n, v in actual.items()} == {
            n: v.tobytes() for n, v in expected.items()
        }
    return c


@pytest.mark.cc
@pytest.mark.parametrize("name", MODELS)
def test_models_of_one_operator(name):
    tensors, _ = graph_tensors(BY_NAME[name].make())
    inputs = [*(random_inputs(tensors, seed) for seed in range(20)), *extreme_inputs(tensors)]
    assert_equal_outputs(imported(BY_NAME[name]), lambda _: inputs)


def product_between_quantizers():
    """A product that rounds as ONNX Runtime does."""
    weight = np.arange(-24, 24, dtype="int8").reshape(6, 8)

    def product(graph, x):
        return relax.op.matmul(x, graph.dequantize(relax.const(weight), 0.03, 0, "int8"))

    return between(product, (5, 6))


@pytest.mark.cc
def test_a_product_between_quantizers():
    mod = product_between_quantizers()
    seeds = [inputs_of(mod, seed) for seed in range(20)]
    assert_equal_outputs(mod, lambda _: seeds)


@pytest.mark.cc
def test_models_of_one_operator_call_every_function():
    called = set()
    models = [product_between_quantizers(), *(imported(BY_NAME[name]) for name in MODELS)]
    # One function is for cores with MVE of floats; the tests of its kernels run them by LLVM, too.
    sources = [usmp.build(mod, "c").source for mod in models]
    sources.append(usmp.build(models[0], "c -mcpu=cortex-m55").source)
    for source in sources:
        called |= {function for function in C_INTRINSICS if f"{function}(" in source}
    assert called == set(C_INTRINSICS)


@pytest.mark.cc
def test_digits(digits_model, digits_images):
    images, _ = digits_images
    assert_equal_outputs(
        usmp.import_model(digits_model),
        lambda module: [{n: image[None] for n in module.inputs} for image in images],
    )


@pytest.mark.cc
@pytest.mark.parametrize(
    ("executor", "workspace_io"),
    [(None, True), (Executor("aot", {"interface-api": "packed"}), False)],
    ids=["workspace_io", "packed"],
)
def test_interfaces(digits_model, digits_images, executor, workspace_io):
    image = digits_images[0][:1]
    mod = usmp.import_model(digits_model)
    outputs = []
    config = {"tir.usmp.use_workspace_io": workspace_io, "tir.usmp.streaming": False}
    with tvm.transform.PassContext(config=config):
        for target in ("c", "llvm"):
            module = usmp.build(mod, target, executor).load()
            (name,) = module.inputs
            outputs.append(module.run({name: image})["probabilities"].tobytes())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("name", MLPERF)
def test_mlperf_tiny(name, shared_model):
    """Operators run interleaved but in the largest one, of which two builds take long."""

    def inputs(module):
        generator = np.random.default_rng(0)
        for _ in range(3):
            yield {
                n: generator.integers(-128, 128, info["shape"]).astype(info["dtype"])
                for n, info in module.inputs.items()
            }

    config = {**SEARCHED_LESS, "tir.usmp.streaming": name != "resnet8"}
    with tvm.transform.PassContext(config=config):
        assert_equal_outputs(usmp.import_model(shared_model(f"mlperf_{name}_int8")), inputs)


@pytest.mark.parametrize("name", ["mlperf_resnet8_float", "tflm_hello_world_float"])
def test_float_models(name, shared_model):
    """LLVM may fuse a product and a sum only on CPUs that can; this host's default cannot."""

    def inputs(module):
        generator = np.random.default_rng(0)
        for _ in range(3):
            yield {
                n: generator.normal(0, 1, info["shape"]).astype("float32")
                for n, info in module.inputs.items()
            }

    with tvm.transform.PassContext(config=SEARCHED_LESS):
        assert_equal_outputs(usmp.import_model(shared_model(name)), inputs)
