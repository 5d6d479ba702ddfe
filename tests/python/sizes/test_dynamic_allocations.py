"""Models with buffers of unbounded size, from TIR to runs on this host."""

import json
import subprocess

import numpy as np
import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from support.archives import write_tar
from support.c_program import SANITIZERS
from support.dynamic_programs import MOST, Net, built, described, lowered
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.objects import TensorInfo
from usmp.runtime import ArenaExhausted, BuildError, load_archive
from usmp.runtime.archived.read_tar import ArchiveError
from usmp.runtime.c_compiler import compile_c
from usmp.runtime.write_files import write_files

pytestmark = pytest.mark.cc

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
X = np.arange(MOST, dtype="int8")


def count(n):
    return np.array([n], "int32")


def as_program(files, main, directory, flags=SANITIZERS):
    """Build the code of an archive with a `main`, and run it: its exit status is the line of the
    first check that fails."""
    code = {path: content for path, content in files.items() if path.startswith("codegen/")}
    sources = [path for path in write_files(code, directory) if path.suffix == ".c"]
    program = directory / "main.c"
    program.write_text(f"#define CHECK(condition) if (!(condition)) return __LINE__\n{main}")
    include = directory / "codegen/host/include"
    options = [*STRICT, *flags, f"-I{include}", *map(str, [*sources, program])]
    compile_c([*options, "-lm"], directory / "program")
    return subprocess.run([directory / "program"], check=False).returncode


EVERY_CAPACITY = """
#include <stdlib.h>
#include <string.h>
#include "tvmgen_net.h"

static int8_t x[TVMGEN_NET_X_SIZE], y[TVMGEN_NET_Y_SIZE];

int main(void) {
  int32_t count = 50;
  struct tvmgen_net_inputs inputs = {.x = x, .count = &count};
  struct tvmgen_net_outputs outputs = {.y = y};
  size_t needed = 0;
  int ends = 0;
  for (int i = 0; i < TVMGEN_NET_X_SIZE; ++i) x[i] = (int8_t)i;
  for (size_t capacity = 0; capacity < 640; ++capacity) {
    struct usmp_arena arena;
    void* memory = malloc(capacity);
    int32_t status;
    memset(y, 0, sizeof(y));
    CHECK(usmp_arena_init(&arena, memory, capacity) == 0);
    status = tvmgen_net_run(&inputs, &outputs, &arena);
    /* Everything is released, however it ended. */
    CHECK(arena.used == 0 && arena.top == 0);
    if (status != 0) {
      CHECK(status == TVMGEN_NET_STATUS_NO_MEMORY);
      CHECK(needed == 0 && arena.high_water > capacity);
      if (arena.high_water == capacity + 1) ++ends;
    } else {
      if (needed == 0) needed = capacity;
      CHECK(arena.high_water == needed);
      for (int i = 0; i < count; ++i) CHECK(y[i] == (int8_t)(i + 4));
      for (int i = count; i < TVMGEN_NET_Y_SIZE; ++i) CHECK(y[i] == 0);
    }
    free(memory);
  }
  CHECK(needed != 0);
  /* The block of `a`, then that of the operator above it, then the same above `b`. */
  CHECK(ends == 3);
  CHECK(tvmgen_net_run(&inputs, &outputs, NULL) == TVMGEN_NET_STATUS_NO_MEMORY);
  for (int i = 0; i < TVMGEN_NET_X_SIZE; ++i) CHECK(x[i] == i);
  return 0;
}
"""


@pytest.mark.parametrize("poison", [False, True])
def test_an_arena_of_any_size_gives_a_status_or_the_result(poison, tmp_path):
    assert as_program(built(Net, poison=poison).files(), EVERY_CAPACITY, tmp_path) == 0


def test_a_host_gives_an_arena():
    module = built(Net).load()
    for n in (50, 1, MOST):
        outputs = module.run({"x": X, "count": count(n)})
        assert np.array_equal(outputs["y"][:n], X[:n] + 4)
    needed = module.arena_high_water
    assert 8 * MOST < needed < 8 * MOST + 256
    module.run({"x": X, "count": count(1)})
    assert module.arena_high_water < needed


def test_an_arena_that_is_too_small():
    factory = built(Net)
    needed, steps = 0, []
    while True:
        module = factory.load(arena_bytes=needed)
        try:
            module.run({"x": X, "count": count(50)})
            break
        except ArenaExhausted as error:
            assert error.needed_bytes == module.arena_high_water > needed
            assert str(error).startswith(
                f"model net needs an arena of at least {error.needed_bytes} bytes for these inputs,"
                f" but has one of {needed}; give it more (tvmc run --arena-bytes"
            )
            steps.append(needed := error.needed_bytes)
    assert len(steps) == 3
    assert module.arena_high_water <= needed
    with pytest.raises(ValueError, match="an arena has 0 bytes or more, not -1"):
        factory.load(arena_bytes=-1)
    with pytest.raises(ValueError, match="this host has no 9223372036854775807 bytes for an arena"):
        factory.load(arena_bytes=2**63 - 1)


@pytest.mark.parametrize("n", [-1, -(2**31), 2**30])
def test_sizes_that_no_buffer_has(n):
    """Twice 2**30 elements cannot be indexed with 32 bits; main itself allocates 2**30 bytes."""
    module = built(Net).load(arena_bytes=2**31)
    with pytest.raises(RuntimeError, match="computed the size of a buffer from these inputs that"):
        module.run({"x": X, "count": count(n)})


WORKSPACE_FUNCTIONS = """
#include <stdint.h>
#include <stdlib.h>

static void* blocks[8];
static int live, calls, wrong;
int fails_at = 0;

void* TVMBackendAllocWorkspace(
    int device_type, int device_id, uint64_t bytes, int code, int bits) {
  void* memory = NULL;
  wrong |= device_type != 1 || device_id != 0 || code != 0 || (bits != 8 && bits != 32);
  wrong |= bits == 32 ? bytes != 400 : bytes != 50;
  if (++calls == fails_at) return NULL;
  wrong |= posix_memalign(&memory, 64, (size_t)bytes) != 0;
  blocks[live++] = memory;
  return memory;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void* block) {
  wrong |= device_type != 1 || device_id != 0 || live == 0 || blocks[live - 1] != block;
  if (live > 0) free(blocks[--live]);
  return 0;
}
"""

EVERY_CALL = """
#include "tvmgen_net.h"

static int8_t x[TVMGEN_NET_X_SIZE], y[TVMGEN_NET_Y_SIZE];

int main(void) {
  int32_t count = 50;
  struct tvmgen_net_inputs inputs = {.x = x, .count = &count};
  struct tvmgen_net_outputs outputs = {.y = y};
  int allocations;
  CHECK(tvmgen_net_run(&inputs, &outputs) == 0);
  for (int i = 0; i < count; ++i) CHECK(y[i] == 4);
  CHECK(!wrong && live == 0);
  allocations = calls;
  /* Two of main, and one in each of four calls of the operator. */
  CHECK(allocations == 6);
  for (fails_at = 1; fails_at <= allocations; ++fails_at) {
    calls = 0;
    CHECK(tvmgen_net_run(&inputs, &outputs) == TVMGEN_NET_STATUS_NO_MEMORY);
    CHECK(calls == fails_at && !wrong && live == 0);
  }
  fails_at = calls = 0;
  count = -1;
  CHECK(tvmgen_net_run(&inputs, &outputs) == TVMGEN_NET_STATUS_NO_MEMORY);
  CHECK(calls == 0);
  return 0;
}
"""


def test_the_functions_of_tvms_runtime(tmp_path):
    factory = built(Net, dynamic_allocator="TVMBackendAllocWorkspace")
    assert "usmp_arena" not in factory.header + factory.source
    assert not [path for path in factory.files() if "usmp_arena" in path]
    main = f"#define _POSIX_C_SOURCE 200112L\n{WORKSPACE_FUNCTIONS}{EVERY_CALL}"
    assert as_program(factory.files(), main, tmp_path) == 0


def test_a_host_needs_a_source_with_the_functions_of_tvms_runtime(tmp_path):
    factory = built(Net, dynamic_allocator="TVMBackendAllocWorkspace")
    with pytest.raises(BuildError, match="the model calls TVMBackendAllocWorkspace and TVMBackend"):
        factory.load()
    source = tmp_path / "workspace.c"
    source.write_text(f"#define _POSIX_C_SOURCE 200112L\n{WORKSPACE_FUNCTIONS}")
    module = factory.load([source])
    assert np.array_equal(module.run({"x": X, "count": count(50)})["y"][:50], X[:50] + 4)
    with pytest.raises(RuntimeError, match="model net returned -3"):
        module.run({"x": X, "count": count(-1)})


def test_inputs_and_outputs_in_the_workspace():
    module = built(Net, use_workspace_io=True).load()
    assert np.array_equal(module.run({"x": X, "count": count(9)})["y"][:9], X[:9] + 4)


TWO_MODELS = """
#include "tvmgen_first.h"
#include "tvmgen_second.h"

static int8_t x[TVMGEN_FIRST_X_SIZE], y[TVMGEN_FIRST_Y_SIZE];
static uint8_t memory[1024];

int main(void) {
  int32_t count = 50;
  struct tvmgen_first_inputs inputs = {.x = x, .count = &count};
  struct tvmgen_first_outputs outputs = {.y = y};
  struct tvmgen_second_inputs second_inputs = {.x = y, .count = &count};
  struct tvmgen_second_outputs second_outputs = {.y = x};
  struct usmp_arena arena;
  CHECK(usmp_arena_init(&arena, memory, sizeof(memory)) == 0);
  CHECK(tvmgen_first_run(&inputs, &outputs, &arena) == 0);
  CHECK(tvmgen_second_run(&second_inputs, &second_outputs, &arena) == 0);
  for (int i = 0; i < count; ++i) CHECK(x[i] == 8);
  return 0;
}
"""


def test_models_of_one_archive_share_the_allocator(tmp_path):
    models = [built(Net, "first"), built(Net, "second")]
    path = usmp.export_model_library_format(models, tmp_path / "both.tar")
    archive = load_archive(path)
    files = archive.files
    allocators = sorted(path for path in files if "arena" in path and path.startswith("codegen/"))
    assert allocators == ["codegen/host/include/usmp_arena.h", "codegen/host/src/usmp_arena.c"]
    assert as_program(archive.files, TWO_MODELS, tmp_path) == 0
    module = archive.load("second", arena_bytes=4096)
    assert np.array_equal(module.run({"x": X, "count": count(5)})["y"][:5], X[:5] + 4)


def test_an_archive_without_the_allocator(tmp_path):
    files = built(Net).files()
    del files["codegen/host/src/usmp_arena.c"]
    with pytest.raises(ArchiveError, match='module "net" lacks codegen/host/src/usmp_arena'):
        load_archive(write_tar(tmp_path / "net.tar", files))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["functions"]["main"][0].update(takes_arena="yes"), "takes_arena"),
        (lambda m: m["dynamic_allocations"].update(allocator="malloc"), "allocator"),
        (lambda m: m["dynamic_allocations"].update(buffers=[{"name": "a"}]), "function"),
        (lambda m: m["dynamic_allocations"].update(buffers="all"), "buffers"),
    ],
)
def test_damaged_metadata(change, message, tmp_path):
    files = built(Net).files()
    metadata = json.loads(files["metadata.json"])
    change(metadata["modules"]["net"]["memory"])
    files["metadata.json"] = json.dumps(metadata).encode()
    with pytest.raises(ArchiveError, match=f'has no valid "{message}"'):
        load_archive(write_tar(tmp_path / "net.tar", files))


def test_the_summary_says_which_buffers_are_not_planned_and_why():
    summary = " ".join(built(Net).summary().split())
    assert (
        "3 buffers are not planned, because their sizes have no bound; runs allocate them in an "
        "arena that the application gives, in RAM beside the workspace: a of __tvm_main__, n bytes:"
        " it depends on n, which only the run knows b of __tvm_main__, n bytes: it depends on n, "
        "which only the run knows scratch of op, 4 * n * 2 bytes: it depends on n, which only the "
        "run knows RAM 196 bytes"
    ) in summary


def test_other_models_are_as_before():
    @I.ir_module
    class Static:
        @T.prim_func(private=True)
        def __tvm_main__(x: T.handle("int8"), count: T.handle("int32"), y: T.handle("int8")):
            X = T.decl_buffer((64,), "int8", data=x)
            Y = T.decl_buffer((64,), "int8", data=y)
            a = T.alloc_buffer((64,), "int8")
            for i in range(64):
                a[i] = X[i]
            for i in range(64):
                Y[i] = a[i]

    factory = built(Static)
    texts = [factory.header, factory.source, json.dumps(factory.metadata), factory.summary()]
    assert not [text for text in texts if "arena" in text or "NO_MEMORY" in text]
    assert not [path for path in factory.files() if "arena" in path]


def test_only_entries_that_allocate_take_an_arena():
    @T.prim_func(private=True)
    def second(x: T.handle("int8"), y: T.handle("int8")):
        X = T.decl_buffer((64,), "int8", data=x)
        Y = T.decl_buffer((64,), "int8", data=y)
        for i in range(64):
            Y[i] = X[i]

    net = described(Net)
    tensors = [TensorInfo("x", [MOST], "int8")], [TensorInfo("y", [MOST], "int8")]
    second = second.with_attr("input_tensors", tensors[0]).with_attr("output_tensors", tensors[1])
    second = second.with_attr("target", net["op"].attrs["target"])
    mod = IRModule({net.get_global_var("op"): net["op"]})
    mod["__tvm_one__"], mod["__tvm_two__"] = net["__tvm_main__"], second
    mod = mod.with_attr("entries", ["one", "two"])
    factory = AOTExecutorFactoryModule(lowered(mod), "net")
    runs = [line for line in factory.header.splitlines() if "_run(" in line]
    assert ["struct usmp_arena* arena" in line for line in runs] == [True, False]
    module = factory.load()
    one = module.run({"x": X, "count": count(9)}, "one")["y"]
    assert np.array_equal(one[:9], X[:9] + 4)
    assert np.array_equal(module.run({"x": X}, "two")["y"], X)
