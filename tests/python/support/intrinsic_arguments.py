"""Arguments of the functions of fixed-point arithmetic, and their results by C on this host."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from support.compilers import run_compiler
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.source_files import text_of
from usmp.codegen.llvm.intrinsics import LLVM_INTRINSICS
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
    bits_of_shift = (np.uint64(1) << shifts.astype(np.uint64)) - np.uint64(1)
    less = (record >> mantissa.astype(np.uint64) & bits_of_shift).astype(np.int64)
    bias_free = draw.between(-(2**28), 2**28)
    return [
        bias_free,
        low,
        middle,
        record >> np.uint64(32),
        bits,
        mantissa,
        shifts,
        np.maximum(draw.between(-20, 8), less - 31),  # C cannot shift by more.
    ]


def columns_of(name: str) -> list[np.ndarray]:
    """The arguments of a function, each as an array of its type."""
    given = records() if name == RESCALE_CHANNEL else arguments(name)
    count = min(map(len, given))
    return [
        np.ascontiguousarray(column[:count]).astype(dtype)
        for column, dtype in zip(given, LLVM_INTRINSICS[name][1], strict=True)
    ]


def definitions_of(*names: str) -> str:
    """C of functions, and of those that they call."""
    helpers = Helpers()
    for name in names:
        helpers.intrinsic(name)
    return "\n".join([text_of("tensor_intrin/features.h"), *helpers.definitions.values()])


def in_c(name: str, columns: list[np.ndarray], folder: Path) -> list[int]:
    """The results of a C function for each row of arguments."""
    dtypes = LLVM_INTRINSICS[name][1]
    declared = ", ".join(f"const {dtype}_t* a{i}" for i, dtype in enumerate(dtypes))
    passed = ", ".join(f"a{i}[i]" for i in range(len(dtypes)))
    loop = f"for (int i = 0; i < n; ++i) result[i] = {name}({passed});"
    head = f"void all(int n, int32_t* result, {declared})"
    text = f"#include <stdint.h>\n{definitions_of(name)}\n{head} {{ {loop} }}"
    (folder / f"{name}.c").write_text(text)
    library = folder / f"{name}.so"
    command = ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", f"{name}.c", "-o", library]
    run_compiler(command, cwd=folder)
    result = np.zeros(len(columns[0]), "int32")
    pointers = [column.ctypes.data_as(ctypes.c_void_p) for column in (result, *columns)]
    ctypes.CDLL(str(library)).all(len(result), *pointers)
    return result.tolist()
