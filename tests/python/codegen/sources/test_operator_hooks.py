"""Hooks in C: weak, called in order, and not there unless they are asked for."""

from __future__ import annotations

import subprocess
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS, build_program
from support.compilers import require, run_compiler
from support.entry_models import entry_model
from support.relax_models import PARAMS, Attention, X, attention

pytestmark = pytest.mark.cc

MAIN = """
#include <stdio.h>
#include "tvmgen_default.h"
HOOKS
int main(void) {
  static float x[16], y[64];
  for (int i = 0; i < 16; ++i) x[i] = (float)i / 8;
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {y};
  const int32_t status = tvmgen_default_run(&inputs, &outputs);
  for (int i = 0; i < 64; ++i) printf("%g ", y[i]);
  return status;
}
"""
HOOKS = """
void tvmgen_default_operator_begin(int32_t operator_index) { printf("<%d ", (int)operator_index); }
void tvmgen_default_operator_end(int32_t operator_index) { printf("%d> ", (int)operator_index); }
"""


@cache
def profiled(model, *arguments, profile=True):
    """A model, or the function that makes one, built once with each choice of arguments."""
    params = PARAMS if model is Attention else None
    with PassContext(config={"tir.usmp.debug": ["profile"] if profile else []}):
        made = model if model is Attention else model()
        return usmp.build(made, *arguments, params=params)


def output(factory, main, folder, flags=SANITIZERS):
    folder.mkdir()
    program = build_program(factory.files(), main, folder, flags)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_hooks_of_the_application_take_the_place_of_weak_ones(tmp_path, target):
    flags = SANITIZERS if target == "c" else ["-O0"]
    factory = profiled(Attention, target)
    without = profiled(Attention, target, profile=False)
    plain = output(without, MAIN.replace("HOOKS", ""), tmp_path / "plain", flags)
    weak = output(factory, MAIN.replace("HOOKS", ""), tmp_path / "weak", flags)
    strong = output(factory, MAIN.replace("HOOKS", HOOKS), tmp_path / "strong", flags)
    assert weak == plain
    assert len(plain.split()) == 64
    assert strong == " ".join(f"<{i} {i}>" for i in range(6)) + f" {plain}"


@pytest.mark.slow
def test_a_packed_model_has_hooks_too():
    packed = usmp.Executor("aot", {"interface-api": "packed"})
    factory = profiled(Attention, "c", packed)
    (output,) = factory.run({"x": X}).values()
    np.testing.assert_allclose(output, attention(), rtol=1e-5)
    assert factory.source.count("_operator_begin(") == 7


@pytest.mark.slow
@pytest.mark.parametrize("model", [Attention, entry_model], ids=["one entry", "interleaved"])
def test_nothing_else_is_added(model):
    plain, hooked = profiled(model, profile=False), profiled(model)
    definitions = "\n".join(
        f"__attribute__((weak)) void tvmgen_default_operator_{when}(int32_t operator_index) "
        "{ (void)operator_index; }"
        for when in ("begin", "end")
    )
    block = f"#if defined(__GNUC__) || defined(__clang__)\n{definitions}\n#endif\n\n"
    text = _without(hooked.source, block)
    for index in range(len(hooked.interface.operators)):
        for when in ("begin", "end"):
            text = _without(text, f"  tvmgen_default_operator_{when}({index});\n")
    assert text == plain.source
    assert "operator_" not in plain.header + plain.source
    for name in {name for call in hooked.interface.operators for name in call.functions}:
        assert f"static TVMGEN_NOINLINE void tvmgen_default_{name}(" in plain.source


def _without(text, part):
    assert text.count(part) == 1
    return text.replace(part, "")


def test_the_header_lists_the_operators():
    header = profiled(Attention, "c").header
    assert "#define TVMGEN_DEFAULT_OPERATOR_COUNT 6\n" in header
    assert " * 4: matmul, float32[1][16] -> float32[1][64]\n" in header
    assert "void tvmgen_default_operator_begin(int32_t operator_index);\n" in header
    assert "void tvmgen_default_operator_end(int32_t operator_index);\n" in header


def test_operators_that_run_interleaved_are_one():
    header = profiled(entry_model).header
    assert "#define TVMGEN_DEFAULT_OPERATOR_COUNT 7\n" in header
    assert ' * 1: add of entry "learn", float32[1][8], float32[1][8] -> float32[1][8]\n' in header
    line = ' * 6: matmul_to_max of entry "plain", float32[3][8] -> float32[3][8], float32[3]\n'
    assert line in header


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_c_is_strict_c99(tmp_path, compiler):
    require(compiler)
    factory = profiled(entry_model)
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    (tmp_path / "lib0.c").write_text(factory.source)
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "lib0.c"]
    for level in ("-O0", "-O2", "-Os"):
        run_compiler([compiler, *options, level], cwd=tmp_path)
