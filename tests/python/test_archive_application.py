"""An application made of an archive of two models, which share one workspace (use case U2)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tvm.target import Target

import usmp
from support.c_program import SANITIZERS, build_program
from support.compilers import require, run_compiler
from support.relax_models import PARAMS, Attention, attention
from support.small_digits import small_digits
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.frontend.tflite.importer import import_tflite

RUNS = 8
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
MAIN = """
#include <stdio.h>
#include <string.h>
#include "tvmgen_attention.h"
#include "tvmgen_digits.h"
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
static uint8_t sram[LARGER(TVMGEN_DIGITS_SRAM_WORKSPACE_POOL_SIZE,
                           TVMGEN_ATTENTION_SRAM_WORKSPACE_POOL_SIZE)] __attribute__((aligned(16)));
static const uint8_t flash[TVMGEN_ATTENTION_FLASH_CONSTANT_POOL_SIZE]
    __attribute__((aligned(16))) = {TVMGEN_ATTENTION_FLASH_CONSTANT_POOL_DATA};
static int8_t image[TVMGEN_DIGITS_IMAGE_SIZE], digit[TVMGEN_DIGITS_PROBABILITIES_SIZE];
static float probability[sizeof(digit)], x[16], y[64];

int main(void) {
  struct tvmgen_digits_inputs digits_inputs = {image};
  struct tvmgen_digits_outputs digits_outputs = {digit};
  struct tvmgen_digits_workspace_pools digits_pools = {sram};
  struct tvmgen_attention_inputs attention_inputs = {x};
  struct tvmgen_attention_outputs attention_outputs = {y};
  struct tvmgen_attention_workspace_pools attention_pools;
  size_t i;
  attention_pools.sram = sram;
  attention_pools.flash = flash;
  while (fread(image, sizeof(image), 1, stdin) == 1 && fread(x, sizeof(x), 1, stdin) == 1) {
    memset(sram, 0xa5, sizeof(sram));
    if (tvmgen_digits_run(&digits_inputs, &digits_outputs, &digits_pools) != 0) return 1;
    if (tvmgen_attention_run(&attention_inputs, &attention_outputs, &attention_pools) != 0) {
      return 2;
    }
    for (i = 0; i < sizeof(digit); ++i) {
      probability[i] = TVMGEN_DIGITS_PROBABILITIES_SCALE *
                       (float)(digit[i] - TVMGEN_DIGITS_PROBABILITIES_ZERO_POINT);
    }
    fwrite(probability, sizeof(probability), 1, stdout);
    fwrite(y, sizeof(y), 1, stdout);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """Of a quantized model, and a float one whose weights lie in the user's memory."""
    digits = import_tflite(small_digits())
    sram = WorkspaceMemoryPools([WorkspacePoolInfo("sram", [Target("c")])])
    flash = ConstantMemoryPools([ConstantPoolInfo("flash", [Target("c")])])
    models = [
        usmp.build(digits, workspace_memory_pools=sram, module_name="digits"),
        usmp.build(
            Attention,
            params=PARAMS,
            workspace_memory_pools=sram,
            constant_memory_pools=flash,
            module_name="attention",
        ),
    ]
    path = tmp_path_factory.mktemp("archive") / "models.tar"
    return usmp.export_model_library_format(models, path)


@pytest.mark.cc
def test_two_models_share_one_workspace(archive, tmp_path, digits_images):
    program = build_program(usmp.load_archive(archive).files, MAIN, tmp_path, SANITIZERS)
    images, _ = digits_images
    vectors = np.random.default_rng(0).standard_normal((RUNS, 1, 16)).astype(np.float32)
    data = b"".join(images[i].tobytes() + vectors[i].tobytes() for i in range(RUNS))
    done = subprocess.run([program], input=data, capture_output=True, check=True)
    outputs = np.frombuffer(done.stdout, np.float32).reshape(RUNS, 10 + 64)
    np.testing.assert_array_equal(outputs[:, :10], probabilities(archive, images[:RUNS]))
    for output, vector in zip(outputs[:, 10:], vectors, strict=True):
        np.testing.assert_allclose(output, attention(vector).ravel(), rtol=1e-5)


def probabilities(archive: Path, images: np.ndarray) -> np.ndarray:
    """What the digits model alone says, as real numbers."""
    loaded = usmp.load_archive(archive)
    info = loaded.modules["digits"].outputs["probabilities"].info
    module = loaded.load("digits")
    integers = np.stack([module.run({"image": i[None]})["probabilities"][0] for i in images])
    real = np.float32(info.scale) * (integers.astype(np.int32) - info.zero_point)
    return real.astype(np.float32)


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    "compiler", [["clang"], ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"]], ids=lambda c: c[0]
)
def test_it_compiles(archive, tmp_path, compiler):
    require(compiler[0])
    include = f"-I{tmp_path}/codegen/host/include"
    usmp.load_archive(archive).extract(tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    for source in [*tmp_path.glob("codegen/host/src/*.c"), tmp_path / "main.c"]:
        output = source.with_suffix(".o")
        run_compiler([*compiler, "-O2", *STRICT, include, "-c", source, "-o", output])
