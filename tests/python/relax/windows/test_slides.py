"""Which tensors slide, which values need all rows, and why."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, te

from usmp.relax.windows.slides import (
    Slide,
    Slides,
    computed_rows,
    input_slide,
    kept_rows,
    slides_of,
)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((12, 3), Slide(0, 12, 2, (0, 12))),
        ((1, 12, 3), Slide(1, 12, 2, (0, 12))),
        ((1, 1, 2), Slide(2, 2, 2, (0, 2))),
        ((1, 1), None),
        ((), None),
    ],
)
def test_rows_are_along_the_outermost_axis_that_is_longer_than_one(shape, expected):
    assert input_slide(relax.Var("x", relax.TensorType(shape, "int8")), 2) == expected


@pytest.mark.parametrize(
    ("read", "kept", "computed"),
    [
        ([], (8, 8), [(8, 10)]),
        ([(0, 12)], (1, 8), [(0, 1), (8, 12)]),
        ([(1, 10)], (1, 8), [(8, 10)]),
        ([(3, 5), (4, 11)], (3, 8), [(8, 11)]),
        ([(0, 1)], (8, 8), [(0, 1), (8, 10)]),
        ([(0, 2)], (1, 8), [(0, 1), (8, 10)]),
        ([(8, 12)], (8, 8), [(8, 12)]),
        ([(7, 12)], (7, 8), [(8, 12)]),
    ],
)
def test_rows_that_something_reads(read, kept, computed):
    x = relax.Var("x", relax.TensorType((12,), "int8"))
    slide = Slide(0, 12, 2, (1, 10))
    assert slide.kept_end == 8
    found = Slides({x: slide}, read={x: read})
    assert (kept_rows(found, x), computed_rows(found, x)) == (kept, computed)


def slides(make, hop: int, rows: int = 12) -> tuple[Slides, dict[str, Slide]]:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((rows, 2), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(make(builder, x))
    mod = builder.get()
    found = slides_of(mod, mod["main"], {x: input_slide(x, hop)})
    return found, {var.name: slide for var, slide in found.slides.items()}


def every_second(builder, x):
    return builder.emit(relax.op.strided_slice(x, [0], [1], [12], [2]))


def test_strides_divide_the_hop():
    found, by_name = slides(every_second, 4)
    assert by_name["gv"] == Slide(0, 6, 2, (0, 6))
    assert not found.reasons
    found, by_name = slides(every_second, 3)
    assert list(by_name) == ["x"]
    assert list(found.reasons.values()) == [
        "strided_slice takes its rows in steps of 2, of which the 3 that are new in each run are "
        "no multiple"
    ]
    (whole,) = found.wholes.values()
    assert len(whole) == 1


def test_a_result_of_new_rows_only_does_not_slide():
    def last(builder, x):
        return builder.emit(relax.op.strided_slice(x, [0], [8], [12]))

    found, by_name = slides(last, 3)
    assert (by_name["gv"], found.reasons) == (Slide(0, 4, 3, (0, 4)), {})
    found, by_name = slides(last, 4)
    assert list(by_name) == ["x"]
    assert list(found.reasons.values()) == [
        "in each run 4 rows of strided_slice are new, of 4 that padding has no part in"
    ]


def test_operands_slide_alike():
    """A sum of rows that move by two and rows that move by one is computed anew."""

    def summed(builder, x):
        y = builder.emit(relax.op.strided_slice(x, [0], [0], [12], [2]))
        z = builder.emit(relax.op.strided_slice(x, [0], [0], [6]))
        same = builder.emit(relax.op.add(z, builder.emit(relax.op.negative(z))))
        return builder.emit(relax.Tuple([same, builder.emit(relax.op.add(y, z))]))

    found, by_name = slides(summed, 2)
    assert [slide.shift for slide in by_name.values()] == [2, 1, 2, 2, 2]
    needed = {var.name: len(values) for var, values in found.wholes.items() if values}
    assert needed.keys() >= {"gv", "gv1"}


def test_constants_are_the_same_in_each_run():
    row = np.ones((1, 2), np.float32)

    def added(builder, x):
        constant = builder.emit(relax.const(row))
        return builder.emit(relax.op.add(builder.emit(relax.op.add(x, constant)), relax.const(row)))

    found, by_name = slides(added, 2)
    assert len(by_name) == 3
    assert [var.name for var in found.constants] == ["gv"]


def test_what_is_computed_otherwise_needs_all_rows():
    def sums(builder, x):
        def each(x):
            row = te.reduce_axis((0, 12), "row")
            return te.compute((2,), lambda c: te.sum(x[row, c], row))

        return builder.emit_te(each, x)

    found, by_name = slides(sums, 2)
    assert list(by_name) == ["x"]
    assert [len(values) for values in found.wholes.values()] == [1]
    assert list(found.read.values()) == [[(0, 12)]]
