"""Models with a size that has no upper bound: what depends on it is allocated by runs."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.compilers import run_compiler
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.sources.sizes import bytes_macro
from usmp.objects import TensorInfo
from usmp.plain.entry_size import EntrySize
from usmp.runtime import ArenaExhausted
from usmp.runtime.sizes import at_sizes

pytestmark = pytest.mark.cc

SIZES = (1, 17, 300)
VARIABLES = [tirx.Var(name, "int32") for name in ("n", "m")]


@I.ir_module
class Chain:
    """Of tensors that depend on `n`, and one that does not."""

    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor(
        ("n", 8), "float32"
    ):
        with R.dataflow():
            v = R.exp(w)
            u = R.nn.relu(R.matmul(v, v))
            a = R.matmul(x, u)
            b = R.matmul(a, R.permute_dims(x))
            c = R.nn.softmax(b)
            d = R.matmul(c, a)
            R.output(d)
        return d


def expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    v = np.exp(w)
    a = x @ np.maximum(v @ v, 0)
    b = a @ x.T
    c = np.exp(b - b.max(-1, keepdims=True))
    return c / c.sum(-1, keepdims=True) @ a


def inputs(n: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(n)
    shapes = {"x": (n, 8), "w": (8, 8)}
    return {k: generator.normal(size=s, scale=0.3).astype("float32") for k, s in shapes.items()}


@pytest.fixture(scope="module")
def built():
    return usmp.build(Chain)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A built transformer encoder and its model."""
    models = pytest.importorskip("support.dynamic_models")
    model = models.MODELS["encoder"]
    path = tmp_path_factory.mktemp("encoder") / "encoder.onnx"
    path.write_bytes(model.onnx().SerializeToString())
    return usmp.build(usmp.import_model(path, max_sizes={"seq": None})), model


def test_results_of_a_chain(built):
    module = built.load()
    for n in SIZES:
        given = inputs(n)
        found = module.run(given)["output"]
        np.testing.assert_allclose(found, expected(**given), rtol=1e-4, atol=1e-5, err_msg=f"{n}")


@pytest.mark.slow
def test_results_of_an_encoder(encoder):
    built, model = encoder
    module = built.load()
    for n in SIZES:
        x = model.inputs(n)
        (found,) = module.run({"x": x}).values()
        np.testing.assert_allclose(found, model.expected(x), atol=1e-5, err_msg=f"at {n}")


def test_what_depends_on_the_size_is_allocated_by_runs_and_nothing_else(built):
    memory = built.metadata["modules"]["default"]["memory"]
    allocated = {buffer["name"]: buffer for buffer in memory["dynamic_allocations"]["buffers"]}
    assert {buffer["why"] for buffer in allocated.values()} == {
        "n has no upper bound; give --max n=N to plan it"
    }
    planned = {
        buffer["name"]: buffer["size"] for pool in memory["pools"] for buffer in pool["buffers"]
    }
    # Of 8 x 8 floats: the exponentials, and what follows from them.
    assert set(planned.values()) == {256}
    assert not planned.keys() & allocated.keys()
    assert all("n" in buffer["size"] for buffer in allocated.values())


def test_no_number_of_bytes_is_said_of_what_has_none(built):
    memory = built.metadata["modules"]["default"]["memory"]
    (main,) = memory["functions"]["main"]
    assert main["sizes"] == {"n": {"c_name": "n", "min": 1, "max": None}}
    assert main["inputs"]["x"]["size"] is None
    assert main["outputs"]["output"]["size"] is None
    assert main["inputs"]["w"]["size"] == 256
    assert main["io_size_bytes"] == memory["ram"]["io_size_bytes"] == 256
    header = built.header
    assert "int32_t n;  /* 1 or more */" in header
    assert "#define TVMGEN_DEFAULT_N_MIN 1\n" in header
    assert "TVMGEN_DEFAULT_N_MAX" not in header
    assert "TVMGEN_DEFAULT_X_SIZE" not in header
    assert "#define TVMGEN_DEFAULT_W_SIZE 256\n" in header
    assert "#define TVMGEN_DEFAULT_X_BYTES(n) ((uint64_t)(32 * (int64_t)(n)))\n" in header


@pytest.mark.slow
def test_an_arena_that_is_too_small_says_how_much_it_lacks(built):
    given = inputs(40)
    module, capacities = built.load(arena_bytes=0), [0]
    while len(capacities) < 10:
        try:
            found = module.run(given)["output"]
            break
        except ArenaExhausted as error:
            assert error.needed_bytes > capacities[-1]
            capacities.append(error.needed_bytes)
            module = built.load(arena_bytes=error.needed_bytes)
    np.testing.assert_allclose(found, expected(**given), rtol=1e-4, atol=1e-5)
    assert module.arena_high_water == capacities[-1]


PROGRAM = """
#include <stdlib.h>
#include <stdio.h>
#include "tvmgen_default.h"

static int run(int32_t n, size_t arena_bytes) {
  void* memory = aligned_alloc(16, arena_bytes);
  struct usmp_arena arena;
  usmp_arena_init(&arena, memory, arena_bytes);
  size_t bytes = n > 0 ? TVMGEN_DEFAULT_X_BYTES(n) : 1;
  void* x = calloc(bytes, 1);
  void* w = calloc(TVMGEN_DEFAULT_W_SIZE, 1);
  struct tvmgen_default_inputs inputs = {.x = x, .w = w, .n = n};
  struct tvmgen_default_outputs outputs = {.output = malloc(bytes)};
  int status = tvmgen_default_run(&inputs, &outputs, &arena);
  free(memory); free(x); free(w); free(outputs.output);
  return status;
}

int main(void) {
  printf("%d %d %d %d", run(1, 65536), run(17, 65536), run(17, 256), run(0, 65536));
  struct tvmgen_default_inputs inputs = {.n = 67108864};
  struct tvmgen_default_outputs outputs = {0};
  printf(" %d", tvmgen_default_run(&inputs, &outputs, NULL));
  return TVMGEN_DEFAULT_X_BYTES(INT32_MAX) == UINT64_C(68719476704) ? 0 : 1;
}
"""


def test_the_c_reads_and_writes_only_its_tensors(built, tmp_path):
    for name, content in built.files().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "main.c").write_text(PROGRAM)
    sources = ["main.c", *map(str, sorted((tmp_path / "codegen/host/src").glob("*.c")))]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined"]
    command = ["gcc", *flags, "-fno-sanitize-recover=all", "-Icodegen/host/include"]
    run_compiler([*command, *sources, "-lm", "-o", "main"], cwd=tmp_path)
    done = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    assert done.stdout == b"0 0 -3 -2 -2"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"tir.usmp.use_workspace_io": True}, "inputs and outputs in the workspace have the larg"),
        ({"tir.usmp.dynamic": "expression"}, "n have no bound: give smaller largest values"),
    ],
    ids=["workspace", "expression"],
)
def test_what_needs_a_bound(options, fault):
    with tvm.transform.PassContext(config=options), pytest.raises(ValueError, match=fault):
        usmp.build(Chain).files()


def test_sizes_on_a_host(built):
    module = built.load()
    with pytest.raises(ValueError, match=r'size "n" is 0.*; the model takes 1 or more'):
        module.run(inputs(0))
    with pytest.raises(ValueError, match=r'tensor "x" of .* would take 2147483648 bytes at n=67'):
        at_sizes(module.inputs, {"n": 2**26})


def test_bytes_of_several_sizes_do_not_wrap_around():
    sizes = [EntrySize("n", "n", 1, None), EntrySize("m", "m", 1, None)]
    info = TensorInfo("x", [1, 1, 1], "float32", symbolic_shape=[VARIABLES[0], VARIABLES[1], 64])
    tensor = IOTensor(info, "x", None)
    entry = EntryInterface("main", "main", "p", [tensor], [], [], sizes=sizes)
    _, value = bytes_macro(entry, tensor)
    assert "2147483648" in value  # factors are limited
