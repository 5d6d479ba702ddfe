"""A transformer from PyTorch with a cache of keys and values, as two entries of one program."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.lazy import lazy
from support.levels import long_run
from support.main_calls import called
from support.planner_contexts import planner_context
from support.poison import poisoned
from support.pytorch_cache import (
    HEADS,
    POSITIONS,
    TOKENS,
    VOCABULARY,
    WIDTH,
    CachedTransformer,
    exported_step,
)
from support.pytorch_models import seeded, torch
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR
from usmp.relax.entries import split_entries
from usmp.runtime import HostModule

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")
import_pytorch_methods = lazy("usmp.frontend.pytorch.importer:import_pytorch_methods")

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("one_session")]

CACHES = [f"layers.0.cache.{part}" for part in ("keys", "values")]
ELEMENTS = HEADS * POSITIONS * (WIDTH // HEADS)
CACHE_BYTES = len(CACHES) * ELEMENTS * 4
FEW_TOKENS = 3
METHODS = {"prefill": FEW_TOKENS, "decode": 1}
IN_TURN = {"disabled_pass": ["StreamOperators"]}
"""Operators one after the other, which takes less time to plan."""
AT_ONCE = {**IN_TURN, "tir.usmp.algorithm": "hill_climb"}
"""Nor is it proved that no plan takes less."""
INTERLEAVED = {"tir.usmp.algorithm": "hill_climb"}


class OneLayer(CachedTransformer):
    """It takes a third of the time to plan."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = self.layers[:1]


def built(mod: IRModule, config: dict, **arguments) -> usmp.AOTExecutorFactoryModule:
    with planner_context(config):
        return usmp.build(mod, **arguments)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    module = seeded(OneLayer)
    return {name: exported_step(module, count) for name, count in METHODS.items()}


@pytest.fixture(scope="module")
def both(files) -> IRModule:
    return import_pytorch_methods(files)


@pytest.fixture(scope="module")
def modules(both) -> dict[str, IRModule]:
    """Each entry alone, and both."""
    return {**split_entries(both, list(METHODS)), "both": both}


@pytest.fixture(scope="module")
def factory(both) -> usmp.AOTExecutorFactoryModule:
    return built(both, AT_ONCE)


@pytest.fixture(scope="module")
def interleaved(modules) -> dict[str, usmp.AOTExecutorFactoryModule]:
    return {name: built(mod, INTERLEAVED) for name, mod in modules.items()}


def workspace(factory: usmp.AOTExecutorFactoryModule) -> dict:
    memory = factory.metadata["modules"]["default"]["memory"]
    (pool,) = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
    return pool


def steps() -> list[tuple[str, torch.Tensor, torch.Tensor]]:
    """A prefill and as many steps as the cache has room for."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, VOCABULARY, (1, POSITIONS), generator=generator)
    positions = torch.arange(POSITIONS)
    cuts = [(0, FEW_TOKENS), *((i, i + 1) for i in range(FEW_TOKENS, POSITIONS))]
    return [
        ("prefill" if begin == 0 else "decode", tokens[:, begin:end], positions[begin:end])
        for begin, end in cuts
    ]


def check(host: HostModule) -> None:
    """All steps, twice, with a reset in between, give what PyTorch does."""
    for _ in range(2):
        module = seeded(OneLayer)
        for entry, tokens, positions in steps():
            with torch.no_grad():
                expected = module(tokens, positions).numpy()
            inputs = {"tokens": tokens.numpy(), "positions": positions.numpy()}
            (logits,) = host.run(inputs, entry=entry).values()
            np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)
        host.reset()


@pytest.mark.slow
def test_all_steps_are_like_pytorch(factory):
    check(factory.load())


@pytest.mark.slow
def test_all_steps_with_operators_interleaved(interleaved):
    names = [variable.name_hint for variable in interleaved["both"].ir_mod.functions]
    assert any("_to_" in name for name in names)
    check(interleaved["both"].load())


@pytest.mark.slow
def test_all_steps_with_dead_memory_overwritten(both):
    """Inputs and outputs are in the workspace, too."""
    check(poisoned(built(both, {"tir.usmp.use_workspace_io": True, **AT_ONCE})).load())


@pytest.mark.slow
def test_only_decode(factory):
    """A program may fill the cache token by token."""
    module, host = seeded(OneLayer), factory.load()
    for position in range(FEW_TOKENS):
        tokens, positions = torch.tensor([[position]]), torch.tensor([position])
        with torch.no_grad():
            expected = module(tokens, positions).numpy()
        inputs = {"tokens": tokens.numpy(), "positions": positions.numpy()}
        (logits,) = host.run(inputs, entry="decode").values()
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)


def test_the_cache_has_one_place(factory):
    states = [b for b in workspace(factory)["buffers"] if b["kind"] == "state"]
    assert sorted(b["name"] for b in states) == CACHES
    assert sum(b["size"] for b in states) == CACHE_BYTES
    places = {}
    for entry in METHODS:
        main = factory.ir_mod[f"__tvm_{entry}__"]
        for statement in main.body.seq:
            if isinstance(statement, tirx.DeclBuffer) and statement.buffer.name in CACHES:
                offset = int(statement.data.args[0].indices[0])
                places.setdefault(str(statement.buffer.name), []).append(offset)
    expected = {b["name"]: [b["offset"]] * len(METHODS) for b in states}
    assert places == expected


def test_nothing_else_is_as_large_as_the_cache(factory):
    """No operator, and no copy, moves the keys or the values of a layer."""
    mod, found, copied = factory.ir_mod, [], []

    def note(statement: tirx.DeclBuffer) -> None:
        if prod(int(extent) for extent in statement.buffer.shape) >= ELEMENTS:
            found.append(str(statement.buffer.name))

    def note_copied(statement: tirx.DeclBuffer) -> None:
        copied.append(prod(int(extent) for extent in statement.buffer.shape))

    for entry in METHODS:
        main = mod[f"__tvm_{entry}__"]
        tvm_ffi.structural_walk(main.body, (tirx.DeclBuffer, note))
        for name in called(main):
            if name.startswith("usmp_copy"):
                tvm_ffi.structural_walk(mod[name].body, (tirx.DeclBuffer, note_copied))
    assert copied and max(copied) < ELEMENTS
    ours = [name for name in found if "constant" not in name and "workspace" not in name]
    assert sorted(ours) == sorted(CACHES * len(METHODS))


@pytest.mark.slow
def test_the_peak_is_that_of_the_larger_entry(modules):
    pools = {name: workspace(built(mod, IN_TURN)) for name, mod in modules.items()}
    assert all(pool["optimal"] for pool in pools.values())
    peaks = {name: pool["peak_bytes"] for name, pool in pools.items()}
    assert peaks == {"prefill": 9216, "decode": 8512, "both": 9216}
    assert max(peaks.values()) < CACHE_BYTES + 4096


def test_the_peak_with_operators_interleaved_is_that_of_the_larger_entry(interleaved):
    pools = {name: workspace(one) for name, one in interleaved.items()}
    assert all(pool["optimal"] for pool in pools.values())
    peaks = {name: pool["peak_bytes"] for name, pool in pools.items()}
    assert peaks == {"prefill": 9152, "decode": 8512, "both": 9152}


# It takes a minute.
@long_run()
@pytest.mark.parametrize("tokens", [TOKENS])
def test_a_search_that_ends_before_it_is_proved_that_no_plan_takes_less(tokens):
    module = seeded(CachedTransformer)
    contents = {n: exported_step(module, c) for n, c in {**METHODS, "prefill": tokens}.items()}
    alone = {name: usmp.build(import_pytorch(content)) for name, content in contents.items()}
    peaks = {name: workspace(one)["peak_bytes"] for name, one in alone.items()}
    assert peaks == {"prefill": 19296, "decode": 16768}
    assert workspace(alone["decode"])["optimal"]
    together = usmp.build(import_pytorch_methods(contents))
    assert workspace(together)["peak_bytes"] == max(peaks.values())
    for built_one in (alone["prefill"], together):
        assert workspace(built_one)["lower_bound_bytes"] == 19168


@pytest.mark.slow
def test_entries_that_change_one_cache_cannot_run_at_once(both):
    with pytest.raises(ValueError, match="may run at once, but both use the state"):
        built(both, AT_ONCE, concurrent=[("prefill", "decode")])


def test_weights_are_stored_once(interleaved):
    constants = {}
    for name, factory in interleaved.items():
        memory = factory.metadata["modules"]["default"]["memory"]
        (pool,) = [pool for pool in memory["pools"] if pool["kind"] == "constant"]
        constants[name] = pool["peak_bytes"]
    assert constants["both"] <= max(constants["prefill"], constants["decode"]) + 64


def test_no_input_leads_out_of_memory(interleaved, tmp_path):
    """Tokens and positions that are none give some numbers; PyTorch raises an error."""
    factory = interleaved["decode"]
    numbers = [0, -1, VOCABULARY, POSITIONS, -POSITIONS - 1, 2**62, 2**63 - 1, -(2**63)]
    runs = np.array([[token, position] for token in numbers for position in numbers])
    outputs = run_as_program(factory, tmp_path, SANITIZERS, runs.tobytes())
    logits = np.frombuffer(outputs, np.float32).reshape(len(runs), VOCABULARY)
    assert np.isfinite(logits).all()


@pytest.mark.slow
def test_the_cache_in_a_pool_of_its_own_that_an_update_keeps(both):
    """The entries in another order have another plan, but the same cache."""
    first = built(both, AT_ONCE, state_memory_pool="psram")
    layout = first.state_layout
    assert sorted(str(state.name) for state in layout.states) == CACHES
    assert all(
        list(state.shape) == [1, HEADS, POSITIONS, WIDTH // HEADS] for state in layout.states
    )
    sizes = {pool.name: pool.size_bytes for pool in first.interface.pools if not pool.is_constant}
    assert sizes["psram"] == CACHE_BYTES
    assert sizes.keys() == {"psram", "global_workspace"}
    later = both.with_attr(ENTRIES_ATTR.name, list(reversed(both.attrs[ENTRIES_ATTR.name])))
    second = built(later, AT_ONCE, state_memory_pool="psram", state_layout=layout)
    assert second.state_layout == layout
    assert second.interface.external_pools[0].size_bytes == CACHE_BYTES
    check(second.load())
