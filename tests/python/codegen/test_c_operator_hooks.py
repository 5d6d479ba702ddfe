"""Hooks in C: weak, called in order, and not there unless they are asked for."""

from __future__ import annotations

import subprocess
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.c_program import SANITIZERS, build_program
from support.compilers import require
from support.entry_models import entry_model

pytestmark = pytest.mark.cc

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
MAIN = """
#include <stdio.h>
#include "tvmgen_default.h"
HOOKS
int main(void) {
  static int8_t image[64], probabilities[10];
  struct tvmgen_default_inputs inputs = {image};
  struct tvmgen_default_outputs outputs = {probabilities};
  const int32_t status = tvmgen_default_run(&inputs, &outputs);
  for (int i = 0; i < 10; ++i) printf("%d ", probabilities[i]);
  return status;
}
"""
HOOKS = """
void tvmgen_default_operator_begin(int32_t operator_index) { printf("<%d ", (int)operator_index); }
void tvmgen_default_operator_end(int32_t operator_index) { printf("%d> ", (int)operator_index); }
"""


@cache
def profiled(model, *arguments, streaming=True, profile=True):
    """A file, or the function that makes a model, built once with each choice of arguments."""
    config = {"tir.usmp.profile": profile, "tir.usmp.streaming": streaming}
    with PassContext(config=config):
        return usmp.build(model() if callable(model) else model, *arguments)


def output(factory, main, folder, flags=SANITIZERS):
    folder.mkdir()
    program = build_program(factory.files(), main, folder, flags)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_hooks_of_the_application_take_the_place_of_weak_ones(tmp_path, target):
    flags = SANITIZERS if target == "c" else ["-O2"]
    factory = profiled(DIGITS, target, streaming=False)
    without = profiled(DIGITS, streaming=False, profile=False)
    plain = output(without, MAIN.replace("HOOKS", ""), tmp_path / "plain")
    weak = output(factory, MAIN.replace("HOOKS", ""), tmp_path / "weak", flags)
    strong = output(factory, MAIN.replace("HOOKS", HOOKS), tmp_path / "strong", flags)
    assert weak == plain
    assert strong == " ".join(f"<{i} {i}>" for i in range(9)) + f" {plain}"


def test_a_packed_model_has_hooks_too():
    packed = usmp.Executor("aot", {"interface-api": "packed"})
    factory = profiled(DIGITS, "c", packed, streaming=False)
    image = {"image": np.ones((1, 8, 8, 1), np.int8)}
    without = profiled(DIGITS, streaming=False, profile=False)
    expected = without.run(image)["probabilities"]
    np.testing.assert_array_equal(factory.run(image)["probabilities"], expected)
    assert factory.source.count("_operator_begin(") == 10


@pytest.mark.parametrize("model", [DIGITS, entry_model], ids=["digits", "float"])
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
    header = profiled(DIGITS, streaming=False).header
    assert "#define TVMGEN_DEFAULT_OPERATOR_COUNT 9\n" in header
    line = " * 3: fused_conv2d2_add, int8[1][4][4][32], int8[1][4][4][32] -> int8[1][4][4][32]\n"
    assert line in header
    assert "void tvmgen_default_operator_begin(int32_t operator_index);\n" in header
    assert "void tvmgen_default_operator_end(int32_t operator_index);\n" in header
    assert ' of entry "tell", ' in profiled(entry_model).header


def test_operators_that_run_interleaved_are_one():
    header = profiled(DIGITS).header
    assert "#define TVMGEN_DEFAULT_OPERATOR_COUNT 6\n" in header
    assert " * 0: conv2d_to_conv2d1, int8[1][8][8][1] -> int8[1][4][4][32]\n" in header


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_c_is_strict_c99(tmp_path, compiler):
    require(compiler)
    factory = profiled(DIGITS)
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    (tmp_path / "lib0.c").write_text(factory.source)
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "lib0.c"]
    for level in ("-O0", "-O2", "-Os"):
        subprocess.run([compiler, *options, level], cwd=tmp_path, check=True)
