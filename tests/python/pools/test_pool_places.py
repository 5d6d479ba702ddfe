"""Pools with an alignment of their buffers, bytes of others, and a known address."""

from __future__ import annotations

from contextvars import Context
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.entry_models import entry_model
from support.planner_contexts import planner_context
from support.relax_models import X, attention, bound_attention
from support.shared_builds import built_once
from support.state_models import Streaming, streaming_model
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.analysis.checks.plan_checker import check_places
from usmp.device.memory_source import print_memory
from usmp.objects import AllocatedPoolInfo, PlacedBuffer

pytestmark = pytest.mark.usefixtures("one_session")

POISON = {"tir.usmp.debug": ["poison_dead_bytes"]}
"""Runs overwrite dead bytes too, which has to find each buffer's lines; plans are the same."""
PEAK = 320
"""Bytes that the buffers of `Attention` take in one pool."""
ODD = 0x2000_0003
PLACES = [
    {"alignment": 64},
    {"pool_offset": 5},
    {"address": ODD},
    {"address": ODD, "pool_offset": 2, "alignment": 32},
]


def pools(*properties: dict, constants: dict | None = None) -> dict[str, object]:
    names = "abc"
    return {
        "workspace_memory_pools": WorkspaceMemoryPools(
            [
                WorkspacePoolInfo(names[number], ["c"], PoolInfoProperties(**each))
                for number, each in enumerate(properties)
            ]
        ),
        "constant_memory_pools": None
        if constants is None
        else ConstantMemoryPools(
            [ConstantPoolInfo("flash", ["c"], None, PoolInfoProperties(**constants))]
        ),
    }


def elsewhere(place: dict) -> dict:
    """The same for another memory."""
    return place | {"address": place["address"] + 0x1000_0000} if "address" in place else place


@built_once
def build(*properties, constants=None, options=None, **arguments) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options or {}):
        return usmp.build(bound_attention(), **pools(*properties, constants=constants), **arguments)


def described(factory, name="a") -> dict:
    found = factory.metadata["modules"]["default"]["memory"]["pools"]
    (pool,) = [pool for pool in found if pool["name"] == name]
    return pool


def assert_placed(pool: dict, properties: dict) -> None:
    """Each buffer has lines of its own, none of them among the bytes of others."""
    line = properties.get("alignment", 1)
    first = properties.get("address", 0) + pool.get("first_byte", 0)
    assert pool.get("first_byte", 0) >= properties.get("pool_offset", 0)
    for buffer in pool["buffers"]:
        start = first + buffer["offset"]
        assert start % max(line, 16) == 0
        assert (start + buffer["size"]) % line == 0
    assert (first + pool["size_bytes"]) % line == 0


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["auto", "greedy_by_size", "hill_climb", "no_sharing"])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_buffers_lie_in_lines_of_their_own(place, algorithm):
    options = POISON if algorithm == "auto" else POISON | {"tir.usmp.algorithm": algorithm}
    factory = build(place, constants=elsewhere(place), options=options)
    for name in ("a", "flash"):
        assert_placed(described(factory, name), place)


def plain():
    return build({}, constants={})


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_peaks_are_still_proved(place):
    pool = described(build(place, constants=elsewhere(place), options=POISON))
    assert pool["optimal"]
    assert pool["lower_bound_bytes"] == pool["peak_bytes"] == pool["size_bytes"]
    # What lies before the plan is no part of it.
    line = place.get("alignment", 1)
    assert described(plain())["peak_bytes"] == PEAK <= pool["peak_bytes"]
    assert pool["peak_bytes"] % line == 0


def test_a_size_hint_is_what_may_be_used_behind_the_bytes_of_others():
    hint = {"pool_offset": 5, "size_hint_bytes": PEAK + 11}
    assert described(build(hint))["first_byte"] == 16
    with pytest.raises(usmp.DoesNotFitError) as error:
        build(hint | {"size_hint_bytes": PEAK + 10})
    assert error.value.smallest_pool_bytes == {"a": PEAK + 11}
    assert error.value.needed_bytes == PEAK + 11
    assert error.value.available_bytes == PEAK + 10


@pytest.mark.slow
def test_a_size_hint_knows_the_least_alignment_of_a_pool():
    executor = usmp.Executor("aot", {"workspace-byte-alignment": 1})
    place = {"address": 5}
    pool = described(build(place, executor=executor))
    needed = pool["size_bytes"] + pool["first_byte"]
    assert pool["first_byte"] == 11
    with pytest.raises(usmp.DoesNotFitError) as error:
        build(place | {"size_hint_bytes": needed - 1}, executor=executor)
    assert error.value.smallest_pool_bytes == {"a": needed}
    build(place | {"size_hint_bytes": needed}, executor=executor)


def test_a_size_hint_holds_whole_lines():
    with pytest.raises(usmp.DoesNotFitError) as error:
        build({"alignment": 256, "size_hint_bytes": 511})
    (size,) = error.value.smallest_pool_bytes.values()
    assert size % 256 == 0
    build({"alignment": 256, "size_hint_bytes": size})


def test_buffers_of_several_pools_suit_them_all():
    """A buffer that may lie in either keeps the lines of both."""
    factory = build({"size_hint_bytes": 128}, {"alignment": 32})
    for name in "ab":
        assert_placed(described(factory, name), {"alignment": 32})


@pytest.mark.slow
def test_sizes_count_what_suits_all_buffers_that_may_lie_there():
    """Inputs and outputs may lie in the first pool, too, with the lines of the second one."""
    io = {"tir.usmp.use_workspace_io": True}
    first, second = {"pool_offset": 5}, {"alignment": 128, "io": "only"}
    pool = described(build(first, second, options=io))
    assert pool["first_byte"] == 128 and pool["alignment_bytes"] == 128
    needed = pool["size_bytes"] + 123
    options = io | {"disabled_pass": ["StreamOperators"]}
    build(first | {"size_hint_bytes": needed}, second, options=options).files()
    with pytest.raises(usmp.DoesNotFitError) as error:
        build(first | {"size_hint_bytes": needed - 1}, second, options=options)
    assert error.value.smallest_pool_bytes == {"a": needed}
    assert (error.value.available_bytes, error.value.needed_bytes) == (needed - 1, needed)


@pytest.mark.slow
def test_the_content_of_constants_has_nothing_of_others():
    """Else a header has five characters for each byte of the offset."""

    def content(factory) -> str:
        return factory.header.split("_FLASH_CONSTANT_POOL_DATA ")[1].split("\n\n")[0]

    factory = build({}, constants={"pool_offset": 1 << 20})
    assert content(factory).count("0x") == described(factory, "flash")["size_bytes"]
    assert content(factory) == content(plain())
    assert "from byte 1048576 on" in factory.header


@pytest.mark.slow
def test_archives_say_where_pools_are():
    place = {"address": ODD, "pool_offset": 2, "alignment": 32}
    pool = described(build(place))
    keys = ("buffer_alignment_bytes", "pool_offset_bytes", "first_byte", "address")
    assert [pool[key] for key in keys] == [32, 2, 29, ODD]
    assert not set(keys) & set(described(plain()))


def test_programs_for_devices_find_a_pool_at_its_address(tmp_path):
    place = {"address": ODD, "pool_offset": 2, "alignment": 32}
    build(place).export_model_library_format(tmp_path / "a.tar")
    module = usmp.load_archive(tmp_path / "a.tar").modules["default"]
    (pool,) = [pool for pool in module.pools if pool.name == "a"]
    assert (pool.first_byte, pool.address) == (29, ODD)
    assert pool.declared_bytes == pool.size_bytes + 29
    text = print_memory(module)
    assert "(void*)(uintptr_t)TVMGEN_DEFAULT_A_WORKSPACE_POOL_ADDRESS," in text
    assert "pool_a[" not in text


@pytest.mark.slow
def test_plans_are_the_same_each_time():
    place = {"address": ODD, "pool_offset": 2, "alignment": 32}
    given = {"constants": elsewhere(place), "options": POISON}
    # A context of its own has no session.
    again = Context().run(build.__wrapped__, place, **given)
    assert build(place, **given).files() == again.files()


def test_the_summary_says_where_pools_are():
    summary = build({"address": ODD, "pool_offset": 2, "alignment": 32}).summary()
    assert (
        "Pool a: offset 0 is at address 0x20000020; it begins behind 29 bytes of its memory, of "
        "which 2 belong to others; buffers start and end at multiples of 32."
    ) in " ".join(summary.split())


@pytest.mark.slow
def test_pools_that_share_bytes_are_refused():
    with pytest.raises(ValueError) as error:
        build({"address": 0x100, "size_hint_bytes": 128}, {"address": 0x110}).files()
    assert str(error.value).startswith('pools "a" (0x100 to 0x')
    assert ' and "b" (from 0x110) share bytes; ' in str(error.value)
    build({"address": 0x100, "size_hint_bytes": 128}, {"address": 0x180}).files()


@pytest.mark.slow
def test_packed_functions_take_aligned_pools():
    packed = usmp.Executor("aot", {"interface-api": "packed", "unpacked-api": False})
    with pytest.raises(ValueError) as error:
        build({"address": ODD}, executor=packed).files()
    assert str(error.value) == (
        'workspace pool "a": TVM\'s runtime allocates what the packed interface takes at addresses '
        "that are aligned to 16 bytes, but the pool is at 0x20000003; leave out the address"
    )


streaming, entries = cache(streaming_model), cache(entry_model)


@cache
def state_pool(**properties):
    sram = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(**properties))
    backup = WorkspacePoolInfo("backup", ["c"], PoolInfoProperties(**elsewhere(properties)))
    return usmp.build(
        streaming(),
        workspace_memory_pools=WorkspaceMemoryPools([sram]),
        state_memory_pool=backup,
    )


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_states_lie_in_lines_of_their_own(place):
    factory = state_pool(**place)
    for name in ("sram", "backup"):
        assert_placed(described(factory, name), place)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_entries_lie_in_lines_of_their_own(place):
    assert_placed(described(usmp.build(entries(), **pools(place))), place)


# ---- the checker


def checked(first: int, size: int = 64, offset: int = 0, **properties) -> str:
    pool = WorkspacePoolInfo("a", ["c"], PoolInfoProperties(**properties))
    buffer = PlacedBuffer("x", "main", 0, "a", offset, 32, 32, [], [])
    try:
        check_places([(AllocatedPoolInfo(pool, size, 0, 32), first)], [buffer])
    except ValueError as error:
        return str(error).removeprefix("USMP plan check: ")
    return ""


def test_the_checker_computes_addresses_itself():
    assert checked(32, pool_offset=32, alignment=32, size_hint_bytes=64) == ""
    assert checked(32, pool_offset=33) == (
        'pool "a" begins at byte 32 of its memory, but the first 33 belong to others'
    )
    assert checked(32, pool_offset=2, size_hint_bytes=93) == (
        'pool "a" takes 94 bytes from byte 2 on, but its size hint is 93 bytes'
    )
    assert checked(32, size=65, alignment=32) == 'pool "a" ends within a line of 32 bytes'
    assert checked(32, address=ODD) == (
        'buffer "x" at address 536870947 of pool "a" is not aligned to 32 bytes'
    )
    assert checked(29, address=ODD) == ""
    assert checked(29, address=ODD, offset=16) != ""


# ---- runs


@pytest.mark.cc
@pytest.mark.parametrize("io", [False, True], ids=["struct", "workspace-io"])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_runs_on_this_host(place, io):
    options = POISON | {"tir.usmp.use_workspace_io": True} if io else POISON
    (value,) = build(place, constants=elsewhere(place), options=options).run({"x": X}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)


@pytest.mark.cc
@pytest.mark.parametrize("place", [PLACES[0], PLACES[3]], ids=str)
def test_states_are_kept_between_runs(place):
    loaded, expected = state_pool(**place).load(), Streaming()
    x = np.random.default_rng(1).standard_normal((5, 1, 8)).astype(np.float32)
    for rows in (*x, None, *x):
        if rows is None:
            loaded.reset()
            expected = Streaming()
            continue
        wanted, outputs = expected.run(rows), loaded.run({"x": rows})
        for value, right in zip(outputs.values(), wanted.values(), strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-4)


@I.ir_module
class Rows:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.exp(R.nn.softmax(x)))
            R.output(y)
        return y


@pytest.mark.slow
@pytest.mark.cc
def test_workspaces_of_sizes_end_with_a_line():
    place = {"pool_offset": 5, "alignment": 128}
    with PassContext(config={"tir.usmp.dynamic": "expression"}):
        factory = usmp.build(Rows, max_sizes={"n": 9}, **pools(place))
    assert_placed(described(factory), place)
    loaded = factory.load()
    needed = loaded._library.tvmgen_default_workspace_size
    taken = [needed(size) for size in range(1, 10)]
    assert taken == sorted(taken) and taken[0] < taken[-1]
    assert taken[-1] == described(factory)["size_bytes"] + 128
    assert {size % 128 for size in taken} == {0}
    x = np.random.default_rng(1).standard_normal((7, 16)).astype(np.float32)
    (value,) = loaded.run({"x": x}).values()
    expected = usmp.build(Rows, max_sizes={"n": 9}).run({"x": x})
    np.testing.assert_array_equal(value, *expected.values())


@pytest.mark.cc
def test_packed_runs_begin_behind_the_bytes_of_others():
    packed = usmp.Executor("aot", {"interface-api": "packed", "unpacked-api": False})
    place = {"pool_offset": 5, "alignment": 64}
    (value,) = build(place, constants=elsewhere(place), executor=packed).run({"x": X}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)
