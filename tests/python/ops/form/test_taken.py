"""Operators of which some indices stay."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.script import tirx as T

from usmp.ops.form import form_of, taken


def kept(*indices: int) -> np.ndarray:
    return np.array(indices, np.int64)


def taken_of(func, own, constants=(), loses_terms=False):
    form = form_of(func)
    assert form is not None
    return taken(form, own, constants, loses_terms)


@T.prim_func(private=True, s_tir=True)
def product(x: T.Buffer((4,), "int8"), w: T.Buffer((6, 4), "int8"), y: T.Buffer((6,), "int32")):
    for i, k in T.grid(6, 4):
        with T.sblock("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = 0
            y[vi] = y[vi] + T.Cast("int32", x[vk]) * T.Cast("int32", w[vi, vk])


def test_constants_lose_what_goes_with_data_and_output():
    found = taken_of(product, {0: (0, kept(1, 3)), 2: (0, kept(0, 2, 5))}, [1], True)
    assert found is not None
    assert [[int(e) for e in param.shape] for param in found.func.params] == [[2], [3, 2], [3]]
    weight = np.arange(24).reshape(6, 4)
    np.testing.assert_array_equal(found.sliced(1, weight), weight[[0, 2, 5]][:, [1, 3]])
    np.testing.assert_array_equal(found.sliced(0, np.arange(4)), [1, 3])


def test_sums_keep_their_terms_unless_that_is_asked_for():
    assert taken_of(product, {0: (0, kept(1, 3))}, [1]) is None
    assert taken_of(product, {2: (0, kept(1, 3))}, [1]) is not None


def test_other_parameters_stay_whole():
    assert taken_of(product, {2: (0, kept(1, 3))}) is None


@T.prim_func(private=True, s_tir=True)
def depthwise(x: T.Buffer((3,), "int8"), w: T.Buffer((6,), "int8"), y: T.Buffer((6,), "int8")):
    for i in range(6):
        with T.sblock("y"):
            vi = T.axis.spatial(6, i)
            y[vi] = x[vi // 2] + w[vi]


def test_several_outputs_of_a_channel_stay_together():
    found = taken_of(depthwise, {0: (0, kept(0, 2)), 2: (0, kept(0, 1, 4, 5))}, [1])
    assert found is not None
    np.testing.assert_array_equal(found.sliced(1, np.arange(6)), [0, 1, 4, 5])
    for others in ((0, 1, 4), (0, 1)):
        assert taken_of(depthwise, {0: (0, kept(0, 2)), 2: (0, kept(*others))}, [1]) is not None
    for others in ((0, 4, 5), (0, 1, 2, 3), (1, 4, 5)):
        assert taken_of(depthwise, {0: (0, kept(0, 2)), 2: (0, kept(*others))}, [1]) is None


@T.prim_func(private=True, s_tir=True)
def diagonal(x: T.Buffer((4,), "int8"), y: T.Buffer((4, 4), "int8")):
    for i in range(4):
        with T.sblock("y"):
            vi = T.axis.spatial(4, i)
            y[vi, vi] = x[vi]


@T.prim_func(private=True, s_tir=True)
def prefix(x: T.Buffer((3,), "int8"), y: T.Buffer((5,), "int8")):
    for i in range(3):
        with T.sblock("y"):
            vi = T.axis.spatial(3, i)
            y[vi] = x[vi]


@T.prim_func(private=True, s_tir=True)
def numbered(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("y"):
            vi = T.axis.spatial(4, i)
            y[vi] = x[vi] + vi


@T.prim_func(private=True, s_tir=True)
def reversed_(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("y"):
            vi = T.axis.spatial(4, i)
            y[vi] = x[3 - vi]


@pytest.mark.parametrize(
    ("func", "own"),
    [
        (diagonal, {0: (0, kept(1)), 1: (0, kept(1))}),
        (prefix, {0: (0, kept(1, 2)), 1: (0, kept(1, 2, 4))}),
        (numbered, {0: (0, kept(1, 2)), 1: (0, kept(1, 2))}),
        (reversed_, {0: (0, kept(1, 2)), 1: (0, kept(1, 2))}),
    ],
)
def test_what_cannot_lose_indices(func, own):
    assert taken_of(func, own) is None
