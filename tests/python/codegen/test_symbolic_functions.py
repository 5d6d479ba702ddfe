"""PrimFuncs of planned modules whose places and loops depend on sizes, as C."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tvm.script import tirx as T


@T.prim_func
def placed(pool: T.handle("uint8"), x: T.handle("int16"), y: T.handle("int16"), seq: T.int32):
    """Two buffers one behind the other, at places that depend on the size."""
    P = T.decl_buffer((4096,), "uint8", data=pool)
    a_end: T.let[T.int32] = (seq * 2 + 15) // 16 * 16
    b_place: T.let[T.int32] = T.max(a_end, 32)
    X = T.decl_buffer((seq,), "int16", data=x)
    Y = T.decl_buffer((seq,), "int16", data=y)
    A = T.decl_buffer((seq,), "int16", data=T.address_of(P[0]))
    B = T.decl_buffer((seq,), "int16", data=T.address_of(P[b_place]))
    for i in range(seq):
        A[i] = X[i]
    for i in range(seq):
        B[seq - 1 - i] = A[i]
    for i in range(seq):
        Y[i] = B[i]


@T.prim_func
def workspace_size(seq: T.int32, n: T.int32) -> T.int32:
    a_end: T.let[T.int32] = (seq * 2 + 15) // 16 * 16
    return T.max(a_end, n * 4) + seq * 2


def test_places_that_depend_on_sizes(body_of):
    assert body_of(placed)[:5] == [
        "  const int32_t a_end = ((seq * 2 + 15) >> 4) * 16;",
        "  const int32_t b_place = tvmgen_max_int32(a_end, 32);",
        "  int16_alias* A = (int16_alias*)(void*)(pool);",
        "  int16_alias* B = (int16_alias*)(void*)(pool + b_place);",
        "  for (int32_t i = 0; i < seq; ++i) {",
    ]


@pytest.mark.cc
def test_what_is_placed_by_sizes(load_functions):
    library = load_functions(placed)
    for seq in (1, 3, 16, 40):
        x, y = np.arange(seq, dtype=np.int16), np.full(seq + 1, -1, np.int16)
        pool = np.full((seq * 2 + 15) // 16 * 16 + 96, 0x5A, np.uint8)
        library.f(*(array.ctypes.data_as(ctypes.c_void_p) for array in (pool, x, y)), seq)
        assert y.tolist() == [*range(seq - 1, -1, -1), -1]
        end = max((seq * 2 + 15) // 16 * 16, 32) + seq * 2
        assert set(pool[end:]) == {0x5A}


@pytest.mark.cc
def test_a_function_that_computes_bytes(print_functions, compile_c):
    text = print_functions(workspace_size)
    head = "static int32_t f(int32_t seq, int32_t n) {"
    assert head in text
    external = text.replace(head, f"int32_t f(int32_t seq, int32_t n);\n{head[7:]}")
    library = compile_c(f"#include <stdint.h>\n{external}\n")
    for seq, n in ((1, 1), (17, 3), (16, 100)):
        assert library.f(seq, n) == max((seq * 2 + 15) // 16 * 16, n * 4) + seq * 2
