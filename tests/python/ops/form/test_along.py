"""Which rows of the operands a row of the output is computed from, and which rows are alike."""

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, IRModule
from tvm.script import tirx as T

from usmp.aot.transform import LowerOperators
from usmp.codegen.llvm import evaluate
from usmp.ops import quantized
from usmp.ops.form import AxisAccess, AxisRead, along, form_of, part_of
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)

SCALE = Quantization("int8", (0.5,), (3,))
LIMITS = OutputLimits("int8", -128, 127)
RESCALE = Rescale((QuantizedMultiplier(1 << 30, -4),), SCALE, LIMITS)
NHWC = Layout("NHWC")
ROWS = 11
SHAPE = (1, ROWS, 2, 3)


def access_of(func: tirx.PrimFunc, axes: dict[int, int], constants=()) -> AxisAccess | None:
    form = form_of(func)
    return None if form is None else along(form, axes, constants)


def prim_func(make, shape=SHAPE) -> tirx.PrimFunc:
    """What `make` of a builder and a tensor calls."""
    builder = relax.BlockBuilder()
    call = make(builder, relax.Var("x", relax.TensorType(shape, "int8")))
    return builder.get()[call.args[0]]


def window(kernel: int, stride: int = 1, dilation: int = 1, padding: int = 0, after: int = 0):
    reach = (kernel - 1) * dilation + 1
    rows = (ROWS + padding + after - reach) // stride + 1
    return Window((ROWS, 2), (kernel, 1), (stride, 1), (dilation, 1), (padding, 0), (rows, 2))


def convolution(*arguments: int) -> tirx.PrimFunc:
    moves = window(*arguments)
    weight = np.random.default_rng(1).integers(-90, 90, (4, moves.kernel[0], 1, 3))
    ends = (None, moves, SCALE, RESCALE, NHWC, SCALE)
    return prim_func(lambda b, x: quantized.conv2d(b, x, weight.astype(np.int8), *ends))


def average(*arguments: int) -> tirx.PrimFunc:
    moves = window(*arguments)
    return prim_func(lambda b, x: quantized.average_pool(b, x, moves, LIMITS, NHWC, SCALE))


@pytest.mark.parametrize(
    ("func", "alike", "access"),
    [
        (convolution(3), (0, 9), AxisRead(1, 1, 0, 3)),
        (convolution(1), (0, 11), AxisRead(1, 1, 0, 1)),
        (convolution(3, 2), (0, 5), AxisRead(1, 2, 0, 3)),
        (convolution(3, 1, 2), (0, 7), AxisRead(1, 1, 0, 5)),
        (convolution(3, 1, 1, 1, 1), (1, 10), AxisRead(1, 1, -1, 3)),
        (convolution(4, 2, 1, 1, 2), (1, 5), AxisRead(1, 2, -1, 4)),
        (convolution(3, 1, 1, 2), (2, 11), AxisRead(1, 1, -2, 3)),
        (average(3, 1, 1, 1, 1), (1, 10), AxisRead(1, 1, -1, 3)),
    ],
)
def test_windows(func, alike, access):
    found = access_of(func, {0: 1})
    assert found is not None
    assert (found.axis, found.alike, dict(found.reads)) == (1, alike, {0: access})


@pytest.mark.parametrize(
    "make",
    [
        lambda b, x: quantized.relu(b, x, SCALE, SCALE, LIMITS),
        lambda b, x: quantized.leaky_relu(b, x, SCALE, SCALE, 0.1),
        lambda b, x: quantized.mean(b, x, [2], SCALE, SCALE),
    ],
)
def test_operators_of_a_row(make):
    found = access_of(prim_func(make), {0: 1})
    assert found is not None
    assert found.alike == (0, ROWS)
    assert dict(found.reads) == {0: AxisRead(1, 1, 0, 1)}


def test_each_row_has_a_softmax_of_its_own():
    after = Quantization("int8", (1 / 256,), (-128,))
    func = prim_func(lambda b, x: quantized.softmax(b, x, SCALE, after, 1.0), (ROWS, 6))
    found = access_of(func, {0: 0})
    assert found is not None
    assert (found.axis, found.alike) == (0, (0, ROWS))


@pytest.mark.parametrize(
    "make",
    [
        lambda b, x: quantized.mean(b, x, [1], SCALE, SCALE),
        lambda b, x: quantized.reduce_max(b, x, [1], SCALE),
    ],
)
def test_operators_of_all_rows(make):
    assert access_of(prim_func(make), {0: 1}) is None


def test_a_single_row_is_computed_from_all():
    found = access_of(convolution(ROWS), {0: 1})
    assert found is not None
    assert (found.extent, found.alike, found.reads) == (1, (0, 1), {0: AxisRead(1, 1, 0, ROWS)})


def test_a_constant_that_has_rows_is_another_one_for_each():
    constant = np.arange(ROWS, dtype=np.int8).reshape(1, ROWS, 1, 1)
    three = (SCALE, SCALE, SCALE)
    func = prim_func(lambda b, x: quantized.add(b, x, constant, three, LIMITS))
    found = access_of(func, {0: 1})
    assert found is not None
    assert found.alike == (0, 1) and found.reads.keys() == {0}
    sliced = access_of(func, {0: 1}, [1])
    assert sliced is not None
    assert sliced.alike == (0, ROWS) and sliced.reads == dict.fromkeys((0, 1), AxisRead(1, 1, 0, 1))


@T.prim_func(private=True, s_tir=True)
def reshaped(x: T.Buffer((5, 3), "int8"), y: T.Buffer((5, 1, 3), "int8")):
    for i, k, j in T.grid(5, 1, 3):
        with T.sblock("y"):
            vi, vk, vj = T.axis.remap("SSS", [i, k, j])
            y[vi, vk, vj] = x[(vj // 3 + vi + vk) % 5, vj % 3]


def test_an_index_that_ranges_simplify():
    found = access_of(reshaped, {0: 0})
    assert found is not None
    assert (found.axis, dict(found.reads)) == (0, {0: AxisRead(0, 1, 0, 1)})


@T.prim_func(private=True, s_tir=True)
def whole_constant_first(
    x: T.Buffer((5, 3), "int8"), c: T.Buffer((5,), "int8"), y: T.Buffer((5, 3), "int8")
):
    total = T.sblock_alloc_buffer((1,), "int8")
    for k, i in T.grid(1, 5):
        with T.sblock("total"):
            vk, vi = T.axis.remap("SR", [k, i])
            with T.init():
                total[vk] = T.int8(0)
            total[vk] = total[vk] + c[vi]
    for i, j in T.grid(5, 3):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] + c[vi] + total[0]


def test_a_constant_that_is_read_as_a_whole_first_cannot_be_sliced():
    assert access_of(whole_constant_first, {0: 0}, [1]) is None
    found = access_of(whole_constant_first, {0: 0})
    assert found is not None and not found.is_uniform


@T.prim_func(private=True, s_tir=True)
def backwards(x: T.Buffer((5, 3), "int8"), y: T.Buffer((5, 3), "int8")):
    for i, j in T.grid(5, 3):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[4 - vi, vj]


@T.prim_func(private=True, s_tir=True)
def diagonal(x: T.Buffer((5, 5), "int8"), y: T.Buffer((5, 5), "int8")):
    for i, j in T.grid(5, 5):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, (vj + vi) % 5]


@T.prim_func(private=True, s_tir=True)
def number_of_the_row(x: T.Buffer((5, 3), "int8"), y: T.Buffer((5, 3), "int8")):
    for i, j in T.grid(5, 3):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] + T.Cast("int8", vi)


@T.prim_func(private=True, s_tir=True)
def written_twice(x: T.Buffer((5, 3), "int8"), y: T.Buffer((5, 3), "int8")):
    for i, j in T.grid(5, 3):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]
    for i, j in T.grid(5, 3):
        with T.sblock("z"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.int8(0)


@pytest.mark.parametrize("func", [backwards, diagonal, written_twice])
def test_what_has_no_rows(func):
    assert access_of(func, {0: 0}) is None


def test_what_depends_on_the_number_of_the_row():
    found = access_of(number_of_the_row, {0: 0})
    assert found is not None
    assert found.alike == (0, 1)


# ---- forms


@T.prim_func(private=True, s_tir=True)
def doubled(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
    for i in range(4):
        with T.sblock("y"):
            vi = T.axis.spatial(4, i)
            y[vi] = x[vi] + x[vi]


def test_what_reads_memory_in_another_way_has_no_form():
    """As a function of C that gets a buffer."""
    assert form_of(doubled) is not None
    peek = tirx.call_pure_extern("int8", "peek", doubled.params[0])
    peeking = tvm_ffi.structural_map(
        doubled,
        (tirx.BufferStore, lambda s: tirx.BufferStore(s.buffer, s.value + peek, s.indices)),
    )
    assert form_of(peeking) is None


# ---- parts


def test_a_part_of_one_index_keeps_the_iterator_in_its_indices():
    """As tensor expressions have it, so that it is equal to an operator of one row."""
    access = access_of(doubled, {0: 0})
    assert access is not None
    part = form_of(part_of(access, (2, 3), {0: (1, 4)}))
    assert part is not None
    (nest,) = part.nests
    assert list(nest.extents.values()) == [1]
    assert [str(load.indices[0]) for load in nest.loads] == ["vi + 1"] * 2


def evaluated(func: tirx.PrimFunc, *arguments: np.ndarray) -> np.ndarray:
    variable = GlobalVar("f")
    flat = LowerOperators()(IRModule({variable: func}))[variable]
    result = np.zeros([int(extent) for extent in func.params[-1].shape], "int8")
    evaluate(flat, arguments, result)
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    "func",
    [convolution(4, 2, 1, 1, 2), convolution(3, 1, 2, 2, 2), average(3, 2, 1, 1, 1)],
    ids=["strided", "dilated", "average"],
)
def test_parts_compute_the_same_rows(func):
    """Of the start, in between, and of the end; padding is where it was."""
    found = access_of(func, {0: 1})
    assert isinstance(found, AxisAccess)
    x = np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)
    constants = CONSTANTS.get(func.attrs["quantized_operator"]["kind"], lambda f: [])(func)
    whole = evaluated(func, x, *constants)
    for begin, end in ((0, 1), (0, found.alike[0] + 1), (1, 3), (found.extent - 2, found.extent)):
        first, last = found.reads[0].needed((begin, end), ROWS)
        part = part_of(found, (begin, end), {0: (first, last)})
        np.testing.assert_array_equal(
            evaluated(part, x[:, first:last], *constants), whole[:, begin:end]
        )


def _weights(func: tirx.PrimFunc) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    return [
        random.integers(0, 100, [int(extent) for extent in param.shape]).astype(str(param.dtype))
        for param in func.params[1:-1]
    ]


CONSTANTS = {"conv2d": _weights}
