"""The fixed-point functions in LLVM and in C give the same for the same arguments."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest
from tvm import tirx

from usmp.codegen.c_files import C_ARITHMETIC, C_INTRINSICS, text_of
from usmp.codegen.c_helpers import Helpers
from usmp.codegen.llvm.intrinsics import DIFFERENCE_64, LLVM_INTRINSICS, PRODUCT_64, SUM_64
from usmp.tir.intrinsics import (
    DIVIDE,
    INTERPOLATED_LOGISTIC,
    INTERPOLATED_TANH,
    INVERSE_SQUARE_ROOT,
    INVERSE_SQUARE_ROOT_SHIFT,
    LEADING_ZEROS,
    LOGARITHM,
    MULTIPLY_AS_FLOAT,
    MULTIPLY_BY_FLOAT,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING,
    MULTIPLY_HIGH,
    ONE_OVER_ONE_PLUS,
    RESCALE_CHANNEL,
    RESCALE_RECORD,
    SATURATE_INT8,
    SIGMOID_INDEX,
)

COUNT = 4000
GREATEST = 2**31 - 1


class Draw:
    """Random numbers of many magnitudes, and the edges of what they are drawn from."""

    def __init__(self, name: str) -> None:
        self.generator = np.random.default_rng(sum(name.encode()))

    def between(self, low: int, high: int) -> np.ndarray:
        """Integers from `low` to `high`; the first are edges."""
        edges = [v for v in (low, high, 0, 1, -1, low + 1, high - 1) if low <= v <= high]
        uniform = self.generator.integers(low, high, COUNT // 2, endpoint=True)
        scale = self.generator.uniform(0, 1, COUNT) ** 8
        small = (self.generator.integers(low, high, COUNT, endpoint=True) * scale).astype(np.int64)
        values = np.clip(np.concatenate([uniform, small]), low, high)[:COUNT]
        self.generator.shuffle(values)
        return np.concatenate([edges, values])[:COUNT]

    def powers(self, low: int) -> np.ndarray:
        """Positive int32 of at least `low`: powers of two with their neighbors, and others."""
        edges = [(1 << bit) + step for bit in range(31) for step in (-1, 0, 1)]
        drawn = np.exp2(self.generator.uniform(np.log2(max(low, 1)), 31, COUNT)).astype(np.int64)
        values = [v for v in [*edges, GREATEST, *drawn] if low <= v <= GREATEST]
        return np.array(values[:COUNT])


def arguments(name: str) -> list[np.ndarray]:
    """What operators may pass: the ranges for which the C has defined behavior."""
    draw = Draw(name)
    int32 = draw.between(-(2**31), GREATEST)
    multiplier = draw.between(2**30, GREATEST)
    if name == MULTIPLY_BY_QUANTIZED_MULTIPLIER:
        return [int32, multiplier, draw.between(-31, 30)]
    if name == MULTIPLY_BY_QUANTIZED_MULTIPLIER_64:
        return [draw.between(-(2**47), 2**47 - 1), multiplier, draw.between(-31, 7)]
    if name == MULTIPLY_AS_FLOAT:
        shift = draw.between(-31, 7)
        most = np.minimum(2.0 ** (9 - shift), 2.0**31 - 1).astype(np.int64)
        return [int32 % most, multiplier & -128, shift]
    if name == MULTIPLY_BY_FLOAT:
        shift = draw.between(-31, 7)
        most = np.minimum(2.0 ** (9 - shift), 2.0**31 - 1).astype(np.int64)
        return [int32 % most, (shift + 126) << 23 | multiplier >> 7 & 0x7FFFFF]
    if name == MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING:
        return [int32, multiplier, draw.between(-31, 30)]
    if name == RESCALE_RECORD:
        shift = draw.between(-(2**23), 2**23 - 1) << 8 | draw.between(1, 22)
        return [draw.between(1 - 2**30, 2**30 - 1), multiplier, shift, draw.between(-255, 511)]
    if name == MULTIPLY_HIGH:
        return [draw.between(1 - 2**30, 2**30 - 1), multiplier]
    if name == ONE_OVER_ONE_PLUS:
        return [draw.between(0, GREATEST)]
    if name == DIVIDE:
        return [draw.between(-511, 511), draw.between(-511, 511), multiplier, draw.between(-31, 15)]
    if name in (INVERSE_SQUARE_ROOT, INVERSE_SQUARE_ROOT_SHIFT):
        return [np.concatenate([[-1, 0], draw.powers(0)])]
    if name == LOGARITHM:
        return [draw.powers(2**19)]
    if name == SIGMOID_INDEX:
        return [draw.between(-(2**24), 2**24), draw.between(8, 9), draw.between(0, 1)]
    if name in (INTERPOLATED_LOGISTIC, INTERPOLATED_TANH):
        low = draw.between(0, 65535)
        return [draw.between(-(2**24), 2**24), low, np.minimum(low + draw.between(0, 512), 65535)]
    assert name in (LEADING_ZEROS, SATURATE_INT8)
    return [int32]


def records() -> list[np.ndarray]:
    """Channel records of all widths that the weights' converters make."""
    draw = Draw("records")
    mantissa, shifts = draw.between(7, 30), draw.between(1, 6)
    bits = np.minimum(mantissa + shifts + draw.between(1, 31), 64)
    record = draw.between(0, 2**63 - 1).astype(np.uint64)
    low, middle = (((record >> np.uint64(s)) & np.uint64(0xFFFF)) for s in (0, 16))
    bias_free = draw.between(-(2**28), 2**28)
    return [
        bias_free,
        low,
        middle,
        record >> np.uint64(33),
        bits,
        mantissa,
        shifts,
        draw.between(-20, 8),
    ]


def in_c(name: str, columns: list[np.ndarray], folder) -> list[int]:
    """What the C function gives for each row of arguments."""
    helpers = Helpers()
    helpers.intrinsic(name)
    dtypes = LLVM_INTRINSICS[name][1]
    declared = ", ".join(f"const {dtype}_t* a{i}" for i, dtype in enumerate(dtypes))
    passed = ", ".join(f"a{i}[i]" for i in range(len(dtypes)))
    loop = f"for (int i = 0; i < n; ++i) result[i] = {name}({passed});"
    head = f"void all(int n, int32_t* result, {declared})"
    parts = ["#include <stdint.h>", text_of("tensor_intrin_features.h")]
    text = "\n".join([*parts, *helpers.definitions.values(), f"{head} {{ {loop} }}"])
    (folder / "c.c").write_text(text)
    command = ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", "c.c", "-o", "c.so"]
    subprocess.run(command, cwd=folder, check=True)
    result = np.zeros(len(columns[0]), "int32")
    pointers = [column.ctypes.data_as(ctypes.c_void_p) for column in (result, *columns)]
    ctypes.CDLL(str(folder / "c.so")).all(len(result), *pointers)
    return result.tolist()


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
    given = records() if name == RESCALE_CHANNEL else arguments(name)
    count = min(map(len, given))
    dtypes = LLVM_INTRINSICS[name][1]
    columns = [
        np.ascontiguousarray(column[:count]).astype(dtype)
        for column, dtype in zip(given, dtypes, strict=True)
    ]
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
