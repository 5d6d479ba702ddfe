"""The fixed-point functions in LLVM and in C give the same for the same arguments."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tvm import tirx

from support.intrinsic_arguments import columns_of, in_c
from usmp.codegen.c.source_files import C_ARITHMETIC, C_INTRINSICS
from usmp.codegen.llvm.intrinsics import DIFFERENCE_64, LLVM_INTRINSICS, PRODUCT_64, SUM_64
from usmp.tir.intrinsics import (
    LEADING_ZEROS,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
)


def in_llvm(name: str, columns: list[np.ndarray], load_llvm, dtype: str = "int32") -> list[int]:
    """The same by way of LLVM."""
    count = len(columns[0])
    buffers = [tirx.decl_buffer((count,), str(c.dtype), f"a{i}") for i, c in enumerate(columns)]
    output, index = tirx.decl_buffer((count,), dtype, "output"), tirx.Var("i", "int32")
    call = tirx.call_pure_extern(dtype, name, *(buffer[index] for buffer in buffers))
    loop = tirx.For(index, 0, count, tirx.ForKind.SERIAL, tirx.BufferStore(output, call, [index]))
    func = tirx.PrimFunc([*buffers, output], loop).with_attr("global_symbol", "f")
    result = np.zeros(count, dtype)
    load_llvm(func).f(*(c.ctypes.data_as(ctypes.c_void_p) for c in (*columns, result)))
    return result.tolist()


@pytest.mark.parametrize("name", list(C_INTRINSICS))
def test_as_in_c(name, load_llvm, tmp_path):
    columns = columns_of(name)
    wanted, got = in_c(name, columns, tmp_path), in_llvm(name, columns, load_llvm)
    rows = zip(zip(*(c.tolist() for c in columns), strict=True), wanted, got, strict=True)
    assert [row for row in rows if row[1] != row[2]] == []
    assert len(set(wanted)) > 2


def test_there_is_one_for_each_of_c():
    of_c = {*C_INTRINSICS, *C_ARITHMETIC}
    assert set(LLVM_INTRINSICS) - of_c == {SUM_64, DIFFERENCE_64, PRODUCT_64}
    assert of_c <= set(LLVM_INTRINSICS)


def test_narrow_arguments_are_widened(load_llvm):
    values = np.array([-128, -1, 0, 127], "int8")
    assert in_llvm(LEADING_ZEROS, [values], load_llvm) == [0, 0, 32, 25]


def test_they_are_inlined(compile_llvm):
    """Calls of calls, and several in one expression."""
    values, output = (tirx.decl_buffer((4,), "int32", name) for name in ("values", "output"))

    def multiplied(value, shift):
        multiplier = tirx.IntImm("int32", 1 << 30)
        return tirx.call_pure_extern(
            "int32",
            MULTIPLY_BY_QUANTIZED_MULTIPLIER,
            value,
            multiplier,
            tirx.IntImm("int32", shift),
        )

    inner = multiplied(values[0], 3) + multiplied(values[1], 2)
    store = tirx.BufferStore(output, multiplied(inner, -1), [0])
    func = tirx.PrimFunc([values, output], store).with_attr("global_symbol", "f")
    text = compile_llvm(func).inspect_source("ll")
    body = text.split("@f(")[1].split("\n}")[0]
    assert "call" not in body
    assert "alloca" not in body
    assert "@_internal" not in text


def test_nested_calls(load_llvm):
    """A call among the arguments of another: both results are in the same place for a moment."""
    values, output = (tirx.decl_buffer((3,), "int32", name) for name in ("values", "output"))
    index = tirx.Var("i", "int32")

    def zeros(value):
        return tirx.call_pure_extern("int32", LEADING_ZEROS, value)

    expr = zeros(zeros(values[index])) * 100 + zeros(values[index])
    loop = tirx.For(index, 0, 3, tirx.ForKind.SERIAL, tirx.BufferStore(output, expr, [index]))
    func = tirx.PrimFunc([values, output], loop).with_attr("global_symbol", "f")
    given, result = np.array([1, 256, 0], "int32"), np.zeros(3, "int32")
    load_llvm(func).f(*(a.ctypes.data_as(ctypes.c_void_p) for a in (given, result)))
    zeros_of = {0: 32, 1: 31, 23: 27, 31: 27, 32: 26, 256: 23}
    assert result.tolist() == [zeros_of[zeros_of[v]] * 100 + zeros_of[v] for v in (1, 256, 0)]
