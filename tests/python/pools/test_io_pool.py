"""`usmp.build` with pools that say whether inputs and outputs may lie there, and with a pool for
all of them."""

from __future__ import annotations

import subprocess
from functools import cache
from itertools import product

import numpy as np
import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm_ffi import register_global_func

import usmp
from support.c_program import SANITIZERS, build_program
from support.entry_models import entry_model
from support.planner_contexts import planner_context
from support.poison import poisoned
from support.quantized_models.chain import Chain
from support.quantized_models.model import Spec
from support.quantized_models.windows import Window
from support.relax_models import X, attention, bound_attention
from support.shared_builds import built_once
from support.state_models import Streaming, streaming_model
from support.updated_models import updating_model
from usmp import (
    DoesNotFitError,
    PoolAllocation,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.usefixtures("one_session")

IO = {"input", "output"}


def pool(name: str, size: int = -1, **properties) -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, ["c", "llvm"], PoolInfoProperties(size, **properties))


CCM, SRAM = pool("ccm"), pool("sram")
streaming, entries = cache(streaming_model), cache(entry_model)


@built_once
def build(*pools, mod=None, options=None, **arguments) -> usmp.AOTExecutorFactoryModule:
    with planner_context({"use_workspace_io": True} | (options or {})):
        return usmp.build(
            mod or bound_attention(),
            workspace_memory_pools=WorkspaceMemoryPools(pools) if pools else None,
            **arguments,
        )


def message_of(*pools, **arguments) -> str:
    with pytest.raises((ValueError, TypeError)) as error:
        build(*pools, **arguments)
    return str(error.value)


def held(factory) -> dict[str, dict[str, str]]:
    """Workspace pool -> name of each buffer -> its kind."""
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return {
        pool["name"]: {buffer["name"]: buffer["kind"] for buffer in pool["buffers"]}
        for pool in pools
        if pool["kind"] == "workspace"
    }


def kinds(factory) -> dict[str, set[str]]:
    return {name: set(buffers.values()) for name, buffers in held(factory).items()}


def test_without_io_they_lie_in_the_first_pool():
    assert kinds(build(CCM, SRAM)) == {"ccm": {*IO, "intermediate"}, "sram": set()}


WAYS = {
    "io-pool": ((CCM, SRAM), "sram"),
    "only": ((CCM, pool("sram", io="only")), None),
    "no": ((pool("ccm", io="no"), SRAM), None),
    "both": ((pool("ccm", io="no"), pool("sram", io="only")), "sram"),
}
OPTIONS = {
    "auto": {},
    "one-after-the-other": {"disabled_pass": ["StreamOperators"]},
    "greedy": {"algorithm": "greedy_by_size"},
    "nothing-shared": {"enable": False},
}


@pytest.mark.parametrize(
    ("way", "options"),
    [*product(["io-pool"], OPTIONS), *product(["only", "no", "both"], ["auto"])],
)
def test_they_lie_in_the_other_pool_and_all_else_does_not(way, options):
    pools, io_pool = WAYS[way]
    factory = build(*pools, options=OPTIONS[options], io_memory_pool=io_pool)
    assert kinds(factory) == {"ccm": {"intermediate"}, "sram": IO}


def test_others_may_lie_in_the_io_pool_too():
    assert kinds(build(SRAM, CCM, io_memory_pool="sram"))["sram"] == {*IO, "intermediate"}
    factory = build(pool("ccm", 300), SRAM, io_memory_pool="sram")
    assert kinds(factory) == {"ccm": {"intermediate"}, "sram": {*IO, "intermediate"}}


def test_inputs_and_outputs_share_bytes_there():
    """Nothing is live beside the input at the start and the output at the end."""
    factory = build(CCM, pool("sram", io="only"))
    sizes = {p.name: p.size_bytes for p in factory.interface.pools}
    assert sizes["sram"] == 256 < 64 + 256


def test_what_does_not_fit_there_lies_in_other_pools():
    """An output may; nothing else comes in its place."""
    factory = build(CCM, pool("sram", 100, io="only"))
    assert held(factory)["sram"] == {"x": "input"}
    assert "output" in held(factory)["ccm"]


@pytest.mark.parametrize("placement", ["preference", "cost"])
def test_pools_that_are_chosen_by_cost(placement):
    """The fastest memory is not for inputs and outputs, however often they are accessed."""
    speed = {"read_bandwidth_bytes_per_cycle": 8, "write_bandwidth_bytes_per_cycle": 8}
    pools = pool("ccm", io="no", **speed), pool("sram", read_latency_cycles=9)
    factory = build(*pools, options={"placement": placement})
    assert kinds(factory) == {"ccm": {"intermediate"}, "sram": IO}


@pytest.mark.slow
def test_states_are_neither():
    factory = build(CCM, pool("sram", io="only"), mod=streaming())
    assert kinds(factory) == {"ccm": {"intermediate", "state"}, "sram": IO}
    factory = build(CCM, SRAM, mod=streaming(), io_memory_pool="sram")
    assert kinds(factory) == {"ccm": {"intermediate", "state"}, "sram": IO}
    no = pool("backup", io="no")
    factory = build(CCM, SRAM, mod=streaming(), state_memory_pool=no, io_memory_pool="sram")
    assert kinds(factory) == {"ccm": {"intermediate"}, "sram": IO, "backup": {"state"}}


@pytest.mark.slow
def test_a_layout_keeps_states_out_of_a_pool_for_inputs_and_outputs():
    layout = build(CCM, SRAM, mod=streaming()).state_layout
    pools = pool("ccm", io="only"), SRAM
    message = message_of(*pools, mod=streaming(), state_layout=layout)
    assert message.startswith(
        'the state layout does not fit the model: pool "ccm" holds states in the layout, but in '
        "the model they may be in sram: "
    )


def test_an_input_that_runs_update():
    factory = build(CCM, pool("sram", io="only"), mod=updating_model())
    assert held(factory)["sram"] == {"x": "input", "cache": "input", "y": "output"}


@pytest.mark.slow
def test_every_entry():
    factory = build(CCM, SRAM, mod=entries(), io_memory_pool="sram")
    io = {
        *("learn.x", "learn.y", "tell.x", "tell.y"),
        *("plain.x", "plain.y", "plain.largest"),
    }
    assert set(held(factory)["sram"]) == io
    assert kinds(factory)["ccm"] == {"intermediate", "state"}


@I.ir_module
class Same:
    @R.function
    def main(x: R.Tensor((1, 16), "float32")):
        R.func_attr({"output_names": ["same", "shape", "twice"]})
        with R.dataflow():
            shape = R.reshape(x, (4, 4))
            a = R.exp(x)
            twice = R.add(a, a)
            R.output(shape, twice)
        return x, shape, twice


@pytest.mark.cc
def test_outputs_that_are_inputs():
    factory = build(CCM, pool("sram", io="only"), mod=Same)
    assert kinds(factory)["sram"] == IO
    assert kinds(factory)["ccm"] <= {"intermediate"}
    outputs = factory.load().run({"x": X})
    np.testing.assert_array_equal(outputs["same"], X)
    np.testing.assert_array_equal(outputs["shape"], X.reshape(4, 4))
    np.testing.assert_allclose(outputs["twice"], 2 * np.exp(X), rtol=1e-6)


@cache
def image_model() -> IRModule:
    """Two convolutions, which need three rows of the image at a time."""
    chain = Chain()
    image = chain.input(Spec((1, 8, 4, 1), 0.05, -3, "int8"))
    return import_tflite(chain.finish(chain.conv(chain.conv(image, 2, Window()), 1, Window())))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["io-pool", "both"])
def test_rows_lie_where_inputs_and_outputs_do(way):
    """The application writes and reads them there."""
    pools, io_pool = WAYS[way]
    options = {"stream_inputs": ["t0"], "stream_outputs": ["t6"]}
    factory = build(*pools, mod=image_model(), options=options, io_memory_pool=io_pool)
    assert held(factory)["sram"].keys() == {"t0_ring", "t6_ring"}
    assert kinds(factory) == {"ccm": {"intermediate"}, "sram": {"intermediate"}}


@pytest.mark.slow
def test_new_rows_of_a_window_lie_where_inputs_do():
    options = {"stream_inputs": ["t0:hop=2"]}
    factory = build(CCM, SRAM, mod=image_model(), options=options, io_memory_pool="sram")
    assert kinds(factory) == {"ccm": {"intermediate", "state"}, "sram": IO}


@pytest.mark.slow
def test_nothing_else_changes():
    """Where inputs and outputs would lie anyway, the C is the same; so it is without."""
    before = build(SRAM, CCM)
    for factory in (
        build(SRAM, CCM, io_memory_pool="sram"),
        build(SRAM, pool("ccm", io="no")),
        build(pool("sram", io="any"), CCM),
    ):
        assert factory.source == before.source
        assert factory.header == before.header


MAIN_C = """
#include <stdio.h>
#include <string.h>
#include "tvmgen_default.h"

static uint8_t ccm[TVMGEN_DEFAULT_CCM_WORKSPACE_POOL_SIZE + 32] __attribute__((aligned(16)));
static uint8_t sram[TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE + 32] __attribute__((aligned(16)));

static int lies_in_sram(const void* tensor, size_t size) {
  const uint8_t* start = tensor;
  return start >= sram + 16 && start + size <= sram + sizeof(sram) - 16;
}

static int is_changed(const uint8_t* bytes) {
  for (int i = 0; i < 16; ++i) {
    if (bytes[i] != 0x5a) return 1;
  }
  return 0;
}

int main(void) {
  struct tvmgen_default_workspace_pools pools = {.ccm = ccm + 16, .sram = sram + 16};
  struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs(&pools);
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs(&pools);
  if (!lies_in_sram(inputs.x, TVMGEN_DEFAULT_X_SIZE)) return 2;
  if (!lies_in_sram(outputs.output, TVMGEN_DEFAULT_OUTPUT_SIZE)) return 3;
  memset(ccm, 0x5a, sizeof ccm);
  memset(sram, 0x5a, sizeof sram);
  if (fread(inputs.x, TVMGEN_DEFAULT_X_SIZE, 1, stdin) != 1) return 4;
  /* Nothing of the input may be elsewhere before the run. */
  if (is_changed(ccm + 16)) return 5;
  if (tvmgen_default_run(&pools) != 0) return 6;
  if (is_changed(ccm) || is_changed(ccm + sizeof(ccm) - 16)) return 7;
  if (is_changed(sram) || is_changed(sram + sizeof(sram) - 16)) return 8;
  return fwrite(outputs.output, TVMGEN_DEFAULT_OUTPUT_SIZE, 1, stdout) != 1;
}
"""


@pytest.mark.slow
@pytest.mark.cc
def test_a_program_whose_inputs_and_outputs_lie_in_the_second_of_two_memories(tmp_path):
    (factory, other) = (
        build(*pools, io_memory_pool=io_pool) for pools, io_pool in (WAYS["io-pool"], WAYS["only"])
    )
    # One program for both.
    assert (factory.source, factory.header) == (other.source, other.header)
    program = build_program(factory.files(), MAIN_C, tmp_path, SANITIZERS)
    done = subprocess.run([program], input=X.tobytes(), capture_output=True, check=True)
    output = np.frombuffer(done.stdout, np.float32)
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_what_is_computed(target):
    factory = build(
        CCM, pool("sram", io="only"), mod=streaming(), target=target, io_memory_pool="sram"
    )
    for module in [factory, poisoned(factory)] if target == "c" else [factory]:
        loaded, reference = module.load(), Streaming()
        for x in np.random.default_rng(0).standard_normal((5, 1, 8)).astype(np.float32):
            outputs, expected = loaded.run({"x": x}), reference.run(x)
            np.testing.assert_allclose(outputs["y"], expected["y"], rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(outputs["z"], expected["z"])


def test_an_io_pool_that_is_too_small():
    """With streaming a lower bound refuses it, and else the search; the advice helps."""
    pools = CCM, pool("sram", 100)
    assert message_of(*pools, io_memory_pool="sram").startswith(
        "TVM USMP Error: the space available in the provided pools exceeded: inputs and outputs "
        "need at least 256 bytes, but there are 100. The largest buffer is output (at least 256 "
        'bytes)\n  pool "sram": size_hint_bytes=100\n'
    )
    with pytest.raises(DoesNotFitError) as error:
        build(*pools, io_memory_pool="sram", options={"disabled_pass": ["StreamOperators"]})
    assert error.value.smallest_pool_bytes == {"sram": 256}
    assert 'a plan fits: 256 for pool "sram"' in str(error.value)
    factory = build(
        CCM,
        pool("sram", 256),
        io_memory_pool="sram",
        options={"disabled_pass": ["StreamOperators"]},
    )
    assert kinds(factory)["sram"] == IO


def test_a_pool_for_all_else_that_is_too_small():
    message = message_of(pool("ccm", 100), pool("sram", io="only"))
    assert "the model needs at least 256 bytes, but there are 100" in message
    assert '\n  pool "ccm": size_hint_bytes=100\n' in message


@pytest.mark.slow
@pytest.mark.parametrize("model", [bound_attention, streaming, entries])
@pytest.mark.parametrize("way", ["io-pool", "both"])
def test_pools_of_the_size_that_is_enough_are_enough(way, model):
    """No lower bound refuses a plan that is there."""
    mod, (pools, io_pool) = model(), WAYS[way]
    factory = build(*pools, mod=mod, io_memory_pool=io_pool)
    sizes = {p.name: p.size_bytes for p in factory.interface.pools}
    exact = [p.with_properties(size_hint_bytes=sizes[str(p.pool_name)]) for p in pools]
    again = build(*exact, mod=mod, io_memory_pool=io_pool)
    assert all(p.size_bytes <= sizes[p.name] for p in again.interface.pools)


def test_an_algorithm_that_does_not_ask():
    """What it does with an input is no plan."""

    def first_pool(buffers, _):
        offset, plan = 0, {}
        for buffer in buffers:
            plan[buffer] = PoolAllocation(CCM, offset)
            offset += -(-buffer.size_bytes // 16) * 16
        return plan

    register_global_func("tir.usmp.algo.first_pool", first_pool, override=True)
    options = {"custom_algorithm": "first_pool"}
    assert "is in a pool that is not one of its candidates" in message_of(
        CCM, SRAM, io_memory_pool="sram", options=options
    )


NOT_PLANNED = (
    "inputs and outputs are not in the workspace, so that no pool holds them; place them there "
    "with tir.usmp.use_workspace_io=1 (tvmc: --workspace-io), or leave it out"
)


def test_what_is_refused():
    outside = {"use_workspace_io": False}
    assert message_of(CCM, SRAM, io_memory_pool="sram", options=outside) == (
        f'I/O pool "sram": {NOT_PLANNED}'
    )
    assert message_of(CCM, pool("sram", io="only"), options=outside) == (
        f'io=only of pool "sram": {NOT_PLANNED}'
    )
    assert message_of(CCM, SRAM, io_memory_pool="dma") == (
        'I/O pool "dma" is no workspace pool. Workspace pools: ccm, sram'
    )
    assert message_of(io_memory_pool="sram") == (
        'I/O pool "sram" is no workspace pool. Workspace pools: none; list them (--workspace-pools)'
    )
    assert message_of(CCM, SRAM, io_memory_pool="sram", state_memory_pool="sram") == (
        'I/O pool "sram" is the state pool, which holds nothing but state; name another pool for '
        "one of them"
    )
    assert message_of(CCM, SRAM, io_memory_pool=SRAM) == (
        "io_memory_pool takes str, not WorkspacePoolInfo"
    )


def test_metadata_and_summary():
    factory = build(pool("ccm", io="no"), pool("sram", io="only"), io_memory_pool="sram")
    memory = factory.metadata["modules"]["default"]["memory"]
    assert memory["io_pool"] == "sram"
    io = {pool["name"]: pool["io"] for pool in memory["pools"] if "io" in pool}
    assert io == {"ccm": "no", "sram": "only"}
    text = " ".join(factory.summary().split())
    assert (
        "All inputs and outputs lie in sram, the I/O pool. Of sram: inputs and outputs only "
        "(io=only). Of ccm: no inputs and outputs (io=no)." in text
    )


def test_metadata_without():
    memory = build(CCM, SRAM).metadata["modules"]["default"]["memory"]
    assert "io_pool" not in memory
    assert not any("io" in pool for pool in memory["pools"])
