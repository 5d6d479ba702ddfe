"""Accelerators for tests: patterns that are registered for a while, and their functions in C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tvm.relax.backend import _ffi_api
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from conftest import ROOT
from support.relax_models import PARAMS, Attention
from usmp.relax.accelerators import quantized_operator, state_kernel

EXAMPLE_C = ROOT / "examples/06_accelerator/accel.c"

MATMUL = ("accel.matmul", is_op("relax.matmul")(wildcard(), wildcard()))
CONV2D = quantized_operator("accel.conv2d", "conv2d", workspace_bytes=256)

MATMUL_C = """
#include "tvmgen_default.h"
int calls;
static int32_t matmul(const float* x, const float* w, float* y, int depth, int columns) {
  for (int j = 0; j < columns; ++j) {
    y[j] = 0;
    for (int k = 0; k < depth; ++k) y[j] += x[k] * w[k * columns + j];
  }
  return calls++ == STOP ? 7 : 0;
}
#define MATMUL(n, depth, columns) \\
  int32_t tvmgen_default_accel_main_##n( \\
      const float* x, const float* w, float* y, void* device) { \\
    if (device != 0) ++*(int*)device; \\
    return matmul(x, w, y, depth, columns); \\
  }
MATMUL(0, 16, 64)
MATMUL(1, 64, 16)
"""
"""The matrix products of `Attention`; the third is the first one again. Call number STOP fails
with 7."""


@I.ir_module
class Two:
    """A function of the user's own, with a tuple on either side and no pattern."""

    @R.function
    def both(x: R.Tensor((2, 3), "float32"), pair: R.Tuple(R.Tensor((3,), "float32"))):
        R.func_attr({"Codegen": "my-npu"})
        with R.dataflow():
            a = R.add(x, pair[0])
            b = R.nn.softmax(a, axis=1)
            c = R.reshape(a, R.shape([6]))
            R.output(b, c)
        return (b, c)

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")):
        cls = Two
        with R.dataflow():
            r = cls.both(x, (y,))
            s = R.add(R.reshape(r[0], R.shape([6])), r[1])
            R.output(s)
        return s


TWO_C = """
#include <math.h>
#include "tvmgen_default.h"
int32_t tvmgen_default_my_npu_main_0(
    const float* input0, const float* input1, float* output0, float* output1, void* device) {
  (void)device;
  for (int row = 0; row < 2; ++row) {
    float sum = 0;
    for (int i = 3 * row; i < 3 * row + 3; ++i) {
      output1[i] = input0[i] + input1[i % 3];
      output0[i] = expf(output1[i]);
      sum += output0[i];
    }
    for (int i = 3 * row; i < 3 * row + 3; ++i) output0[i] /= sum;
  }
  return 0;
}
"""


@contextmanager
def registered(*patterns: tuple) -> Iterator[None]:
    """Let TVM's registry have `patterns`."""
    register_patterns(list(patterns))
    try:
        yield
    finally:
        _ffi_api.RemovePatterns([name for name, *_ in patterns])


@contextmanager
def stated(pattern: str, **facts: object) -> Iterator[None]:
    """Let the functions of a pattern state something."""
    state_kernel(pattern, **facts)
    try:
        yield
    finally:
        state_kernel(pattern)


def attention(
    target: str = "accel,c", patterns: Sequence[tuple] = (MATMUL,), **pools: object
) -> usmp.AOTExecutorFactoryModule:
    """`Attention`, its matrix products on the accelerator."""
    with registered(*patterns):
        return usmp.build(Attention, target, params=PARAMS, **pools)


def matmul_source(folder: Path, stop: int = -1) -> Path:
    """The file with the C of the matrix products."""
    path = folder / "accel.c"
    path.write_text(f"#define STOP {stop}\n{MATMUL_C}")
    return path
