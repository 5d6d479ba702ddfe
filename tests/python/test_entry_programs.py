"""Programs that call several entries of one model: instances, threads, and memory between calls."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from random import Random

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.accelerator_models import MATMUL, registered
from support.c_program import SANITIZERS, build_program
from support.compilers import require
from support.entry_models import (
    WEIGHTS,
    Entries,
    calls,
    check_entries_compute,
    entry_model,
    module_of,
)
from support.levels import sample, seeds
from support.planner_contexts import planner_context
from support.random_entries import draw_program
from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.runtime import HostModule

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("one_session")]

SRAM = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])])
entries = cache(entry_model)


def build(io: bool = False, streaming: bool = True, **arguments) -> usmp.AOTExecutorFactoryModule:
    disabled = [] if streaming else ["StreamOperators"]
    with PassContext(config={"tir.usmp.use_workspace_io": io}, disabled_pass=disabled):
        return usmp.build(entries(), workspace_memory_pools=SRAM, **arguments)


# ---- what is no state may be overwritten between calls


CONCURRENT = [(), [("tell", "plain")], [("learn", "plain")]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "io", "concurrent"),
    [
        *product(["auto"], [False, True], CONCURRENT),
        *sample(list(product(["greedy_by_size"], [False, True], CONCURRENT)), 1),
        *sample(list(product(["hill_climb"], [False, True], CONCURRENT)), 1),
    ],
    ids=str,
)
def test_bytes_that_are_no_state_do_not_matter_between_calls(io, concurrent, algorithm):
    with PassContext(config={"tir.usmp.algorithm": algorithm, "tir.usmp.use_workspace_io": io}):
        factory = usmp.build(entries(), workspace_memory_pools=SRAM, concurrent=concurrent)
    module = factory.load()
    assert len(module._pool_memory) == 1
    assert factory.interface.state_size_bytes == 33

    def run(inputs, entry):
        overwrite_all_but_states(factory, module, 0xA5)
        return module.run(inputs, entry)

    check_entries_compute(run)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(4, 12))
def test_random_entries(seed):
    """In any order, with what is no state overwritten between calls, and dead bytes within them."""
    random, values = Random(seed), np.random.default_rng(seed)
    program = draw_program(random)
    config = {
        "use_workspace_io": random.random() < 0.5,
        "algorithm": random.choice(["auto", "greedy_by_size", "hill_climb"]),
        "disabled_pass": [] if random.random() < 0.8 else ["OverlapInputsAndOutputs"],
        "debug": ["poison_dead_bytes"] if random.random() < 0.5 else [],
    }
    with planner_context(config):
        concurrent = program.independent(random)
        factory = usmp.build(program.module(), workspace_memory_pools=SRAM, concurrent=concurrent)
    module, states = factory.load(), dict(program.states)
    for _ in range(20):
        entry = random.choice(list(program.entries))
        x = values.standard_normal((program.rows, 8)).astype(np.float32)
        overwrite_all_but_states(factory, module, random.randrange(256))
        outputs = list(module.run({"x": x}, entry).values())
        for output, expected in zip(outputs, program.run(entry, x, states), strict=True):
            np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-4)


def overwrite_all_but_states(
    factory: usmp.AOTExecutorFactoryModule, module: HostModule, value: int
) -> None:
    """Set all other bytes of the only pool that the application provides."""
    for memory in module._pool_memory:
        kept = np.zeros(memory.shape, bool)
        for state in factory.interface.states:
            kept[state.byte_offset : state.byte_offset + state.size_bytes] = True
        memory[~kept] = value


# ---- entries that may run at once


def repeated(module: HostModule, entry: str, x: np.ndarray, expected: dict) -> int:
    """How many of many runs gave something else."""
    return sum(
        not np.allclose(module.run({"x": x}, entry)["y"], expected["y"], rtol=1e-4, atol=1e-5)
        for _ in range(300)
    )


@pytest.mark.slow
@pytest.mark.parametrize("io", [False, True])
def test_concurrent_entries_run_in_threads(io):
    module = build(io, concurrent=[("tell", "plain")]).load()
    reference, inputs = Entries(), dict(reversed(calls(40)))
    module.run({"x": inputs["tell"]}, "tell")
    with ThreadPoolExecutor(2) as threads:
        wrong = []
        for entry in ("tell", "plain"):
            expected = reference.run(inputs[entry], entry)
            wrong.append(threads.submit(repeated, module, entry, inputs[entry], expected))
        assert [future.result() for future in wrong] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("io", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_concurrent_entries_use_different_bytes(io, streaming):
    """But for the states, which the two only share if neither writes them. Rings are in the
    functions that an entry calls."""
    factory = build(io, streaming, concurrent=[("learn", "plain")])
    spans = {
        entry: {
            byte
            for buffer in factory.memory_plan.buffers
            if buffer.pool_name == "sram" and str(buffer.name).startswith(f"{entry}.")
            for byte in range(buffer.byte_offset, buffer.byte_offset + buffer.size_bytes)
        }
        for entry in ("learn", "plain")
    }
    assert all(spans.values())
    assert not spans["learn"] & spans["plain"]


@pytest.mark.slow
def test_concurrent_entries_with_the_same_segment_have_rings_of_their_own():
    def product(emit, x):
        weights = relax.const(WEIGHTS)
        again = emit(relax.op.matmul(emit(relax.op.matmul(x, weights)), weights))
        return [emit(relax.op.max(again, axis=[1]))]

    mod = module_of({name: ({"x": (3, 8)}, product) for name in "ab"}, {}, {"a": ["y"], "b": ["y"]})
    factory = usmp.build(mod, workspace_memory_pools=SRAM, concurrent=[("a", "b")])
    placed = [buffer for buffer in factory.memory_plan.buffers if buffer.pool_name == "sram"]
    assert all(str(buffer.name).endswith("_ring") for buffer in placed)
    assert {str(buffer.name).split(".")[0] for buffer in placed} == {"a", "b"}
    assert len({int(buffer.byte_offset) for buffer in placed}) == len(placed) > 2
    assert sum(int(buffer.size_bytes) for buffer in placed) == 32 * len(placed)


# ---- instances


MAIN_C = """
#include <stdio.h>
#include <stdlib.h>
#include "tvmgen_default.h"
static float x[24], y[24], largest[3];
int main(void) {
  struct tvmgen_default_workspace_pools pools[2];
  int instance, entry;
  for (instance = 0; instance < 2; ++instance) {
    pools[instance].sram = malloc(TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE);
    tvmgen_default_reset(&pools[instance]);
  }
  while ((instance = getchar()) != EOF && (entry = getchar()) != EOF) {
    struct tvmgen_default_workspace_pools* own = &pools[instance];
    size_t rows = entry == 2 ? 3 : 1;
    int32_t status = 1;
    if (fread(x, 32, rows, stdin) != rows) return 1;
    if (entry == 0) {
      struct tvmgen_default_learn_inputs inputs = {x};
      struct tvmgen_default_learn_outputs outputs = {y};
      status = tvmgen_default_learn_run(&inputs, &outputs, own);
    } else if (entry == 1) {
      struct tvmgen_default_tell_inputs inputs = {x};
      struct tvmgen_default_tell_outputs outputs = {y};
      status = tvmgen_default_tell_run(&inputs, &outputs, own);
    } else {
      struct tvmgen_default_plain_inputs inputs = {x};
      struct tvmgen_default_plain_outputs outputs = {y, largest};
      status = tvmgen_default_plain_run(&inputs, &outputs, own);
    }
    if (status != 0) return 2;
    fwrite(y, 32, rows, stdout);
  }
  free(pools[0].sram);
  free(pools[1].sram);
  return 0;
}
"""
"""Runs what it reads: number of the instance, number of the entry, input."""


def test_two_instances_need_two_sets_of_pools_and_nothing_else(tmp_path):
    program = build_program(build().files(), MAIN_C, tmp_path, SANITIZERS)
    references, random = [Entries(), Entries()], np.random.default_rng(0)
    content, expected = b"", []
    for entry, x in calls(60):
        instance = int(random.integers(2))
        number = ["learn", "tell", "plain"].index(entry)
        content += bytes([instance, number]) + x.tobytes()
        expected.append(references[instance].run(x, entry)["y"])
    done = subprocess.run([program], input=content, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    outputs = np.frombuffer(done.stdout, np.float32)
    np.testing.assert_allclose(
        outputs, np.concatenate([y.ravel() for y in expected]), rtol=1e-4, atol=1e-5
    )


# ---- entries of other kinds


@pytest.mark.slow
def test_entries_without_inputs_or_outputs(tmp_path):
    """What they do is in the state alone."""

    def feed(emit, x, total):
        return [emit(relax.op.add(total, x))]

    def double(emit, total):
        return [emit(relax.op.add(total, total))]

    def read(emit, total):
        return [emit(relax.op.negative(total))]

    one = (1, 8)
    mod = module_of(
        {
            "feed": ({"x": one, "total": one}, feed),
            "double": ({"total": one}, double),
            "read": ({"total": one}, read),
        },
        {"feed": {"total": 0}, "double": {"total": 0}, "read": {"total": -1}},
        {"feed": [], "double": [], "read": ["y"]},
    )
    for io in (False, True):
        with PassContext(config={"tir.usmp.use_workspace_io": io}):
            factory = usmp.build(mod)
        factory.export_model_library_format(tmp_path / "model.tar")
        module = usmp.load_archive(tmp_path / "model.tar").load()
        x = np.full(one, 3, np.float32)
        assert module.run({"x": x}, "feed") == {}
        assert module.run({}, "double") == {}
        expected = -2 * (np.arange(8, dtype=np.float32) + 3)
        np.testing.assert_array_equal(module.run({}, "read")["y"], [expected])


def test_only_entry_of_another_name(tmp_path):
    def forward(emit, x):
        return [emit(relax.op.negative(x))]

    mod = module_of({"forward": ({"x": (2, 2)}, forward)}, {}, {"forward": ["y"]})
    factory = usmp.build(mod)
    factory.export_model_library_format(tmp_path / "model.tar")
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    archive = usmp.load_archive(tmp_path / "model.tar")
    assert archive.module().entries["forward"].c_prefix == "tvmgen_default_forward"
    for entry in (None, "forward"):
        np.testing.assert_array_equal(archive.load().run({"x": x}, entry)["y"], -x)


MATMUL_C = """
#include "tvmgen_default.h"
static int32_t matmul(const float* x, const float* w, float* y, int rows) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < 8; ++j) {
      y[i * 8 + j] = 0;
      for (int k = 0; k < 8; ++k) y[i * 8 + j] += x[i * 8 + k] * w[k * 8 + j];
    }
  }
  return 0;
}
"""


def test_functions_of_accelerators_in_entries(tmp_path):
    """An entry takes the handles of those that it calls; the struct is one for all."""
    require("gcc")

    def product(emit, x):
        return [emit(relax.op.matmul(x, relax.const(np.eye(8, dtype=np.float32))))]

    def double(emit, x):
        return [emit(relax.op.add(x, x))]

    mod = module_of(
        {"product": ({"x": (2, 8)}, product), "double": ({"x": (2, 8)}, double)},
        {},
        {"product": ["y"], "double": ["y"]},
    )
    with registered(MATMUL):
        factory = usmp.build(mod, "accel,c")
    assert [list(entry.devices) for entry in factory.interface.entries] == [["accel"], []]
    (function,) = factory.interface.accelerator_functions
    source = tmp_path / "accel.c"
    source.write_text(
        f"{MATMUL_C}int32_t {function.symbol}(\n"
        "    const float* x, const float* w, float* y, void* device) {\n"
        "  (void)device;\n  return matmul(x, w, y, 2);\n}\n"
    )
    module = factory.load([source])
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    np.testing.assert_array_equal(module.run({"x": x}, "product")["y"], x)
    np.testing.assert_array_equal(module.run({"x": x}, "double")["y"], 2 * x)
