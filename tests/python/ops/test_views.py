"""What the calls of operators that move elements say of axes, as NumPy and TVM's code have it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax, tirx

from usmp.ops.views import (
    PARTS,
    RESHAPES,
    VIEWS,
    AxisRange,
    ViewKind,
    axis_of,
    merged_axis,
    names_of,
    order_of,
    part_offsets,
    parts_of,
    sliced,
    whole_or_slice,
)
from usmp.relax.exact_elements import exact_elements

op = relax.op


def tensor(*shape) -> relax.Var:
    return relax.Var("x", relax.TensorType(shape, "int32"))


def normalized(call: relax.Expr) -> relax.Call:
    return relax.BlockBuilder().normalize(call)


def numbered(*shape: int) -> np.ndarray:
    """An array whose elements all differ."""
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


def computed(call: relax.Call, x: np.ndarray) -> np.ndarray:
    """What the PrimFunc of an operator of one tensor gives."""
    builder = relax.BlockBuilder()
    with builder.function("main", [call.args[0]]):
        builder.emit_func_output(builder.emit(call))
    functions = relax.transform.LegalizeOps()(builder.get()).functions.values()
    (func,) = (func for func in functions if isinstance(func, tirx.PrimFunc))
    result = exact_elements(func, [x])
    assert result is not None
    return result


def taken(x: np.ndarray, part) -> np.ndarray:
    """The elements of a part, by NumPy."""
    for axis, of_axis in part.items():
        x = x.take(of_axis.first + of_axis.step * np.arange(of_axis.count), axis)
    return x


def check_offsets(call: relax.Call, x: np.ndarray, parts: list[np.ndarray]) -> None:
    """Compare where parts begin with the places of their elements in memory."""
    flat = [part.reshape(-1) for part in parts]
    offsets = part_offsets(call)
    if offsets is None:
        # Elements are numbered in their order. One part that is all of it may be copied.
        assert len(parts) == 1 or any(not part.size or (np.diff(part) != 1).any() for part in flat)
    else:
        assert offsets == [part[0] for part in flat]
        assert all((np.diff(part) == 1).all() for part in flat)


SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def reshapes(draw):
    shape = draw(SHAPES)
    order = draw(st.permutations([extent for extent in shape if extent > 1] + [1]))
    axis = draw(st.integers(0, len(shape)))
    return draw(
        st.sampled_from(
            [
                op.reshape(tensor(*shape), order),
                op.flatten(tensor(*shape)),
                op.nn.batch_flatten(tensor(*shape, 2)),
                op.squeeze(tensor(*shape)),
                op.expand_dims(tensor(*shape), axis),
            ]
        )
    )


@given(reshapes())
def test_an_axis_of_a_reshape(call):
    call = normalized(call)
    before, after = (tuple(map(int, ty.shape)) for ty in (call.args[0].ty, call.ty))
    result = computed(call, numbered(*before))
    np.testing.assert_array_equal(result, numbered(*after))
    for axis, extent in enumerate(before):
        place = np.indices(before)[axis].reshape(after)
        found = merged_axis(before, axis, after)
        # Axes of the result along which the place on the axis changes.
        varies = [a for a in range(len(after)) if np.ptp(place, axis=a).any()]
        if found is None:
            assert len(varies) != 1
            continue
        merged, repeats = found
        assert varies in ([merged], [])
        along = np.arange(after[merged]) // repeats % extent
        shape = [1] * len(after)
        shape[merged] = -1
        np.testing.assert_array_equal(place, np.broadcast_to(along.reshape(shape), after))


@given(SHAPES, st.data())
def test_the_order_of_axes(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    signed = [axis - len(shape) * data.draw(st.booleans()) for axis in order]
    call = normalized(op.permute_dims(tensor(*shape), signed))
    assert order_of(call) == tuple(order)
    x = numbered(*shape)
    np.testing.assert_array_equal(computed(call, x), x.transpose(order_of(call)))
    reverse = normalized(op.permute_dims(tensor(*shape)))
    np.testing.assert_array_equal(computed(reverse, x), x.transpose(order_of(reverse)))


LIMITS = {
    extent: [
        limits
        for limits in product(range(-5, 6), range(-6, 6), (-3, -2, -1, 1, 2, 3))
        if range(extent)[slice(*limits)]
    ]
    for extent in range(1, 5)
}
"""Begins, ends and steps that leave some elements of an axis."""


@given(SHAPES, st.booleans(), st.data())
def test_a_slice_takes_a_range_of_axes(shape, has_steps, data):
    """Also where limits are outside of the tensor."""
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    x, wanted = numbered(*shape), [slice(None)] * len(shape)
    for axis in axes:
        limits = [each for each in LIMITS[shape[axis]] if has_steps or each[2] == 1]
        wanted[axis] = slice(*data.draw(st.sampled_from(limits)))
    signed = [axis - len(shape) * data.draw(st.booleans()) for axis in axes]
    begins, ends = ([getattr(wanted[axis], end) for axis in axes] for end in ("start", "stop"))
    steps = [wanted[axis].step for axis in axes] if has_steps else None
    elements = x[tuple(wanted)]
    call = normalized(op.strided_slice(tensor(*shape), signed, begins, ends, steps))
    np.testing.assert_array_equal(computed(call, x), elements)
    (part,) = parts_of(call)
    assert [*part] == axes
    np.testing.assert_array_equal(taken(x, part), elements)
    check_offsets(call, x, [elements])
    again = normalized(sliced(call.args[0], part))
    np.testing.assert_array_equal(computed(again, x), elements)
    is_whole = x.shape == elements.shape and {1} == {of_axis.step for of_axis in part.values()}
    assert whole_or_slice(call.args[0], part).same_as(call.args[0]) == is_whole


@given(SHAPES, st.data())
def test_results_of_a_split_and_operands_of_a_concat_are_ranges_of_an_axis(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    cuts = data.draw(st.lists(st.integers(0, shape[axis]), unique=True).map(sorted))
    x = numbered(*shape)
    pieces = np.split(x, cuts, axis)
    split = normalized(op.split(tensor(*shape), cuts or 1, axis))
    concat = normalized(op.concat([tensor(*piece.shape) for piece in pieces], axis))
    for call in (split, concat):
        assert axis_of(call) == axis % len(shape)
        for part, piece in zip(parts_of(call), pieces, strict=True):
            assert [*part] == [axis % len(shape)]
            np.testing.assert_array_equal(taken(x, part), piece)
        check_offsets(call, x, pieces)


def test_the_axis_of_elements_that_are_taken():
    indices = relax.const([2, 0, 2])
    assert axis_of(normalized(op.take(tensor(2, 3), indices, -1))) == 1
    assert axis_of(normalized(op.take(tensor(3), indices, None))) == 0


def test_a_concat_without_an_axis_has_the_only_one():
    call = normalized(op.concat([tensor(2), tensor(3)], None))
    assert parts_of(call) == [{0: AxisRange(0, 2)}, {0: AxisRange(2, 3)}]


def test_limits_that_only_the_run_knows():
    n = tirx.Var("n", "int64")
    assert parts_of(normalized(op.strided_slice(tensor(8), [0], [n], [n + 2]))) is None
    assert parts_of(normalized(op.strided_slice(tensor(n), [0], [1], [2]))) is None
    assert parts_of(normalized(op.concat([tensor(n), tensor(3)], 0))) is None
    # Along an axis that is fixed, all is known.
    assert parts_of(normalized(op.split(tensor(n, 2), 2, 1)))[1] == {1: AxisRange(1, 1)}


X = numbered(2, 3)
GATHERS = {
    "relax.broadcast_to": (op.broadcast_to(tensor(2, 3), (4, 2, 3)), np.broadcast_to(X, (4, 2, 3))),
    "relax.flip": (op.flip(tensor(2, 3), 1), np.flip(X, 1)),
    "relax.repeat": (op.repeat(tensor(2, 3), 2, 0), np.repeat(X, 2, 0)),
    "relax.tile": (op.tile(tensor(2, 3), (2, 1)), np.tile(X, (2, 1))),
}


@pytest.mark.parametrize("name", GATHERS)
def test_elements_that_are_gathered(name):
    call, wanted = GATHERS[name]
    assert call.op.name == name
    np.testing.assert_array_equal(computed(normalized(call), X), wanted)


def test_each_operator_of_the_table_is_compared():
    compared = {
        *("relax.reshape", "relax.flatten", "relax.nn.batch_flatten", "relax.squeeze"),
        *("relax.expand_dims", "relax.permute_dims", "relax.strided_slice", "relax.split"),
        *("relax.concat", "relax.take", *GATHERS),
    }
    assert VIEWS.keys() == compared


def test_sets_of_the_table():
    assert set(RESHAPES) == {
        *("relax.reshape", "relax.flatten", "relax.nn.batch_flatten", "relax.squeeze"),
        "relax.expand_dims",
    }
    assert set(PARTS) == {"relax.concat", "relax.split", "relax.strided_slice"}
    assert names_of(ViewKind.SLICE) == ("relax.strided_slice",)


def offsets(call: relax.Expr) -> list[int] | None:
    return part_offsets(normalized(call))


def concat(axis: int | None, *shapes: tuple) -> list[int] | None:
    return offsets(op.concat([tensor(*shape) for shape in shapes], axis))


@pytest.mark.parametrize(
    ("axis", "shapes", "expected"),
    [
        (0, [(2, 3), (4, 3), (1, 3)], [0, 6, 18]),
        (None, [(2,), (5,)], [0, 2]),
        (0, [(1,), (1,)], [0, 1]),
        (1, [(1, 2, 3), (1, 4, 3)], [0, 6]),
        (-2, [(1, 2, 3), (1, 4, 3)], [0, 6]),
        (-1, [(1, 1, 3), (1, 1, 4)], [0, 3]),
        # Rows of the results are made of rows of each.
        (1, [(2, 2), (2, 3)], None),
        (-1, [(1, 2, 2), (1, 2, 3)], None),
        # Nothing has a place.
        (0, [(2, 3), (0, 3)], None),
        (0, [(2, tirx.Var("n", "int64")), (2, tirx.Var("n", "int64"))], None),
    ],
)
def test_parts_of_a_concatenation(axis, shapes, expected):
    assert concat(axis, *shapes) == expected


@pytest.mark.parametrize(
    ("shape", "sections", "axis", "expected"),
    [
        ((6, 2), 3, 0, [0, 4, 8]),
        ((6, 2), [1, 3], 0, [0, 2, 6]),
        ((1, 6), 2, 1, [0, 3]),
        ((1, 6, 2), 2, -2, [0, 6]),
        ((2, 6), 2, 1, None),
        ((6, 2), [0], 0, None),
    ],
)
def test_parts_of_a_split(shape, sections, axis, expected):
    assert offsets(op.split(tensor(*shape), sections, axis)) == expected


@pytest.mark.parametrize(
    ("shape", "axes", "begins", "ends", "strides", "expected"),
    [
        ((5, 4), [0], [1], [3], None, [4]),
        ((5, 4), [0, 1], [2, 1], [3, 3], None, [9]),
        ((5, 4), [-1, 0], [1, 2], [3, 3], None, [9]),
        ((5, 4), [0], [-2], [5], None, [12]),
        ((5, 4), [0], [-9], [2], None, [0]),
        ((5, 4, 3), [0, 1], [1, 2], [2, 4], None, [18]),
        ((1, 4, 3), [1], [2], [3], None, [6]),
        ((5, 4), [1], [1], [3], None, None),
        ((5, 4, 3), [0, 2], [1, 1], [3, 2], None, None),
        ((5, 4, 3), [0, 2], [1, 1], [2, 2], None, None),
        # A range of one axis, whole others.
        ((5, 4, 3), [1, 0], [0, 1], [4, 3], None, [12]),
        ((5, 4), [0], [1], [5], [2], None),
        ((5, 4), [0], [3], [5], [2], [12]),
        ((5, 4), [0], [4], [2], [-2], [16]),
        # A begin beyond the axis is its last element.
        ((5, 4), [0], [9], [3], [-1], [16]),
        ((5, 4), [0], [4], [2], [-1], None),
        ((5, 4), [0], [2], [2], None, None),
    ],
)
def test_a_slice(shape, axes, begins, ends, strides, expected):
    assert offsets(op.strided_slice(tensor(*shape), axes, begins, ends, strides)) == expected
