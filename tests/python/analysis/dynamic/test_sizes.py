"""Sizes of allocations that only the run knows, in 64 bits."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.sym import Analyzer

from usmp.analysis.dynamic.sizes import dynamic_size, is_dynamic, size_variables
from usmp.analysis.symbolic.extents import value_of

N, M, WIDE = tirx.Var("n", "int32"), tirx.Var("m", "int32"), tirx.Var("w", "int64")
SMALL = tirx.Var("s", "int8")


def allocation(*shape, dtype="int8", annotations=None, **fields):
    buffer = tirx.decl_buffer(shape, dtype, "a", **fields)
    return tirx.AllocBuffer(buffer, annotations or {})


def size_of(*shape, **fields):
    return dynamic_size(allocation(*shape, **fields), "f")


def names_in(expr):
    """Functions that `expr` calls, which notice where 64 bits are not enough."""
    text = str(expr)
    return [n for n in ("add", "subtract", "multiply", "floor_divide") if f"size_{n}" in text]


def test_sizes_that_depend_on_the_run_are_dynamic():
    assert is_dynamic(allocation(N))
    assert is_dynamic(allocation(4, N * 2))
    assert not is_dynamic(allocation(4))
    assert not is_dynamic(allocation(N, scope="local"))


def test_variables_are_in_the_order_of_the_text():
    memory = tirx.decl_buffer((4,), "int32", "b")
    buffer = allocation(M + N, N * memory[WIDE], M).buffer
    assert [str(variable.name) for variable in size_variables(buffer)] == ["m", "n", "w"]


@pytest.mark.parametrize(
    ("shape", "values", "elements"),
    [
        ((N,), {"n": 7}, 7),
        ((N, M), {"n": 7, "m": -2}, -14),
        ((1, N + 5), {"n": 2**31 - 1}, 2**31 + 4),
        ((N - M,), {"n": -(2**31), "m": 1}, -(2**31) - 1),
        ((tirx.FloorDiv(N, 4),), {"n": -3}, -1),
        ((tirx.Max(N, M),), {"n": 3, "m": 9}, 9),
        ((tirx.Min(N, 8),), {"n": 30}, 8),
        ((tirx.FloorMod(N, 5),), {"n": -1}, 4),
        ((tirx.Cast("int64", N) * 2,), {"n": 4}, 8),
        ((SMALL,), {"s": 100}, 100),
        ((WIDE,), {"w": 5}, 5),
    ],
)
def test_elements_are_counted_in_64_bits(shape, values, elements):
    size = size_of(*shape)
    assert str(size.elements.ty.dtype) == "int64"
    assert names_in(size.elements) == []
    assert value_of(size.elements, values) == elements


@pytest.mark.parametrize(
    ("shape", "functions"),
    [
        ((WIDE + 1,), ["add"]),
        ((WIDE - 1,), ["subtract"]),
        ((WIDE * 2,), ["multiply"]),
        ((tirx.FloorDiv(WIDE, WIDE),), ["floor_divide"]),
        ((tirx.FloorDiv(WIDE, tirx.IntImm("int64", 2)),), []),
        ((N * M,), []),
        ((N * M, M), ["multiply"]),
        ((WIDE + 1 - 1,), ["add", "subtract"]),
        ((tirx.Min(WIDE + 1, WIDE),), ["add"]),
    ],
)
def test_functions_notice_what_leaves_64_bits(shape, functions):
    assert names_in(size_of(*shape).elements) == functions


@pytest.mark.parametrize(
    ("shape", "dtype", "least", "most"),
    [
        ((tirx.Min(N, 8),), "int32", None, None),
        ((N,), "int32", None, None),
        # Elements of buffers with indices of 32 bits are as many as these reach.
        ((N, M), "int8", None, 2**31 - 1),
        ((N, M), "float32", 0, 2**31 - 1),
        ((WIDE,), "int8", None, None),
        ((WIDE,), "int16", 0, 2**62 - 1),
        ((WIDE,), "float64x2", 0, 2**59 - 1),
    ],
)
def test_limits_keep_bytes_in_64_bits(shape, dtype, least, most):
    size = size_of(*shape, dtype=dtype)
    assert (size.least_elements, size.most_elements) == (least, most)
    assert size.has_limits == (most is not None)


@pytest.mark.parametrize(
    ("shape", "dtype", "elements", "size_bytes"),
    [
        ((N,), "int8", 5, 5),
        ((N,), "int32", -5, -20),
        ((N, M), "int8", 2**31 - 1, 2**31 - 1),
        ((N, M), "int8", 2**31, -1),
        ((N, M), "float32", 0, 0),
        ((N, M), "float32", -1, -1),
        ((N, M), "float32", 2**31 - 1, 2**33 - 4),
        ((N, M), "float32", 2**31, -1),
    ],
)
def test_sizes_that_are_none_are_negative(shape, dtype, elements, size_bytes):
    found = size_of(*shape, dtype=dtype).size_bytes(tirx.IntImm("int64", elements))
    assert int(Analyzer().simplify(found)) == size_bytes


@pytest.mark.parametrize(
    ("stmt", "message"),
    [
        (allocation(N, annotations={"constant_data": 1}), "is a constant; constants have the size"),
        (allocation(N, strides=[2]), "has strides or an element offset; declare it without them"),
        (allocation(N, elem_offset=tirx.IntImm("int32", 4)), "has strides or an element offset"),
        (allocation(N, elem_offset=M), "has strides or an element offset"),
        (
            allocation(tirx.truncdiv(N, 2)),
            "has an extent that cannot be computed without overflow: ",
        ),
        (allocation(tirx.Cast("int8", N)), "has an extent that cannot be computed"),
        (
            allocation(tirx.Max(WIDE + 1, WIDE)),
            "has a maximum or a remainder in its extent",
        ),
        (allocation(tirx.FloorMod(N, M)), "or by what may not be positive: "),
    ],
)
def test_other_allocations_are_refused(stmt, message):
    with pytest.raises(ValueError) as caught:
        dynamic_size(stmt, "f")
    text = str(caught.value)
    assert text.startswith("f: buffer a, whose size only the run knows, ")
    assert message in text


def test_an_offset_of_zero_is_none():
    assert size_of(N, elem_offset=tirx.IntImm("int32", 0)).item_bytes == 1
