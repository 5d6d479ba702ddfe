"""Inputs in the workspace after a run: gone, or as they were if that is asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.c_program import SANITIZERS, build_program
from support.compilers import require

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("digits_session"), pytest.mark.slow]

# The input is written once; then come two runs.
MAIN_C = """
#include <stdio.h>
#include "tvmgen_default.h"
int main(void) {
  struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs();
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs();
  if (fread(inputs.image, TVMGEN_DEFAULT_IMAGE_SIZE, 1, stdin) != 1) return 1;
  for (int run = 0; run < 2; ++run) {
    if (tvmgen_default_run() != 0) return 2;
    fwrite(outputs.probabilities, TVMGEN_DEFAULT_PROBABILITIES_SIZE, 1, stdout);
  }
  fwrite(inputs.image, TVMGEN_DEFAULT_IMAGE_SIZE, 1, stdout);
  return 0;
}
"""
MAY_OVERWRITE = "write all inputs before each run, for a run may overwrite them, and read the"
LEAVES = "write inputs when they change, for a run leaves them as they are, and read the"


def build(
    digits_model: Path, overlap: bool, preserve_inputs: bool = False
) -> usmp.AOTExecutorFactoryModule:
    config = {"tir.usmp.use_workspace_io": True, "tir.usmp.preserve_inputs": preserve_inputs}
    with PassContext(config=config, disabled_pass=[] if overlap else ["OverlapInputsAndOutputs"]):
        return usmp.build(usmp.import_model(digits_model))


def run_twice(factory: usmp.AOTExecutorFactoryModule, image: np.ndarray, folder: Path):
    """The outputs of both runs, and what is then where the input was."""
    require("gcc")
    program = build_program(factory.files(), MAIN_C, folder, SANITIZERS)
    done = subprocess.run([program], input=image.tobytes(), stdout=subprocess.PIPE, check=True)
    read = np.frombuffer(done.stdout, np.int8)
    return read[:10], read[10:20], read[20:]


@pytest.mark.parametrize("overlap", [True, False])
def test_two_runs_of_an_input_that_is_written_once(digits_model, tmp_path, overlap):
    image = np.load(ROOT / "examples/digits/test_images.npz")["images"][:1]
    factory = build(digits_model, preserve_inputs=True, overlap=overlap)
    first, second, left = run_twice(factory, image, tmp_path)
    (expected,) = factory.run({"image": image}).values()
    assert first.tolist() == second.tolist() == expected.ravel().tolist()
    assert left.tolist() == image.ravel().tolist()
    assert LEAVES in factory.header


@pytest.mark.parametrize("overlap", [True, False])
def test_who_does_not_ask_finds_other_bytes(digits_model, tmp_path, overlap):
    image = np.load(ROOT / "examples/digits/test_images.npz")["images"][:1]
    factory = build(digits_model, overlap=overlap)
    _, _, left = run_twice(factory, image, tmp_path)
    assert left.tolist() != image.ravel().tolist()
    assert MAY_OVERWRITE in factory.header


def test_inputs_that_are_preserved_take_ram(digits_model):
    sizes = {
        (overlap, preserve): build(
            digits_model, overlap=overlap, preserve_inputs=preserve
        ).interface.workspace_size_bytes
        for overlap in (False, True)
        for preserve in (False, True)
    }
    assert sizes[False, False] == 1152
    assert sizes[False, True] == 1152 + 64
    assert sizes[True, False] < sizes[True, True] <= sizes[True, False] + 64
