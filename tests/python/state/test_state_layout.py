"""`usmp.build` with a state layout: states keep their places, or the build says what differs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import usmp
from support.micro import Micro
from support.public_models import imported
from support.relax_models import PARAMS, Attention
from support.state_layouts import RESET, build, edited, message_of, moved
from support.state_models import Streaming
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects import StateLayout
from usmp.runtime import HostModule

pytestmark = pytest.mark.usefixtures("one_session")

NAMES = ["window", "total", "count", "states_are_set"]


@pytest.fixture(scope="module")
def layout() -> StateLayout:
    """That of the streaming model with a pool for its states."""
    return build(state_memory_pool="backup").state_layout


def check(module: HostModule) -> None:
    reference = Streaming()
    for x in np.random.default_rng(0).standard_normal((5, 1, 8)).astype(np.float32):
        outputs, expected = module.run({"x": x}), reference.run(x)
        np.testing.assert_allclose(outputs["y"], expected["y"], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(outputs["z"], expected["z"])


def test_the_layout_of_a_model(layout):
    assert [state.name for state in layout.states] == NAMES
    described = [(str(s.dtype), list(s.shape), int(s.size_bytes)) for s in layout.states]
    assert described == [
        ("float32", [3, 8], 96),
        ("float32", [8], 32),
        ("int8", [2], 2),
        ("uint8", [1], 1),
    ]
    assert {str(state.pool_name) for state in layout.states} == {"backup"}
    assert layout.module_name == "default"


@pytest.mark.slow
def test_a_model_without_state():
    factory = usmp.build(Attention, params=PARAMS)
    assert factory.state_layout is None
    assert "state_layout" not in factory.metadata["modules"]["default"]["memory"]
    assert "STATE_LAYOUT" not in factory.header
    with pytest.raises(ValueError) as error:
        usmp.build(
            Attention,
            params=PARAMS,
            state_layout=edited(build().state_layout, {}),
        )
    assert str(error.value).startswith(
        'the state layout does not fit the model: state "count" is in the layout, but not in the '
        "model; "
    )


@pytest.mark.slow
def test_header_and_metadata(layout):
    factory = build(state_memory_pool="backup")
    memory = factory.metadata["modules"]["default"]["memory"]
    assert memory["state_layout"] == json.loads(layout.to_json())
    line = f"#define TVMGEN_DEFAULT_STATE_LAYOUT_HASH UINT64_C({layout.hash_text})\n"
    assert line in factory.header


OTHER_PLACES = {"window": 64, "total": 0, "count": 512, "states_are_set": 48}


IO = {"use_workspace_io": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "is_alone"),
    [
        ({}, True),
        (IO, True),
        ({}, False),
        (IO, False),
        ({"algorithm": "greedy_by_size"}, False),
        ({"algorithm": "hill_climb"}, False),
        ({"algorithm": "exact"}, False),
        ({"algorithm": "no_sharing"}, False),
        ({"disabled_pass": ("OverlapInputsAndOutputs",)}, False),
    ],
    ids=str,
)
def test_states_are_where_the_layout_says(layout, options, is_alone):
    wanted = moved(layout, **OTHER_PLACES)
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("backup", ["c"])])
    where = {"state_memory_pool": "backup"} if is_alone else {"workspace_memory_pools": pools}
    factory = build(options=options, state_layout=wanted, **where)
    assert factory.state_layout == wanted
    states = {b["name"]: b["offset"] for b in buffers(factory) if b["kind"] == "state"}
    assert states == OTHER_PLACES


def timed(name: str, bandwidth: int, size: int = -1) -> WorkspacePoolInfo:
    speed = {
        "clock_frequency_hz": 1000,
        "read_bandwidth_bytes_per_cycle": bandwidth,
        "write_bandwidth_bytes_per_cycle": bandwidth,
    }
    return WorkspacePoolInfo(name, ["c"], PoolInfoProperties(size, **speed))


@pytest.mark.slow
def test_pools_that_are_chosen_by_cost(layout):
    """States stay where they are, however fast other pools would be."""
    pools = WorkspaceMemoryPools([timed("fast", 4, 64), timed("slow", 1)])
    wanted = moved(layout, **OTHER_PLACES)
    factory = build(
        options={"placement": "cost"},
        workspace_memory_pools=pools,
        constant_memory_pools=ConstantMemoryPools(
            [ConstantPoolInfo("flash", ["c"], None, timed("flash", 1).properties())]
        ),
        state_memory_pool=timed("backup", 1),
        state_layout=wanted,
    )
    assert factory.state_layout == wanted


def buffers(factory) -> list[dict]:
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return [b for pool in pools if pool["kind"] == "workspace" for b in pool["buffers"]]


@pytest.mark.slow
@pytest.mark.cc
def test_what_is_computed_in_other_places(layout):
    wanted = moved(layout, **OTHER_PLACES)
    check(build(state_memory_pool="backup", state_layout=wanted).load())
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("backup", ["c"])])
    check(build(workspace_memory_pools=pools, state_layout=wanted).load())


@pytest.mark.slow
def test_a_file(layout, tmp_path):
    path = tmp_path / "layout.json"
    path.write_text(moved(layout, count=160).to_json())
    for given in (path, str(path)):
        factory = build(state_memory_pool="backup", state_layout=given)
        assert factory.state_layout == moved(layout, count=160)
    path.write_text("{}")
    assert message_of(path) == f'{path}: not a state layout: it has no "hash"'
    with pytest.raises(FileNotFoundError):
        build(state_layout=tmp_path / "none")


SAME_POOLS = ": compile it with the same pools and state pool as the one that the layout is of"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "difference"),
    [
        (
            {"window": {"shape": [8, 3]}},
            'state "window" is float32[8, 3] in the layout, but float32[3, 8] in the model',
        ),
        (
            {"window": {"shape": [3, 7], "size_bytes": 84}},
            'state "window" is float32[3, 7] in the layout, but float32[3, 8] in the model',
        ),
        (
            {"total": {"dtype": "int32"}},
            'state "total" is int32[8] in the layout, but float32[8] in the model',
        ),
        (
            {"count": {"initial_value": "0000000000000000"}},
            'state "count" starts with another value in the layout than in the model',
        ),
        (
            {"count": {"byte_offset": 154, "alignment": 2}},
            'state "count" is at byte 154 in the layout, but the model aligns it to 16 bytes',
        ),
        (
            {"count": {"name": "number"}},
            'state "number" is in the layout, but not in the model; '
            'state "count" is in the model, but not in the layout',
        ),
        (
            {"count": {"pool_name": "sram"}},
            'pool "sram" holds states in the layout, but in the model they may be in backup'
            + SAME_POOLS,
        ),
        (
            {name: {"name": f"{name}_"} for name in NAMES},
            'state "count_" is in the layout, but not in the model; '
            'state "states_are_set_" is in the layout, but not in the model; '
            'state "total_" is in the layout, but not in the model; '
            'state "window_" is in the layout, but not in the model; and 4 more differences',
        ),
    ],
)
def test_a_layout_that_does_not_fit(layout, fields, difference):
    assert message_of(edited(layout, fields)) == (
        f"the state layout does not fit the model: {difference}. {RESET}"
    )


def test_a_board_says_so_too(layout):
    """Not that something does not fit its memories."""
    small = WorkspacePoolInfo("psram", ["c"], PoolInfoProperties(size_hint_bytes=16))
    message = message_of(layout, board="mps2-an385", state_memory_pool=small)
    assert message == (
        'the state layout does not fit the model: pool "backup" holds states in the layout, but in '
        f"the model they may be in psram{SAME_POOLS}. {RESET}"
    )


@pytest.mark.slow
def test_pools_that_the_model_does_not_have(layout):
    assert message_of(layout, state_memory_pool=None) == (
        'the state layout does not fit the model: pool "backup" holds states in the layout, but in '
        f"the model they may be in global_workspace{SAME_POOLS}. {RESET}"
    )


def test_another_module(layout):
    assert message_of(layout, module_name="other") == (
        'the state layout is of module "default", not of "other"; give the module the same name, '
        "or leave the layout out"
    )


@pytest.mark.slow
def test_a_pool_that_is_too_small_for_the_layout(layout):
    pool = WorkspacePoolInfo("backup", ["c"], PoolInfoProperties(size_hint_bytes=512))
    message = message_of(moved(layout, window=480), state_memory_pool=pool)
    assert '"window" (96 bytes at offset 480)' in message
    assert "576" in message


def test_something_else_in_the_place_of_a_layout():
    assert message_of({"version": 1}) == "state_layout takes StateLayout, not dict"


@pytest.mark.slow
def test_a_keyword_spotter(shared_model):
    """With states in a pool of their own, the other one has what runs need, and can be shared."""
    path = shared_model("mww_okay_nabu_v2_int8")
    mod = imported(path)
    io = {"use_workspace_io": True}
    alone = build(mod, io, state_memory_pool="backup")
    sizes = {pool.name: pool.size_bytes for pool in alone.interface.pools if not pool.is_constant}
    assert sizes == {"backup": 3473, "global_workspace": 1472}
    layout = alone.state_layout
    pinned = build(
        mod,
        io | {"disabled_pass": ("OrderOperators",)},
        state_memory_pool="backup",
        state_layout=layout,
    )
    assert pinned.state_layout == layout
    module, reference = pinned.load(), Micro(path)
    for seed in range(60):
        inputs = reference.random_inputs(seed)
        (value,), (expected,) = module.run(inputs).values(), reference.run(inputs).values()
        assert value.tobytes() == expected.tobytes()
