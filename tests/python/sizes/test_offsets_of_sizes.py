"""A layer of a transformer encoder whose workspace grows with the length of its input."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import usmp
from support.compilers import require, run_compiler
from support.dynamic_models import MODELS, Layer
from support.planner_contexts import planner_context
from support.pytorch_models import exported
from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.codegen.interface.workspace_sizes import workspace_sizes
from usmp.codegen.sources.entry_points import MainFunction
from usmp.codegen.sources.source import print_main_caller
from usmp.plain.size_expression import extent_at
from usmp.runtime.write_files import write_files

pytestmark = [pytest.mark.cc, pytest.mark.slow]

MODEL = replace(MODELS["encoder"], make=Layer)
LARGEST = 24
"""The bound: planning takes time for each size."""
SIZES = (1, 2, 17, 23, 24)
ROW = 32
"""Elements of the input for each token."""

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tvmgen_default.h"

int main(void) {
  for (int32_t seq = -1; seq <= 26; ++seq) {
    const int32_t bytes = tvmgen_default_workspace_size(seq);
    if (fwrite(&bytes, sizeof(bytes), 1, stdout) != 1) return 1;
  }
  int32_t seq;
  while (fread(&seq, sizeof(seq), 1, stdin) == 1) {
    /* Each block ends where its bytes end: the sanitizer sees what is used behind it. */
    const size_t taken = (size_t)seq * 32 * sizeof(float);
    const size_t needed = (size_t)tvmgen_default_workspace_size(seq);
    uint8_t* pool = aligned_alloc(16, (needed + 15) / 16 * 16);
    float* x = malloc(taken);
    struct tvmgen_default_inputs inputs = {x, seq};
    struct tvmgen_default_outputs outputs = {malloc(taken)};
    struct tvmgen_default_workspace_pools pools = {pool};
    if (!pool || !x || !outputs.OUTPUT || needed % 16 != 0) return 2;
    memset(pool, 0x5a, needed);
    if (fread(x, taken, 1, stdin) != 1) return 3;
    if (tvmgen_default_run(&inputs, &outputs, &pools) != 0) return 4;
    if (fwrite(outputs.OUTPUT, taken, 1, stdout) != 1) return 5;
    free(pool);
    free(x);
    free(outputs.OUTPUT);
  }
  return 0;
}
"""


def build(mod, **options):
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])])
    with planner_context(options):
        return usmp.build(mod, target="c", workspace_memory_pools=pools)


def bytes_of(factory) -> int:
    return int(re.search(r"SRAM_WORKSPACE_POOL_SIZE (\d+)", factory.header)[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("encoder")


@pytest.fixture(scope="module")
def symbolic(folder):
    path = MODEL.written(folder / "encoder.pt2")
    return usmp.import_model(path, max_sizes={MODEL.pytorch_size: LARGEST})


@pytest.fixture(scope="module")
def computed(symbolic):
    return build(symbolic, dynamic="expression", disabled_pass=["StreamOperators"])


@pytest.fixture(scope="module")
def static_bytes(folder):
    import torch

    def find(size: int) -> int:
        path = folder / f"static_{size}.pt2"
        path.write_bytes(exported(MODEL.module, torch.from_numpy(MODEL.inputs(size))))
        return bytes_of(build(usmp.import_model(path), disabled_pass=["StreamOperators"]))

    return find


def workspace_bytes(factory, size: int) -> int:
    (found,) = workspace_sizes(factory.ir_mod)
    known = {MODEL.pytorch_size: size}
    for name, value in found.values:
        known[name] = extent_at(value, known)
    return extent_at(found.bytes, known)


def test_bytes_at_the_bound(symbolic, computed, static_bytes):
    """A distance is largest at a small size, so that both take 32 bytes more than at 24 alone."""
    assert static_bytes(LARGEST) == 15360
    assert bytes_of(build(symbolic, dynamic="bound", disabled_pass=["StreamOperators"])) == 15392
    assert bytes_of(computed) == workspace_bytes(computed, LARGEST) == 15392


def test_a_short_input_takes_what_a_model_of_its_length_takes(computed, static_bytes):
    assert workspace_bytes(computed, 17) == static_bytes(17) == 10880


def test_runs_touch_what_their_size_needs(computed, folder):
    require("gcc")
    write_files(computed.files(), folder / "program")
    output = re.search(r"struct tvmgen_default_outputs \{\n  void\* (\w+);", computed.header)[1]
    (folder / "program/main.c").write_text(MAIN.replace("OUTPUT", output))
    sources = [*(folder / "program").glob("codegen/host/src/*.c"), folder / "program/main.c"]
    command = ["gcc", "-std=c11", "-O1", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", f"-I{folder}/program/codegen/host/include"]
    command += [*map(str, sources), "-lm", "-o", str(folder / "run")]
    run_compiler(command)
    inputs = [MODEL.inputs(size) for size in SIZES]
    data = b"".join(np.int32(x.shape[1]).tobytes() + x.tobytes() for x in inputs)
    done = subprocess.run([folder / "run"], input=data, stdout=subprocess.PIPE, check=True)
    told = np.frombuffer(done.stdout[: 28 * 4], np.int32).tolist()
    assert told[:2] == told[26:] == [-2, -2]
    assert told[2:26] == [workspace_bytes(computed, size) for size in range(1, LARGEST + 1)]
    found = np.frombuffer(done.stdout[28 * 4 :], np.float32)
    for x in inputs:
        expected = MODEL.expected(x).ravel()
        np.testing.assert_allclose(found[: expected.size], expected, atol=1e-5)
        found = found[expected.size :]
    assert not found.size


def test_c_around_an_object_file_has_the_functions_that_compute_the_bytes(computed, tmp_path):
    """As for target llvm."""
    types = ["const float*", "float*", "int32_t", "const uint8_t*", "uint8_t*"]
    main = MainFunction("planned_main", types)
    source = print_main_caller(computed.ir_mod, computed.interface, [main])
    assert "tvmgen_max_int32(" in source
    (tmp_path / "tvmgen_default.h").write_text(computed.header)
    (tmp_path / "code.c").write_text(source)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    run_compiler(["gcc", *strict, "code.c"], cwd=tmp_path)
