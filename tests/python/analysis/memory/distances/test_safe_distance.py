"""By how many bytes the output of an operator must start below what it reads, found by hand."""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from support.safe_distances import distance


def element_wise(elements, source_type, target_type):
    @T.prim_func
    def func(x: T.Buffer((elements,), source_type), y: T.Buffer((elements,), target_type)):
        for i in range(elements):
            y[i] = T.Cast(target_type, x[i])

    return func


def test_element_wise():
    """An element is read before it is written, and what is written is no larger."""
    for types in [("int8", "int8"), ("int32", "float32"), ("float32", "int8"), ("int16", "uint8")]:
        assert distance(element_wise(10, *types), "x", "y") == 0


def test_element_wise_that_grows():
    """Output i ends at 4 i + 4, and i + 1 is the first that is still to be read. For the last but
    one, i = 8, that is 36 - 9; after the last, nothing is read."""
    assert distance(element_wise(10, "int8", "float32"), "x", "y") == 27
    assert distance(element_wise(1, "int8", "float32"), "x", "y") == 0


def test_depthwise_convolution():
    """3x3 on 4 rows of 5 pixels of 4 bytes, padded. Output (row, column, channel) is written before
    the same of the next channel is computed, which reads from the row above and the pixel before:
    the output must start a row and a pixel below. After the last channel of a pixel it is as far,
    since the next one reads from the first channel of the pixel above."""
    rows, columns, channels = 4, 5, 4

    @T.prim_func
    def func(
        x: T.Buffer((rows * columns * channels,), "int8"),
        w: T.Buffer((9 * channels,), "int8"),
        y: T.Buffer((rows * columns * channels,), "int8"),
    ):
        for r, c, k in T.grid(rows, columns, channels):
            total = T.alloc_local((1,), "int32")
            total[0] = 0
            for i in range(3):
                if r + i >= 1 and r + i < rows + 1:
                    for j in range(3):
                        if c + j >= 1 and c + j < columns + 1:
                            total[0] = total[0] + T.Cast(
                                "int32",
                                x[((r + i - 1) * columns + c + j - 1) * channels + k],
                            ) * T.Cast("int32", w[(i * 3 + j) * channels + k])
            y[(r * columns + c) * channels + k] = T.Cast("int8", total[0])

    assert distance(func, "x", "y") == columns * channels + channels


def pointwise_convolution(pixels, inputs, outputs):
    """1x1, with a residual sum."""

    @T.prim_func
    def func(
        x: T.Buffer((pixels * inputs,), "int8"),
        skip: T.Buffer((pixels * outputs,), "int8"),
        w: T.Buffer((inputs * outputs,), "int8"),
        y: T.Buffer((pixels * outputs,), "int8"),
    ):
        for p, k in T.grid(pixels, outputs):
            total = T.alloc_local((1,), "int32")
            total[0] = 0
            for c in range(inputs):
                total[0] = total[0] + T.Cast("int32", x[p * inputs + c]) * T.Cast(
                    "int32", w[k * inputs + c]
                )
            y[p * outputs + k] = T.Cast("int8", total[0] + T.Cast("int32", skip[p * outputs + k]))

    return func


def test_pointwise_convolution():
    """All channels of a pixel are read again for each output channel. The last but one output of a
    pixel ends at `pixel * outputs + outputs - 1`, and then the pixel is read once more from
    `pixel * inputs`: what matters is the first pixel if it shrinks, and the last if it grows."""
    assert distance(pointwise_convolution(6, 5, 3), "x", "y") == 3 - 1
    assert distance(pointwise_convolution(6, 4, 4), "x", "y") == 4 - 1
    assert distance(pointwise_convolution(6, 3, 5), "x", "y") == (5 * 5 + 5 - 1) - 5 * 3


def test_residual_sum_in_place():
    """The operand of the sum is read where the output is written."""
    assert distance(pointwise_convolution(6, 5, 3), "skip", "y") == 0


def test_binary_operator():
    """Either operand may be overwritten."""

    @T.prim_func
    def func(a: T.Buffer((8,), "int8"), b: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in range(8):
            y[i] = a[i] + b[i]

    assert distance(func, "a", "y") == 0
    assert distance(func, "b", "y") == 0
    assert distance(func, "y", "a") == 0  # a is not written, so it destroys nothing


def test_reversals():
    """What is written first ends last, or what is read last begins first."""

    @T.prim_func
    def from_the_end(x: T.Buffer((10,), "int8"), y: T.Buffer((10,), "int8")):
        for i in range(10):
            y[9 - i] = x[9 - i]

    @T.prim_func
    def reversed_input(x: T.Buffer((10,), "int8"), y: T.Buffer((10,), "int8")):
        for i in range(10):
            y[i] = x[9 - i]

    @T.prim_func
    def reversed_output(x: T.Buffer((10,), "int8"), y: T.Buffer((10,), "int8")):
        for i in range(10):
            y[9 - i] = x[i]

    assert distance(from_the_end, "x", "y") == 10 - 0  # of byte 9, before byte 0 is read
    assert distance(reversed_input, "x", "y") == 9 - 0
    assert distance(reversed_output, "x", "y") == 10 - 1


def test_several_passes():
    """Like softmax: only the last pass over the input writes, in each row or in all of them."""

    @T.prim_func
    def func(x: T.Buffer((12,), "int8"), y: T.Buffer((12,), "int8")):
        for r in range(3):
            greatest = T.alloc_local((1,), "int8")
            greatest[0] = T.int8(-128)
            for i in range(4):
                greatest[0] = T.max(greatest[0], x[r * 4 + i])
            for i in range(4):
                y[r * 4 + i] = x[r * 4 + i] - greatest[0]

    @T.prim_func
    def read_again(x: T.Buffer((12,), "int8"), y: T.Buffer((12,), "int8")):
        for i in range(12):
            y[i] = x[i]
        for i in range(12):
            y[i] = y[i] + x[i]

    @T.prim_func
    def read_again_from_the_second(x: T.Buffer((12,), "int8"), y: T.Buffer((12,), "int8")):
        for i in range(12):
            y[i] = x[i]
        for i in range(11):
            y[i + 1] = y[i + 1] + x[i + 1]

    assert distance(func, "x", "y") == 0
    assert distance(read_again, "x", "y") == 12
    assert distance(read_again_from_the_second, "x", "y") == 11


def test_scratch():
    """An input of 6 with 2 zeros around it, and sums of three of that."""

    @T.prim_func
    def func(x: T.Buffer((6,), "int8"), y: T.Buffer((8,), "int8")):
        padded = T.alloc_buffer((10,), "int8")
        for i in range(2):
            padded[i] = T.int8(0)
        for i in range(6):
            padded[i + 2] = x[i]
        for i in range(2):
            padded[i + 8] = T.int8(0)
        for i in range(8):
            y[i] = padded[i] + padded[i + 1] + padded[i + 2]

    assert distance(func, "x", "padded") == 2
    assert distance(func, "padded", "y") == 0
    assert distance(func, "x", "y") == 0  # which is not written before x is dead


def test_sums_in_the_output():
    """Bytes times bytes to int32. With the reduction inside, output (1, 1) is 0 up to byte 16, and
    then row 1 of the matrix is read again from byte 3; outside, all of the output is 0 first."""

    @T.prim_func
    def inside(a: T.Buffer((6,), "int8"), b: T.Buffer((6,), "int8"), y: T.Buffer((4,), "int32")):
        for i, j in T.grid(2, 2):
            y[i * 2 + j] = 0
            for k in range(3):
                y[i * 2 + j] = y[i * 2 + j] + T.Cast("int32", a[i * 3 + k] * b[k * 2 + j])

    @T.prim_func
    def outside(a: T.Buffer((6,), "int8"), b: T.Buffer((6,), "int8"), y: T.Buffer((4,), "int32")):
        for i in range(4):
            y[i] = 0
        for k, i, j in T.grid(3, 2, 2):
            y[i * 2 + j] = y[i * 2 + j] + T.Cast("int32", a[i * 3 + k] * b[k * 2 + j])

    assert distance(inside, "a", "y") == 16 - 3
    assert distance(outside, "a", "y") == 16


def test_vectors():
    """All lanes are loaded before the first is stored."""

    @T.prim_func
    def func(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in range(2):
            y[T.Ramp(i * 4, 1, 4)] = x[T.Ramp(i * 4 + 3, -1, 4)]

    assert distance(func, "x", "y") == 0


def test_nothing_is_known():
    """Then no bytes may be shared."""

    @T.prim_func
    def gather(x: T.Buffer((8,), "int8"), at: T.Buffer((8,), "uint8"), y: T.Buffer((8,), "int8")):
        for i in range(8):
            y[i] = x[T.Cast("int32", at[i])]

    @T.prim_func
    def parallel(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in T.parallel(8):
            y[i] = x[i]

    @T.prim_func
    def unknown_function(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        T.evaluate(T.call_extern("int32", "f", x.data, y.data))

    assert distance(gather, "x", "y") == 8
    assert distance(gather, "at", "y") == 0
    assert distance(parallel, "x", "y") == 8
    assert distance(unknown_function, "x", "y") == 8


def test_bounds_in_memory():
    """A compiler may read the end of a loop again before each iteration."""

    @T.prim_func
    def func(n: T.Buffer((1,), "int32"), y: T.Buffer((8,), "int8")):
        for i in range(n[0]):
            y[i] = T.int8(1)

    assert distance(func, "n", "y") == 8


@I.ir_module
class Rows:
    """Rows of 4 bytes, copied by calls: in order, the input's from the last one, and as two
    parameters of which the second is read after the output is written."""

    @T.prim_func
    def copy(a: T.handle("int8"), c: T.handle("int8")):
        A = T.decl_buffer((4,), "int8", data=a)
        C = T.decl_buffer((4,), "int8", data=c)
        for i in range(4):
            C[i] = A[i]

    @T.prim_func
    def add(a: T.handle("int8"), b: T.handle("int8"), c: T.handle("int8")):
        A = T.decl_buffer((4,), "int8", data=a)
        B = T.decl_buffer((4,), "int8", data=b)
        C = T.decl_buffer((4,), "int8", data=c)
        kept = T.alloc_buffer((4,), "int8")
        for i in range(4):
            C[i] = A[i]
        for i in range(4):
            kept[i] = B[i]
        for i in range(4):
            C[i] = C[i] + kept[i]

    @T.prim_func
    def in_order(x: T.Buffer((12,), "int8"), y: T.Buffer((12,), "int8")):
        for i in range(3):
            Rows.copy(T.address_of(x[i * 4]), T.address_of(y[i * 4]))

    @T.prim_func
    def from_the_last(x: T.Buffer((12,), "int8"), y: T.Buffer((12,), "int8")):
        for i in range(3):
            row = T.decl_buffer((4,), "int8", data=T.address_of(x[8 - i * 4]))
            Rows.copy(row.data, T.address_of(y[i * 4]))

    @T.prim_func
    def twice(x: T.Buffer((12,), "int8"), y: T.Buffer((12,), "int8")):
        for i in range(3):
            Rows.add(T.address_of(x[i * 4]), T.address_of(x[i * 4]), T.address_of(y[i * 4]))


def test_calls():
    assert distance(Rows["in_order"], "x", "y", Rows) == 0
    assert distance(Rows["from_the_last"], "x", "y", Rows) == 8 - 0  # row 1, before row 0 is read
    assert distance(Rows["twice"], "x", "y", Rows) == 4


def test_scratch_of_what_is_called():
    """It is the same 4 bytes at every call, after which the next row begins at byte 4; at the last
    call all of the output is written before they are."""
    assert distance(Rows["add"], "b", "kept", Rows) == 0
    assert distance(Rows["twice"], "x", "kept", Rows) == 0
    assert distance(Rows["twice"], "kept", "y", Rows) == 12


def test_call_inside_of_an_expression():
    """It is not followed, so nothing is known of what it allocates either."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def total(a: T.handle("int8")) -> T.int8:
            A = T.decl_buffer((4,), "int8", data=a)
            kept = T.alloc_buffer((4,), "int8")
            for i in range(4):
                kept[i] = A[i]
            return kept[0] + kept[3]

        @T.prim_func
        def main(x: T.Buffer((4,), "int8"), y: T.Buffer((8,), "int8")):
            for i in range(8):
                y[i] = T.call_extern("int8", "total", x.data)

    assert distance(Mod["main"], "kept", "y", Mod) == 8
    assert distance(Mod["main"], "x", "kept", Mod) == 4
    assert distance(Mod["main"], "x", "y", Mod) == 8


def test_views_of_another_type():
    """Distances are in bytes, whatever type these are seen as."""

    @T.prim_func
    def func(x: T.Buffer((8,), "int32"), y: T.Buffer((32,), "int8")):
        wide = T.decl_buffer((8,), "int32", data=y.data)
        for i in range(8):
            wide[i] = x[7 - i]

    assert distance(func, "x", "y") == 7 * 4


def test_narrow_index():
    """It wraps: half of the output is written when byte 0 is read."""

    @T.prim_func
    def func(x: T.Buffer((256,), "int8"), y: T.Buffer((256,), "int8")):
        for i in range(256):
            y[i] = x[T.Cast("int32", T.Cast("uint8", i + 128))]

    assert distance(func, "x", "y") == 128 - 0


def test_narrow_sum():
    """In C it is an int, and does not wrap."""

    @T.prim_func
    def func(x: T.Buffer((384,), "int8"), y: T.Buffer((256,), "int8")):
        for i in range(256):
            y[i] = x[T.Cast("int32", T.Cast("uint8", i) + T.uint8(128))]

    assert distance(func, "x", "y") == 256


def test_views_behind_the_start():
    """The parameter is larger than the view that begins where it does."""

    @T.prim_func
    def func(x: T.Buffer((8,), "int8"), y: T.handle("int8")):
        start = T.decl_buffer((4,), "int8", data=y)
        rest = T.decl_buffer((4,), "int8", data=T.address_of(start[4]))
        for i in range(4):
            rest[i] = x[7 - i]
        for i in range(4):
            start[i] = x[3 - i]

    assert distance(func, "x", "y") == 8


def test_bits_of_an_index():
    """Shifts and masks, as lowering makes of quotients and remainders."""

    @T.prim_func
    def func(x: T.Buffer((16,), "int8"), y: T.Buffer((16,), "int8")):
        for i in range(16):
            y[(i >> 2) * 4 + (i & 3)] = x[(i << 0) ^ 1]

    assert distance(func, "x", "y") == 1


DATA = tvm.runtime.tensor(np.arange(8, dtype="int8"))


def test_constants():
    """Where a table is read does not matter for what is not the table."""

    @T.prim_func
    def func(x: T.Buffer((8,), "uint8"), y: T.Buffer((8,), "int8")):
        table = T.alloc_buffer((8,), "int8", annotations={"constant_data": DATA})
        for i in range(8):
            y[i] = table[T.Cast("int32", x[i])]

    assert distance(func, "x", "y") == 0
