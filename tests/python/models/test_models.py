"""Real models, the whole way: file in, C out, compiled, run, compared with LiteRT."""

from __future__ import annotations

from contextvars import Context
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import usmp
from conftest import ROOT
from support import public_models
from support.c_program import SANITIZERS, run_as_program
from support.compilers import require, run_compiler
from support.levels import in_long_run, long_run, number, sample
from support.litert import Reference
from support.planner_contexts import planner_context
from support.poison import poisoned

pytestmark = pytest.mark.usefixtures("digits_session")

FLOAT_MODELS = [
    "tflm_hello_world_float",
    "mlperf_resnet8_float",
    "mlperf_ad01_float",
    "mlperf_vww_96_float",
    "mobilenet_v1_025_128_float",
][: number(2, 5)]
GREEDY = ["greedy_by_size", "greedy_by_conflicts"]
IO = [False, True]


def build_anew(path: Path, **config: object) -> usmp.AOTExecutorFactoryModule:
    with planner_context(config, opt_level=3):
        return usmp.build(public_models.imported(path))


@cache
def build(path: Path, **config: object) -> usmp.AOTExecutorFactoryModule:
    return (build_anew if path.is_relative_to(ROOT) else public_models.build)(path, **config)


def pools_of(factory: usmp.AOTExecutorFactoryModule) -> dict[str, dict]:
    return {p["name"]: p for p in factory.metadata["modules"]["default"]["memory"]["pools"]}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("use_workspace_io", sample(IO, 1))
@pytest.mark.parametrize("name", FLOAT_MODELS)
def test_float_models_equal_the_reference(shared_model, name, use_workspace_io):
    path = shared_model(name)
    reference = Reference(path)
    factory = build(path, use_workspace_io=use_workspace_io)
    for seed in range(3):
        inputs = reference.random_inputs(seed)
        outputs, expected = factory.run(inputs), reference.run(inputs)
        assert outputs.keys() == expected.keys()
        for tensor, value in expected.items():
            assert outputs[tensor].dtype == value.dtype
            assert outputs[tensor].shape == value.shape
            error = np.abs(outputs[tensor] - value).max() / np.abs(value).max()
            assert error <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", GREEDY)
def test_resnet8_needs_two_thirds_of_what_its_live_tensors_take(shared_model, algorithm):
    path = shared_model("mlperf_resnet8_float")
    factory = build(
        path, use_workspace_io=True, algorithm=algorithm, disabled_pass=("StreamOperators",)
    )
    pool = pools_of(factory)["global_workspace"]
    assert pool["peak_bytes"] == 131072
    assert pool["memory_pressure_bytes"] == 196608


@pytest.mark.slow
def test_operators_keep_no_scratch(shared_model):
    factory = build(shared_model("mlperf_resnet8_float"), disabled_pass=("StreamOperators",))
    functions = factory.metadata["modules"]["default"]["memory"]["functions"]
    scratch = [f["workspace"][0]["workspace_size_bytes"] for f in functions["operator_functions"]]
    assert len(scratch) == 12
    assert set(scratch) == {0}


@pytest.mark.models
def test_digits_agree_with_the_reference(digits_model, digits_images):
    images, labels = digits_images
    reference, factory = Reference(digits_model), build(digits_model)
    (name,), (output,) = reference.random_inputs(0), factory.load().outputs
    ours = np.array([factory.run({name: image[None]})[output].argmax() for image in images])
    theirs = np.array([reference.run({name: image[None]})[output].argmax() for image in images])
    assert (ours == theirs).mean() >= 0.99
    assert (ours == labels).mean() >= 0.95


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("algorithm", sample([*GREEDY, "no_sharing"], 1))
def test_dead_memory_is_never_read(digits_model, digits_images, algorithm):
    images, _ = digits_images
    factory = build(digits_model, algorithm=algorithm)
    overwritten = poisoned(factory)
    assert "poisoned" in overwritten.source
    for image in images[:20]:
        inputs = {"image": image[None]}
        np.testing.assert_array_equal(
            overwritten.run(inputs)["probabilities"], factory.run(inputs)["probabilities"]
        )


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("name", ["mlperf_resnet8_float", "mlperf_vww_96_float"][: number(1, 2)])
@pytest.mark.parametrize("algorithm", sample(GREEDY, 1))
def test_dead_memory_of_float_models_is_never_read(shared_model, name, algorithm):
    path = shared_model(name)
    factory = build(path, algorithm=algorithm)
    overwritten = poisoned(factory)
    reference = Reference(path)
    inputs = reference.random_inputs(0)
    expected = reference.run(inputs)
    for tensor, value in overwritten.run(inputs).items():
        np.testing.assert_allclose(value, expected[tensor], rtol=1e-5, atol=1e-7)


@pytest.mark.cc
def test_no_sharing_shares_nothing(digits_model, digits_images):
    images, _ = digits_images
    inputs = {"image": images[:1]}
    planned, separate = build(digits_model), build(digits_model, algorithm="no_sharing")
    spans = sorted(
        (b["offset"], b["offset"] + b["size"])
        for b in pools_of(separate)["global_workspace"]["buffers"]
    )
    assert all(stop <= start for (_, stop), (start, _) in pairwise(spans))
    np.testing.assert_array_equal(
        planned.run(inputs)["probabilities"], separate.run(inputs)["probabilities"]
    )


# A smaller model, too, whose operators run interleaved, is in test_streaming.py.
@pytest.mark.cc
@long_run()
@pytest.mark.parametrize("use_workspace_io", IO)
def test_two_compilations_give_the_same_bytes(digits_model, use_workspace_io):
    # A context of its own has no session.
    first, second = (
        Context().run(build_anew, digits_model, use_workspace_io=use_workspace_io) for _ in range(2)
    )
    assert first.files() == second.files()


@pytest.mark.cc
@pytest.mark.parametrize("use_workspace_io", IO)
def test_digits_run_clean_under_sanitizers(digits_model, digits_images, tmp_path, use_workspace_io):
    images, _ = digits_images
    factory = build(digits_model, use_workspace_io=use_workspace_io)
    output = run_as_program(factory, tmp_path, SANITIZERS, images[:20].tobytes())
    expected = [factory.run({"image": image[None]})["probabilities"] for image in images[:20]]
    np.testing.assert_array_equal(np.frombuffer(output, np.int8), np.concatenate(expected).ravel())


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("name", FLOAT_MODELS)
@pytest.mark.parametrize("use_workspace_io", [*in_long_run(IO[:1]), *IO[1:]])
def test_float_models_run_clean_under_sanitizers(shared_model, tmp_path, name, use_workspace_io):
    path = shared_model(name)
    factory = build(path, use_workspace_io=use_workspace_io)
    reference = Reference(path)
    inputs = reference.random_inputs(7)
    (value,) = inputs.values()
    output = run_as_program(factory, tmp_path, SANITIZERS, value.tobytes())
    (expected,) = reference.run(inputs).values()
    ours = np.frombuffer(output, np.float32)
    np.testing.assert_allclose(ours, expected.ravel(), rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    "flags", [["-O3", "-flto"], *sample([["-O3"], ["-Os"], ["-O0"]], 1)], ids=" ".join
)
def test_digits_are_the_same_at_every_optimization_level(
    digits_model, digits_images, tmp_path, flags
):
    images, _ = digits_images
    factory = build(digits_model)
    output = run_as_program(factory, tmp_path, flags, images[:50].tobytes())
    expected = [factory.run({"image": image[None]})["probabilities"] for image in images[:50]]
    np.testing.assert_array_equal(np.frombuffer(output, np.int8), np.concatenate(expected).ravel())


@pytest.mark.cc
def test_the_c_needs_nothing(digits_model):
    factory = build(digits_model)
    includes = [line for line in factory.source.splitlines() if line.startswith("#include")]
    assert includes == ['#include "tvmgen_default.h"', "#include <string.h>", "#include <stddef.h>"]
    assert [line for line in factory.header.splitlines() if line.startswith("#include")] == [
        "#include <stdint.h>"
    ]
    for word in ("malloc", "alloca", "calloc", "TVMBackend", "free("):
        assert word not in factory.source


def own_headers(compiler: str) -> list[str]:
    """The options with which a compiler sees its own headers, and none of a C library."""
    folder = run_compiler([compiler, "-print-file-name=include"]).stdout.strip()
    return ["-nostdinc", "-isystem", folder]


@pytest.mark.board
@pytest.mark.parametrize(
    "compiler",
    [["arm-none-eabi-gcc", "-mcpu=cortex-m4"], ["clang", "--target=thumbv7em-none-eabi"]],
    ids=["arm-none-eabi-gcc", "clang"],
)
def test_an_integer_model_needs_no_c_library(digits_model, tmp_path, compiler):
    """Freestanding compilers have <stdint.h> and <stddef.h>."""
    require(compiler[0])
    factory = build(digits_model)
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    (tmp_path / "default_lib0.c").write_text(factory.source)
    strict = ["-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = [*compiler, *own_headers(compiler[0]), *strict, "-fsyntax-only", "default_lib0.c"]
    run_compiler(command, cwd=tmp_path)


COMPILERS = {
    "gcc": ["gcc"],
    "clang": ["clang"],
    "arm-none-eabi-gcc": ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"],
}


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("optimization", "use_workspace_io"), [("-O0", False), ("-O3", True)])
def test_every_compiler_accepts_the_c(
    digits_model, tmp_path, compiler, optimization, use_workspace_io
):
    require(compiler)
    factory = build(digits_model, use_workspace_io=use_workspace_io)
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    (tmp_path / "default_lib0.c").write_text(factory.source)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wcast-align", "-Wcast-qual"]
    command = [*COMPILERS[compiler], *strict, optimization, "-c", "default_lib0.c", "-o", "x.o"]
    run_compiler(command, cwd=tmp_path)
