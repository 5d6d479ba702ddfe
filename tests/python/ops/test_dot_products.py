"""Sums of products, as their loops compute them and as their intrinsics are called."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule, TensorLoad

from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.ops.dot_products import Run, column_products, dot_products, weight_sums, window_products
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import intrinsic_call, without_intrinsics

GENERATOR = np.random.default_rng(4)
DATA = GENERATOR.integers(-128, 128, (2, 3, 4, 5), np.int8)
"""Pixels of 5 channels in 4 columns and 3 rows."""
WEIGHT = GENERATOR.integers(-128, 128, (3, 30), np.int8)
MATRICES = GENERATOR.integers(-128, 128, (2, 6, 7), np.int8)
BEGIN = 1000


def buffer(name, array):
    return tirx.decl_buffer(array.shape, str(array.dtype), name)


def indices(*values):
    return tuple(tirx.IntImm("int32", value) for value in values)


X, W, M = buffer("x", DATA), buffer("w", WEIGHT.reshape(-1)), buffer("m", MATRICES)


def computed(number, make):
    """The accumulators, each of which was BEGIN before, and the arguments of the intrinsic with
    loads as the name of their buffer and their indices."""
    acc = tirx.decl_buffer((number,), "int32", "acc", scope="local")
    y = tirx.decl_buffer((number,), "int32", "y")
    products = make(acc)
    statements = [
        tirx.AllocBuffer(acc),
        *(tirx.BufferStore(acc, tirx.IntImm("int32", BEGIN), [i]) for i in range(number)),
        products,
        *(tirx.BufferStore(y, acc[i], [i]) for i in range(number)),
    ]
    func = tirx.PrimFunc([X, W, M, y], sequence(statements)).with_attr("global_symbol", "f")
    result = [0] * (4 * number)
    given = [Pointer(tuple(array.tobytes())) for array in (DATA, WEIGHT, MATRICES)]
    interpreter = Interpreter(IRModule({"f": without_intrinsics(func)}))
    interpreter.call("f", [*given, Pointer(result)])
    symbol, *passed = intrinsic_call(products).args
    arguments = [
        (a.source.name, *map(int, a.indices)) if isinstance(a, TensorLoad) else int(a)
        for a in passed
    ]
    return np.frombuffer(bytes(result), np.int32).tolist(), [symbol.value, *arguments]


def added(sums):
    """What the accumulators are after such sums were added."""
    return [BEGIN + int(total) for total in sums]


@pytest.mark.parametrize("offset", [0, 9])
def test_products_of_pixels_and_channels(offset):
    """Pixels are 2 columns apart, and the channels of the weight 8 elements."""
    data, weight = Run(X, indices(1, 0, 1, 1), 10), Run(W, indices(3), 8)
    got, arguments = computed(6, lambda acc: dot_products(data, weight, 4, offset, acc, (2, 3)))
    pixels = [DATA.reshape(-1)[60 + 6 + 10 * p :][:4].astype(int) + offset for p in range(2)]
    channels = [WEIGHT.reshape(-1)[3 + 8 * c :][:4].astype(int) for c in range(3)]
    assert got == added(pixel @ channel for pixel in pixels for channel in channels)
    name = "tvmgen_dot_2x3"
    assert arguments == [name, ("x", 1, 0, 1, 1), 10, ("w", 3), 8, 4, offset, ("acc", 0)]


@pytest.mark.parametrize("offset", [0, 9])
@pytest.mark.parametrize(("axis", "distance", "row"), [(1, 1, 20), (1, 2, 40), (2, 2, 10)])
def test_products_of_windows(offset, axis, distance, row):
    """Rows of the window are `distance` apart on an axis, its rows of weights one after another."""
    data, weight = Run(X, indices(1, 0, 0, 1), 5), Run(W, indices(3), 14)
    got, arguments = computed(
        4,
        lambda acc: window_products(data, (axis, distance), weight, (2, 3), offset, acc, (2, 2)),
    )
    pixels = [
        [DATA.reshape(-1)[60 + 1 + 5 * p + row * r :][:3].astype(int) + offset for r in range(2)]
        for p in range(2)
    ]
    channels = [WEIGHT.reshape(-1)[3 + 14 * c :][:6].astype(int) for c in range(2)]
    assert got == added(np.concatenate(p) @ channel for p in pixels for channel in channels)
    name = "tvmgen_window_2x2"
    passed = [("x", 1, 0, 0, 1), 5, row, ("w", 3), 14, 2, 3, offset, ("acc", 0)]
    assert arguments == [name, *passed]


def test_a_window_of_one_row_is_a_dot_product():
    data, weight = Run(X, indices(1, 0, 0, 1), 5), Run(W, indices(3), 14)
    window, call = computed(
        4, lambda acc: window_products(data, (1, 1), weight, (1, 3), 9, acc, (2, 2))
    )
    products = computed(4, lambda acc: dot_products(data, weight, 3, 9, acc, (2, 2)))
    assert (window, call) == products


@pytest.mark.parametrize("offset", [0, 9])
@pytest.mark.parametrize("columns", [1, 4])
def test_products_of_a_row_and_columns(offset, columns):
    """They begin inside of the matrix, which has more rows and columns."""
    data, matrix = Run(X, indices(1, 2, 3, 1), 5), Run(M, indices(1, 2, 3), 7)
    got, arguments = computed(columns, lambda acc: column_products(data, matrix, 3, offset, acc))
    row, block = DATA[1, 2, 3, 1:4].astype(int) + offset, MATRICES[1, 2:5, 3 : 3 + columns]
    assert got == added(row @ block.astype(int))
    name = f"tvmgen_columns_{columns}"
    assert arguments == [name, ("x", 1, 2, 3, 1), ("m", 1, 2, 3), 7, 3, offset, ("acc", 0)]


def test_sums_of_weights():
    weight = Run(W, indices(3), 8)
    got, arguments = computed(3, lambda acc: weight_sums(weight, 5, -7, acc, 3))
    assert got == added(
        -7 * WEIGHT.reshape(-1)[3 + 8 * c :][:5].astype(int).sum() for c in range(3)
    )
    assert arguments == ["tvmgen_weights_sum_3", ("w", 3), 8, 5, -7, ("acc", 0)]
