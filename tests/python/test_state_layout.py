"""`usmp.build` with a state layout: states keep their places, or the build says what differs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS, build_program
from support.micro import Micro
from support.public_models import imported
from support.relax_models import PARAMS, Attention
from support.state_models import Streaming, streaming_model
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    StateInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects import PlacedState, StateLayout
from usmp.runtime import HostModule

pytestmark = pytest.mark.usefixtures("one_session")

FIELDS = (
    *("name", "shape", "dtype", "pool_name"),
    *("byte_offset", "size_bytes", "alignment", "initial_value"),
)
NAMES = ["window", "total", "count", "states_are_set"]
streaming = cache(streaming_model)


def build(mod=None, options=None, **arguments) -> usmp.AOTExecutorFactoryModule:
    config = {f"tir.usmp.{name}": value for name, value in (options or {}).items()}
    with PassContext(config=config):
        return usmp.build(mod or streaming(), **arguments)


@pytest.fixture(scope="module")
def layout() -> StateLayout:
    """That of the streaming model with a pool for its states."""
    return build(state_memory_pool="backup").state_layout


def moved(layout: StateLayout, **places: int) -> StateLayout:
    """The layout with other offsets of some states."""
    return edited(layout, {name: {"byte_offset": offset} for name, offset in places.items()})


def edited(layout: StateLayout, fields: Mapping[str, Mapping[str, object]]) -> StateLayout:
    states = [
        PlacedState(
            **{field: getattr(state, field) for field in FIELDS} | dict(fields.get(state.name, {}))
        )
        for state in layout.states
    ]
    return StateLayout(layout.module_name, tuple(states))


def message_of(layout, **arguments) -> str:
    arguments = {"state_memory_pool": "backup", **arguments}
    with pytest.raises((ValueError, TypeError)) as error:
        build(state_layout=layout, **arguments)
    return str(error.value).split("\n\n")[0]


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
        ({"overlap": False}, False),
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
RESET = (
    "Without the layout, states get new places, and what old ones hold is lost: the program has to "
    "reset the model"
)


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


# ---- a newer version of a program


def counting(step: int, initial: int = 0) -> IRModule:
    """A model that counts up by `step`, and keeps a value of its inputs."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "int8"))
    count = relax.Var("count", relax.TensorType((1,), "int32"))
    last = relax.Var("last", relax.TensorType((4,), "int8"))
    with builder.function("main", [x, count, last]):
        with builder.dataflow():
            more = builder.emit(relax.op.add(count, relax.const(np.int32([step]))))
            y = builder.emit(relax.op.add(last, x))
            results = [builder.emit_output(value) for value in (y, more, y)]
        builder.emit_func_output(relax.Tuple([results[1], results[0], results[2]]))
    states = [
        StateInfo("count", 0, tvm.runtime.tensor(np.int32(initial))),
        StateInfo("last", 2, tvm.runtime.tensor(np.int8(3))),
    ]
    main = builder.get()["main"].with_attrs({"states": states, "output_names": ["y"]})
    return IRModule({GlobalVar("main"): main})


UPDATE_C = """
#include <stdio.h>
#include <string.h>
#include "tvmgen_default.h"
static uint8_t memory[TVMGEN_DEFAULT_BACKUP_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
static uint64_t kept_hash;
int main(int count, char** arguments) {
  int8_t x[4] = {1, 1, 1, 1}, y[4];
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {y};
  struct tvmgen_default_workspace_pools pools = {memory};
  FILE* file = fopen(arguments[1], "rb");
  memset(memory, 0x55, sizeof(memory));
  if (file != NULL) {
    if (fread(&kept_hash, sizeof(kept_hash), 1, file) != 1) return 1;
    if (fread(memory, 1, sizeof(memory), file) == 0) return 2;
    fclose(file);
  }
  if (kept_hash != TVMGEN_DEFAULT_STATE_LAYOUT_HASH) {
    tvmgen_default_reset(&pools);
    kept_hash = TVMGEN_DEFAULT_STATE_LAYOUT_HASH;
  }
  if (tvmgen_default_run(&inputs, &outputs, &pools) != 0) return 3;
  file = fopen(arguments[1], "wb");
  if (file == NULL || count != 2) return 4;
  fwrite(&kept_hash, sizeof(kept_hash), 1, file);
  fwrite(memory, sizeof(memory), 1, file);
  fclose(file);
  printf("%d", (int)y[0]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.cc
def test_a_newer_program_finds_what_the_old_one_kept(tmp_path):
    """Memory that loses nothing is a file here; another layout makes the program reset."""
    kept = tmp_path / "kept"

    def run(name: str, factory) -> str:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        program = build_program(factory.files(), UPDATE_C, folder, SANITIZERS)
        done = subprocess.run([program, kept], capture_output=True, check=True, text=True)
        return done.stdout

    old = build(counting(1), state_memory_pool="backup")
    assert [run("old", old) for _ in range(3)] == ["4", "5", "6"]
    layout = StateLayout.from_json(old.state_layout.to_json())
    new = build(counting(2), state_memory_pool="backup", state_layout=layout)
    assert new.state_layout == old.state_layout
    assert run("new", new) == "7"
    other = build(
        counting(1, initial=5),
        state_memory_pool="backup",
    )
    assert other.state_layout.hash != old.state_layout.hash
    assert run("other", other) == "4"


# ---- several entries


def entries(initial: int = 0) -> IRModule:
    """`count` changes the state `total` and has one of its own; `query` reads `total`."""
    builder = relax.BlockBuilder()
    for name in ("count", "query"):
        x = relax.Var("x", relax.TensorType((4,), "float32"))
        total = relax.Var("total", relax.TensorType((4,), "float32"))
        own = relax.Var("own", relax.TensorType((2,), "int8"))
        params = [x, total, own] if name == "count" else [x, total]
        with builder.function(name, params):
            with builder.dataflow():
                y = builder.emit(relax.op.add(x, total))
                results = [builder.emit_output(relax.op.multiply(y, x)), builder.emit_output(y)]
                if name == "count":
                    one = relax.const(np.ones(2, np.int8))
                    results.append(builder.emit_output(relax.op.add(own, one)))
            builder.emit_func_output(relax.Tuple(results if name == "count" else results[:1]))
    value = tvm.runtime.tensor(np.float32(initial))
    states = {
        "count": [
            StateInfo("total", 1, value, 64),
            StateInfo("own", 2, tvm.runtime.tensor(np.int8(0))),
        ],
        "query": [StateInfo("total", -1, value, 64)],
    }
    mod = builder.get()
    for name, infos in states.items():
        variable = mod.get_global_var(name)
        mod.update_func(variable, mod[variable].with_attr("states", infos))
    return mod


@pytest.mark.slow
@pytest.mark.parametrize("initial", [0, 3])
def test_entries_have_one_layout(initial):
    first = build(entries(initial), state_memory_pool="backup")
    layout = first.state_layout
    names = ["total", "own", *(["states_are_set"] if initial else [])]
    assert [str(state.name) for state in layout.states] == names
    assert [list(state.shape) for state in layout.states][:2] == [[4], [2]]
    assert [int(state.alignment) for state in layout.states][:2] == [64, 16]
    wanted = moved(layout, total=128, own=208)
    again = build(entries(initial), state_memory_pool="backup", state_layout=wanted)
    assert again.state_layout == wanted
    placed = {str(b.name): int(b.byte_offset) for b in again.memory_plan.buffers}
    assert (placed["total"], placed["own"]) == (128, 208)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("initial", [0, 3])
def test_entries_compute_with_one_layout(initial):
    layout = build(entries(initial), state_memory_pool="backup").state_layout
    wanted = moved(layout, total=128, own=208)
    module = build(entries(initial), state_memory_pool="backup", state_layout=wanted).load()
    x, total = np.arange(4, dtype=np.float32), np.full(4, initial, np.float32)
    for entry in ("query", "count", "count", "query", "count"):
        (product, *_) = module.run({"x": x}, entry).values()
        np.testing.assert_array_equal(product, (x + total) * x)
        if entry == "count":
            total = total + x
    module.reset()
    (product,) = module.run({"x": x}, "query").values()
    np.testing.assert_array_equal(product, (x + initial) * x)


@pytest.mark.slow
def test_entries_have_one_hash():
    factory = build(entries(3), state_memory_pool="backup")
    lines = [line for line in factory.header.splitlines() if "STATE_LAYOUT_HASH" in line]
    assert lines == [
        f"#define TVMGEN_DEFAULT_STATE_LAYOUT_HASH UINT64_C({factory.state_layout.hash_text})"
    ]


@pytest.mark.slow
def test_entries_that_do_not_fit_a_layout():
    layout = build(entries(), state_memory_pool="backup").state_layout
    with pytest.raises(ValueError) as error:
        build(entries(3), state_memory_pool="backup", state_layout=layout)
    assert str(error.value) == (
        'the state layout does not fit the model: state "states_are_set" is in the model, but not '
        f'in the layout; state "total" starts with another value in the layout than in the model. '
        f"{RESET}"
    )


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
        io | {"order_operators": False},
        state_memory_pool="backup",
        state_layout=layout,
    )
    assert pinned.state_layout == layout
    module, reference = pinned.load(), Micro(path)
    for seed in range(60):
        inputs = reference.random_inputs(seed)
        (value,), (expected,) = module.run(inputs).values(), reference.run(inputs).values()
        assert value.tobytes() == expected.tobytes()


@pytest.mark.slow
def test_models_in_another_order_have_other_marks():
    """Each model has a state that marks its first run. Taken for that of the other model, the one
    would lose its state, and the other begin with none."""
    models = {name: counting(1) for name in ("first", "second")}
    factory = build(models, state_memory_pool="backup")
    layout = factory.state_layout
    marks = [str(s.name) for s in layout.states if str(s.initial_value).startswith("marks ")]
    assert sorted(marks) == ["states_are_set", "states_are_set_1"]
    again = build(models, state_memory_pool="backup", state_layout=layout)
    assert again.state_layout == layout
    swapped = {name: models[name] for name in ("second", "first")}
    assert message_of(layout, mod=swapped) == (
        'the state layout does not fit the model: state "states_are_set" marks the first run of '
        'other states in the layout than in the model; state "states_are_set_1" marks the first '
        f"run of other states in the layout than in the model. {RESET}"
    )
