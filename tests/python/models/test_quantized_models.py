"""Real quantized models, the whole way, byte for byte as tflite-micro computes them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tvm import tirx

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.levels import in_long_run, number, sample
from support.poison import poisoned
from support.public_models import build, imported
from support.relax_passes import passes_until

RUNS = 16
TFLITE_MICRO_HEADS = {
    "mlperf_ad01_int8": 768,
    "mlperf_kws_int8": 16000,
    "mlperf_resnet8_int8": 49152,
    "mlperf_strww_int8": 6656,
    "mlperf_vww_96_int8": 73728,
}
"""Bytes of tensors in TFLite Micro's arena ("head"), as it prints them for these files."""
FLOAT_INPUT = ["mcunet_vww_int8"]
STATEFUL = ["mww_okay_nabu_v2_int8", "tflm_mnist_lstm_int8"]
SMALL = ["mlperf_ad01_int8", "mlperf_kws_int8", "tflm_hello_world_int8", *STATEFUL]
LARGE = ["mlperf_strww_int8", "mlperf_resnet8_int8", "mlperf_vww_96_int8", *FLOAT_INPUT]
MODELS = [*SMALL, *in_long_run(LARGE)]
"""Large ones have the operators of small ones, and take up to a minute each."""
INTEGER_MODELS = [name for name in MODELS if name not in FLOAT_INPUT]


def micro(model: Path):
    """tflite-micro, which is loaded where a test needs it."""
    from support.micro import Micro

    return Micro(model)


def pools_of(factory: usmp.AOTExecutorFactoryModule) -> dict[str, dict]:
    memory = factory.metadata["modules"]["default"]["memory"]
    return {pool["kind"]: pool for pool in memory["pools"]}


def buffer_bytes(path: Path) -> int:
    """What the constants of the model file take."""
    import tflite

    model = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    return sum(model.Buffers(i).DataLength() for i in range(model.BuffersLength()))


def assert_equal_on_random_inputs(reference, *factories, runs: int = RUNS) -> None:
    for seed in range(runs):
        inputs = reference.random_inputs(seed)
        expected = reference.run(inputs)
        for factory in factories:
            outputs = factory.run(inputs)
            assert outputs.keys() == expected.keys()
            for name, value in expected.items():
                assert outputs[name].dtype == value.dtype
                np.testing.assert_array_equal(outputs[name], value)


@pytest.mark.models
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_tflite_micro(shared_model, name):
    path = shared_model(name)
    assert_equal_on_random_inputs(micro(path), build(path))


@pytest.mark.slow
@pytest.mark.models
def test_a_model_that_tflite_micro_cannot_run_equals_litert(shared_model):
    from support.litert import Reference

    path = shared_model("coral_split_concat")
    assert_equal_on_random_inputs(Reference(path), build(path))


@pytest.mark.slow
@pytest.mark.models
def test_digits_are_those_of_tflite_micro(digits_model, digits_images):
    images, labels = digits_images
    factory, reference = build(digits_model), micro(digits_model)
    assert_equal_on_random_inputs(reference, factory)
    hits = 0
    for image, label in zip(images, labels, strict=True):
        outputs, expected = (r.run({"image": image[None]}) for r in (factory, reference))
        np.testing.assert_array_equal(outputs["probabilities"], expected["probabilities"])
        hits += int(outputs["probabilities"].argmax() == label)
    assert hits == 356


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name in TFLITE_MICRO_HEADS])
def test_tensors_take_no_more_than_in_tflite_micro(shared_model, name):
    factory = build(shared_model(name), use_workspace_io=True, algorithm="greedy_by_size")
    assert pools_of(factory)["workspace"]["peak_bytes"] <= TFLITE_MICRO_HEADS[name]


@pytest.mark.parametrize("name", MODELS)
def test_constants_take_hardly_more_than_in_the_file(shared_model, name):
    path = shared_model(name)
    constants = pools_of(build(path))["constant"]["peak_bytes"]
    # Records of bias and factor take 8 bytes a channel, so that nothing has to be decoded.
    assert constants <= 1.03 * buffer_bytes(path) + 4096


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGER_MODELS)
def test_operators_of_integer_models_have_no_floats(shared_model, name):
    source = build(shared_model(name)).source
    without_typedefs = re.sub(r"^typedef .*$", "", source, flags=re.MULTILINE)
    assert re.findall(r"\b(?:float|double)\w*", without_typedefs) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(INTEGER_MODELS, 2))
def test_operators_keep_no_tensor_of_scratch(shared_model, name):
    """At most what a state or a step of a recurrent operator needs; rings are no scratch of one."""
    factory = build(shared_model(name), disabled_pass=("StreamOperators",))
    functions = factory.metadata["modules"]["default"]["memory"]["functions"]
    scratch = [f["workspace"][0]["workspace_size_bytes"] for f in functions["operator_functions"]]
    assert max(scratch) <= 256


def operators(path: Path) -> list[str]:
    """The names of operators after they are fused, sorted."""
    fused = passes_until("usmp.FinishFusion")(imported(path))
    return sorted(
        str(v.name_hint) for v, f in fused.functions.items() if isinstance(f, tirx.PrimFunc)
    )


def test_residual_sums_belong_to_the_convolution_before(shared_model):
    found = operators(shared_model("mlperf_resnet8_int8"))
    assert [name for name in found if "add" in name] == [
        "fused_conv2d2_add",
        "fused_conv2d4_add1",
        "fused_conv2d7_add2",
    ]


@pytest.mark.slow
def test_pads_belong_to_the_convolution_behind(shared_model):
    found = operators(shared_model("mcunet_vww_int8"))
    assert found
    assert [name for name in found if "pad" in name] == []


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(
    "name", [*STATEFUL, "mlperf_resnet8_int8", "mlperf_vww_96_int8"][: number(2, 4)]
)
def test_dead_memory_is_never_read(shared_model, name):
    path = shared_model(name)
    factory = build(path)
    overwritten = poisoned(factory)
    assert "poisoned" in overwritten.source
    assert_equal_on_random_inputs(micro(path), overwritten, runs=5)


@pytest.mark.models
@pytest.mark.parametrize("name", sample(MODELS, 3))
def test_models_run_clean_under_sanitizers(shared_model, tmp_path, name):
    path = shared_model(name)
    reference = micro(path)
    runs = [reference.random_inputs(seed) for seed in range(4)]
    expected = [next(iter(reference.run(inputs).values())).ravel() for inputs in runs]
    data = b"".join(next(iter(inputs.values())).tobytes() for inputs in runs)
    output = run_as_program(build(path), tmp_path, SANITIZERS, data)
    np.testing.assert_array_equal(
        np.frombuffer(output, expected[0].dtype), np.concatenate(expected)
    )
