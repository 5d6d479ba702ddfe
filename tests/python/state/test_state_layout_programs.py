"""One state layout for the entries, the models and the versions of a program."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule

from support.c_program import SANITIZERS, build_program
from support.state_layouts import RESET, build, message_of, moved
from usmp import StateInfo
from usmp.objects import StateLayout

pytestmark = pytest.mark.usefixtures("one_session")

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
