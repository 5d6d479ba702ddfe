"""Fast Fourier transforms of complex numbers as statements, in place in their result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx

from usmp.ops.signal.butterflies import BUTTERFLIES
from usmp.ops.signal.complex_arithmetic import Arithmetic, Complex, Steps
from usmp.ops.signal.fft_layout import FftLayout, FftStage
from usmp.ops.statements import loop
from usmp.tir.nodes import sequence

Index: TypeAlias = "tirx.Expr | int"


@dataclass(frozen=True)
class Line:
    """The complex numbers of a buffer that are transformed.

    Parameters
    ----------
    load
        returns the number at an index.
    store
        returns the statements that replace the number at an index.
    """

    load: Callable[[Index], Complex]
    store: Callable[[Index, Complex], list[tirx.Stmt]]


def line_of(arithmetic: Arithmetic, buffer: tirx.Buffer, *outer: Index) -> Line:
    """Return the complex numbers along the last axis of a buffer."""
    return Line(
        lambda index: arithmetic.complex(buffer, *outer, index),
        lambda index, value: arithmetic.stores(buffer, value, *outer, index),
    )


def in_order(
    layout: FftLayout, copy: Callable[[Index, Index], tirx.Stmt | list[tirx.Stmt]]
) -> tirx.Stmt:
    """Return loops that run `copy(place, index)` for each number: from `index` in the data to its
    place before the first stage."""
    variables = [tirx.Var(f"digit{index}", "int32") for index in range(len(layout.stages))]
    place: Index = 0
    index: Index = 0
    for variable, stage in zip(variables, layout.stages, strict=True):
        place, index = place + variable * stage.length, index + variable * stage.stride
    statement = sequence(copy(place, index))
    for variable, stage in reversed(list(zip(variables, layout.stages, strict=True))):
        statement = tirx.For(variable, 0, stage.radix, tirx.ForKind.SERIAL, statement)
    return statement


def place_of(layout: FftLayout, index: Index) -> Index:
    """Return the place to which `in_order` copies the number at an index."""
    place: Index = 0
    for stage in layout.stages:
        digit = tirx.floormod(tirx.floordiv(index, stage.stride), stage.radix)
        place = place + digit * stage.length
    return place


def transformed(
    layout: FftLayout,
    arithmetic: Arithmetic,
    line: Line,
    twiddles: tirx.Buffer,
    inverse: bool = False,
) -> Iterator[tirx.Stmt]:
    """Yield loops that transform the numbers of a line in place, after `in_order`.

    Parameters
    ----------
    twiddles
        (length, 2): twiddles of the layout, conjugate for the inverse.
    """
    for stage in reversed(layout.stages):
        yield _all_butterflies(stage, arithmetic, line, twiddles, inverse)


def _all_butterflies(
    stage: FftStage, arithmetic: Arithmetic, line: Line, twiddles: tirx.Buffer, inverse: bool
) -> tirx.Stmt:
    def root(index: Index) -> Complex:
        return Complex(*(arithmetic.loaded(twiddles, index, part) for part in (0, 1)))

    roots = [root(stage.length * stage.stride * k) for k in range(1, stage.radix)]

    def butterfly(group: tirx.Var, number: tirx.Var) -> list[tirx.Stmt]:
        steps = Steps(arithmetic)
        places = [
            group * (stage.radix * stage.length) + number + k * stage.length
            for k in range(stage.radix)
        ]
        values = []
        for k, place in enumerate(places):
            value = steps.keep(f"value{k}", arithmetic.divided(line.load(place), stage.radix))
            if k:
                twiddle = root(number * (stage.stride * k))
                value = steps.keep(f"turned{k}", arithmetic.complex_product(value, twiddle))
            values.append(value)
        results = BUTTERFLIES[stage.radix](steps, values, roots, inverse)
        stores = [
            statement
            for place, result in zip(places, results, strict=True)
            for statement in line.store(place, result)
        ]
        return [*steps.statements, *stores]

    return loop(
        "group",
        stage.stride,
        lambda group: loop("number", stage.length, lambda number: butterfly(group, number)),
    )
