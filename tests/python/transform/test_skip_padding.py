"""Accumulations of padding are guarded, and the guards leave the loops they do not depend on."""

import tvm
from tvm.ir import IRModule
from tvm.script import tirx as T

from usmp.transform import SkipPadding


def skip(func):
    return SkipPadding()(IRModule({"f": func}))["f"]


def test_a_guard_leaves_the_loops_it_does_not_depend_on():
    @T.prim_func(private=True)
    def before(
        x: T.Buffer((64,), "int8"), w: T.Buffer((36,), "int8"), acc: T.Buffer((1,), "int32")
    ):
        for y in range(5):
            for ky in range(3):
                for kx in range(3):
                    for c in range(4):
                        acc[0] = acc[0] + T.if_then_else(
                            y + ky >= 1 and kx < 2, T.Cast("int32", x[kx * 4 + c]) + 7, 0
                        ) * T.Cast("int32", w[ky * 12 + kx * 4 + c])

    @T.prim_func(private=True)
    def after(x: T.Buffer((64,), "int8"), w: T.Buffer((36,), "int8"), acc: T.Buffer((1,), "int32")):
        for y in range(5):
            for ky in range(3):
                if y + ky >= 1:
                    for kx in range(3):
                        if kx < 2:
                            for c in range(4):
                                acc[0] = acc[0] + (T.Cast("int32", x[kx * 4 + c]) + 7) * T.Cast(
                                    "int32", w[ky * 12 + kx * 4 + c]
                                )

    tvm.ir.assert_structural_equal(skip(before), after)


def test_a_maximum_skips_the_least_number():
    @T.prim_func(private=True)
    def before(x: T.Buffer((8,), "int8"), acc: T.Buffer((1,), "int32")):
        for i in range(10):
            acc[0] = T.max(
                acc[0], T.if_then_else(i < 8, T.Cast("int32", x[i]), T.int32(-2147483648))
            )

    @T.prim_func(private=True)
    def after(x: T.Buffer((8,), "int8"), acc: T.Buffer((1,), "int32")):
        for i in range(10):
            if i < 8:
                acc[0] = T.max(acc[0], T.Cast("int32", x[i]))

    tvm.ir.assert_structural_equal(skip(before), after)


def unchanged(func):
    tvm.ir.assert_structural_equal(skip(func), func)


def test_padding_that_counts_stays():
    @T.prim_func(private=True)
    def adds_one(x: T.Buffer((8,), "int8"), acc: T.Buffer((1,), "int32")):
        for i in range(10):
            acc[0] = acc[0] + T.if_then_else(i < 8, T.Cast("int32", x[i]), 1)

    @T.prim_func(private=True)
    def maximum_with_zero(x: T.Buffer((8,), "int8"), acc: T.Buffer((1,), "int32")):
        for i in range(10):
            acc[0] = T.max(acc[0], T.if_then_else(i < 8, T.Cast("int32", x[i]), 0))

    unchanged(adds_one)
    unchanged(maximum_with_zero)


def test_floats_stay():
    """Zero times infinity is not zero."""

    @T.prim_func(private=True)
    def func(
        x: T.Buffer((8,), "float32"), w: T.Buffer((10,), "float32"), a: T.Buffer((1,), "float32")
    ):
        for i in range(10):
            a[0] = a[0] + T.if_then_else(i < 8, x[i], T.float32(0)) * w[i]

    unchanged(func)


def test_another_element_than_the_one_written_is_no_accumulator():
    @T.prim_func(private=True)
    def func(x: T.Buffer((8,), "int8"), acc: T.Buffer((11,), "int32")):
        for i in range(10):
            acc[i + 1] = acc[i] + T.if_then_else(i < 8, T.Cast("int32", x[i]), 0)

    unchanged(func)


def test_conditions_that_read_memory_stay():
    @T.prim_func(private=True)
    def func(x: T.Buffer((8,), "int8"), n: T.Buffer((1,), "int32"), acc: T.Buffer((1,), "int32")):
        for i in range(8):
            acc[0] = acc[0] + T.if_then_else(i < n[0], T.Cast("int32", x[i]), 0)

    unchanged(func)


def test_a_branch_with_an_else_stays_in_its_loop():
    @T.prim_func(private=True)
    def func(x: T.Buffer((8,), "int32"), flag: T.int32):
        for i in range(8):
            if flag > 0:
                x[i] = 1
            else:
                x[i] = 2

    unchanged(func)
