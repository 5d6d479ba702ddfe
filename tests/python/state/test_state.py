"""Models that keep state between runs, the whole way: Relax in, C out, run after run."""

from __future__ import annotations

import subprocess
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.target import Target

import usmp
from support.c_program import SANITIZERS, build_program
from support.compilers import run_compiler
from support.levels import sample
from support.poison import poisoned
from support.relax_models import PARAMS, Attention, X
from support.state_models import Streaming, streaming_model
from usmp import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.runtime import HostModule

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("one_session")]

RUNS = 6
INPUTS = np.random.default_rng(0).standard_normal((RUNS, 1, 8)).astype(np.float32)
streaming = cache(streaming_model)
STATE_BYTES = 3 * 8 * 4 + 2 + 8 * 4 + 1


def pools(*limits: int) -> dict[str, WorkspaceMemoryPools]:
    """Pools that the application provides, the last one without limit."""
    infos = [
        WorkspacePoolInfo(f"ram{i}", [Target("c")], PoolInfoProperties(size_hint_bytes=limit))
        for i, limit in enumerate((*limits, -1))
    ]
    return {"workspace_memory_pools": WorkspaceMemoryPools(infos)}


def build(options: dict | None = None, **arguments) -> usmp.AOTExecutorFactoryModule:
    config = {f"tir.usmp.{name}": value for name, value in (options or {}).items()}
    with PassContext(opt_level=3, config=config):
        return usmp.build(streaming(), **arguments)


def workspace_buffers(factory: usmp.AOTExecutorFactoryModule) -> list[dict]:
    memory = factory.metadata["modules"]["default"]["memory"]
    found = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
    return [{**buffer, "pool": pool["name"]} for pool in found for buffer in pool["buffers"]]


def check(module: HostModule, inputs: np.ndarray = INPUTS) -> None:
    """The module computes what numpy does, from the beginning."""
    reference = Streaming()
    for x in inputs:
        outputs, expected = module.run({"x": x}), reference.run(x)
        assert list(outputs) == ["y", "z"]
        np.testing.assert_allclose(outputs["y"], expected["y"], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(outputs["z"], expected["z"])


@pytest.fixture(scope="module")
def factory() -> usmp.AOTExecutorFactoryModule:
    return build()


OPTIONS = [
    {"enable": False},
    {"algorithm": "greedy_by_conflicts"},
    {"algorithm": "hill_climb"},
    {"algorithm": "no_sharing"},
    {"use_workspace_io": True},
    {"use_workspace_io": True, "algorithm": "hill_climb"},
]
LIMITS = [None, (), (48,), (16, 112, 64)]


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        *(({}, limits) for limits in LIMITS),
        *((options, LIMITS[-1]) for options in OPTIONS),
        *sample([(options, limits) for options in OPTIONS for limits in LIMITS[:-1]], 2),
    ],
    ids=str,
)
def test_state_is_kept_between_runs(options, limits):
    factory = build(options, **({} if limits is None else pools(*limits)))
    check(factory.load())
    placed = workspace_buffers(factory)
    assert {b["name"] for b in placed if b["kind"] == "state"} == {
        "window",
        "count",
        "total",
        "states_are_set",
    }
    assert len({b["pool"] for b in placed}) == (1 if not limits else 1 + len(limits))


@pytest.mark.parametrize(
    ("algorithm", "limits"),
    [
        ("greedy_by_size", (16, 112, 64)),
        ("greedy_by_conflicts", (16, 112, 64)),
        ("no_sharing", (16, 112, 64)),
        ("greedy_by_size", ()),
    ],
    ids=str,
)
def test_memory_that_is_not_kept_may_be_overwritten(algorithm, limits):
    factory = build({"algorithm": algorithm}, **pools(*limits))
    overwritten = poisoned(factory)
    assert "poisoned" in overwritten.source
    check(overwritten.load())


def test_states_share_bytes_with_nothing(factory):
    placed = workspace_buffers(factory)
    assert len(placed) > 4
    for state in (b for b in placed if b["kind"] == "state"):
        for other in (b for b in placed if b["name"] != state["name"]):
            assert (
                other["offset"] >= state["offset"] + state["size"]
                or state["offset"] >= other["offset"] + other["size"]
            )


def test_two_modules_are_independent(factory):
    first, second = factory.load(), factory.load()
    check(first)
    first.run({"x": INPUTS[0]})
    check(second)


def test_the_factory_keeps_state_too():
    factory = build()
    first = factory.run({"x": INPUTS[0]})
    second = factory.run({"x": INPUTS[0]})
    assert [int(outputs["z"][0]) for outputs in (first, second)] == [4, 5]


@pytest.mark.parametrize("limits", [None, (), (16, 112, 64)], ids=str)
def test_reset_starts_afresh(limits):
    module = build(**({} if limits is None else pools(*limits))).load()
    check(module, INPUTS[:4])
    module.reset()
    check(module)
    module.reset()
    module.reset()
    check(module)


@pytest.mark.slow
def test_reset_of_a_model_without_state():
    module = usmp.build(Attention, params=PARAMS).load()
    (expected,) = module.run({"x": X}).values()
    module.reset()
    (again,) = module.run({"x": X}).values()
    np.testing.assert_array_equal(again, expected)


def test_state_in_the_metadata(factory, tmp_path):
    path = tmp_path / "model.tar"
    factory.export_model_library_format(path)
    archive = usmp.load_archive(path)
    main = archive.metadata["modules"]["default"]["memory"]["functions"]["main"][0]
    assert main["state_size_bytes"] == STATE_BYTES
    assert list(main["inputs"]) == ["x"]
    assert list(main["outputs"]) == ["y", "z"]
    check(archive.load())


def test_parameters_that_are_states_cannot_be_bound():
    with pytest.raises(ValueError) as error:
        usmp.build(streaming_model(), params={"count": np.zeros(2, np.int8)})
    assert str(error.value) == (
        'parameter "count" of main is a state, which changes from run to run; what it is at first '
        "is the initial_value of its StateInfo"
    )


# ---- applications

MAIN_C = """
#include <stdio.h>
#include <string.h>
#include "tvmgen_default.h"
%(pools)s
static float x[8], y[8];
static int32_t z[2];
int main(void) {
  %(tensors)s
  int runs = 0;
  %(before)s
  while (fread(x, sizeof(x), 1, stdin) == 1) {
    if (runs++ == 3) {
      tvmgen_default_reset(%(passed)s);
    }
    %(copy_in)s
    if (tvmgen_default_run(%(arguments)s) != 0) return 1;
    %(copy_out)s
    fwrite(y, sizeof(y), 1, stdout);
    fwrite(z, sizeof(z), 1, stdout);
  }
  return 0;
}
"""
EXTERNAL = """
static uint8_t ram0[TVMGEN_DEFAULT_RAM0_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
static uint8_t ram1[TVMGEN_DEFAULT_RAM1_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
static struct tvmgen_default_workspace_pools pools = {ram0, ram1};
"""
OWN_TENSORS = """struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {y, z};"""
PLACED_TENSORS = """struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs(%(passed)s);
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs(%(passed)s);"""
COPY_IN = "memcpy(inputs.x, x, sizeof(x));"
COPY_OUT = "memcpy(y, outputs.y, sizeof(y)); memcpy(z, outputs.z, sizeof(z));"
GARBAGE = """memset(ram0, 0x55, sizeof(ram0));
  memset(ram1, 0x55, sizeof(ram1));
  tvmgen_default_reset(&pools);"""


@pytest.mark.parametrize(
    ("before", "limits"),
    [("", None), ("", (112,)), (GARBAGE, (112,))],
    ids=["internal", "external-zero", "external-reset"],
)
@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
def test_an_application_under_sanitizers(tmp_path, before, limits, io):
    factory = build({"use_workspace_io": io}, **({} if limits is None else pools(*limits)))
    texts = {"pools": "", "passed": "", "before": before}
    if limits is not None:
        texts |= {"pools": EXTERNAL, "passed": "&pools"}
    arguments = [texts["passed"]] if texts["passed"] else []
    if io:
        texts |= {"tensors": PLACED_TENSORS % texts, "copy_in": COPY_IN, "copy_out": COPY_OUT}
    else:
        arguments = ["&inputs", "&outputs", *arguments]
        texts |= {"tensors": OWN_TENSORS, "copy_in": "", "copy_out": ""}
    texts["arguments"] = ", ".join(arguments)
    program = build_program(factory.files(), MAIN_C % texts, tmp_path, SANITIZERS)
    done = subprocess.run([program], input=INPUTS.tobytes(), capture_output=True, check=True)
    output = done.stdout
    reference = Streaming()
    for index, x in enumerate(INPUTS):
        if index == 3:
            reference = Streaming()
        expected = reference.run(x)
        record = output[index * 40 : (index + 1) * 40]
        np.testing.assert_allclose(
            np.frombuffer(record[:32], np.float32), expected["y"], rtol=1e-5, atol=1e-5
        )
        np.testing.assert_array_equal(np.frombuffer(record[32:], np.int32), expected["z"])
    assert len(output) == RUNS * 40


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("limits", [None, (112,)], ids=str)
def test_header_tells_what_is_kept(language, limits):
    factory = build(**({} if limits is None else pools(*limits)))
    header = factory.header
    command = ["gcc", "-x", language, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    run_compiler([*command, "-"], input=header)
    assert f" * {STATE_BYTES} bytes of the workspace are kept from one run to the next\n" in header
    passed = "void" if limits is None else "struct tvmgen_default_workspace_pools* workspace_pools"
    assert f"void tvmgen_default_reset({passed});\n" in header
    states = [b for b in workspace_buffers(factory) if b["kind"] == "state"]
    for pool in ("ram0", "ram1") if limits else ():
        (line,) = (line for line in header.splitlines() if f"void* {pool};" in line)
        kept = sum(state["size"] for state in states if state["pool"] == pool)
        assert kept > 0
        assert line.endswith(f"aligned to 16, {kept} kept between runs */")


def test_header_of_a_model_without_state():
    factory = usmp.build(Attention, params=PARAMS, **pools())
    assert "kept" not in factory.header
    assert "reset" not in factory.header + factory.source
