"""Random operators as models have them: convolutions, pooling, dense, element-wise, slices.

Each strategy draws one family; extents are small, because the operators are run.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from tvm import tirx

from support.operator_builder import (
    Builder,
    Index,
    block,
    cast,
    conjunction,
    loop,
    nest,
    store,
    when,
    wide,
)
from support.overlapped_runs import Operator

DTYPES = ["int8", "uint8", "int16", "int32", "float32"]


@dataclass(frozen=True)
class Window:
    """One axis of a convolution or pooling.

    Parameters
    ----------
    size
        of the input.
    taps, stride, dilation
        of the kernel.
    before, after
        padding, in elements.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def outputs(self) -> int:
        reach = (self.taps - 1) * self.dilation + 1
        return (self.size + self.before + self.after - reach) // self.stride + 1

    def position(self, output: Index, tap: Index) -> tirx.Expr:
        """The input element under a tap."""
        return output * self.stride + tap * self.dilation - self.before

    def guards(self, output: Index, tap: Index) -> list[tirx.Expr]:
        """That the tap lies inside of the input; none where it cannot be outside."""
        position = self.position(output, tap)
        guards: list[tirx.Expr] = []
        if self.before:
            guards.append(position >= 0)
        last = (self.outputs - 1) * self.stride + (self.taps - 1) * self.dilation - self.before
        if last >= self.size:
            guards.append(position < self.size)
        return guards


@st.composite
def windows(draw: st.DrawFn, most: int = 5) -> Window:
    """An axis with at least one output."""
    taps, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    reach = (taps - 1) * dilation + 1
    size = draw(st.integers(1, most))
    pads = st.integers(0, reach - 1)
    before, after = draw(pads), draw(pads)
    if size + before + after < reach:
        size = reach - before - after
    return Window(size, taps, draw(st.integers(1, 3)), dilation, before, after)


class Layout:
    """Where the elements of an image lie."""

    def __init__(self, channels_last: bool, height: int, width: int, channels: int) -> None:
        self.elements = height * width * channels
        self.channels = channels
        self.strides = (
            (width * channels, channels, 1) if channels_last else (width, 1, height * width)
        )

    def __call__(self, row: Index, column: Index, channel: Index) -> Index:
        return sum(i * s for i, s in zip((row, column, channel), self.strides, strict=True))


@st.composite
def convolutions(draw: st.DrawFn) -> Operator:
    """Convolutions and depthwise convolutions, with padding by statements or by expressions, and
    perhaps with a residual sum."""
    channels_last = draw(st.booleans())
    rows, columns = draw(windows()), draw(windows())
    if draw(st.integers(0, 3)) == 0:
        rows = columns = Window(draw(st.integers(1, 5)), 1, 1, 1, 0, 0)
    depthwise = draw(st.booleans())
    inputs = draw(st.integers(1, 3))
    outputs = inputs * draw(st.integers(1, 2)) if depthwise else draw(st.integers(1, 4))
    dtype = draw(st.sampled_from(["int8", "int8", "float32"]))
    source = Layout(channels_last, rows.size, columns.size, inputs)
    target = Layout(channels_last, rows.outputs, columns.outputs, outputs)

    builder = Builder(draw(st.booleans()))
    x = builder.input(source.elements, dtype)
    weights = builder.input(rows.taps * columns.taps * inputs * outputs, dtype)
    skip = builder.input(target.elements, dtype) if draw(st.booleans()) else None
    y = builder.output(target.elements, draw(st.sampled_from([dtype, "float32"])))
    total = builder.scratch(1, "float32" if dtype == "float32" else "int32", "local")
    by_expression = draw(st.booleans())
    depth = 1 if depthwise else inputs

    def tap(row, column, channel, i, j, k):
        guards = rows.guards(row, i) + columns.guards(column, j)
        plane = tirx.floordiv(channel, outputs // inputs) if depthwise else k
        value = wide(x[source(rows.position(row, i), columns.position(column, j), plane)])
        weight = weights[((channel * rows.taps + i) * columns.taps + j) * depth + k]
        if by_expression and guards:
            value = tirx.if_then_else(conjunction(guards), value, cast(str(value.ty.dtype), 0 * i))
            guards = []
        return when(guards, store(total, 0, total[0] + value * wide(weight)))

    def element(*indices):
        row, column, channel = indices if channels_last else (*indices[1:], indices[0])
        at = target(row, column, channel)
        value = total[0] if skip is None else total[0] + wide(skip[at])
        return [
            store(total, 0, cast(str(total.dtype), tirx.IntImm("int32", 0))),
            nest(
                [rows.taps, columns.taps, depth],
                lambda i, j, k: tap(row, column, channel, i, j, k),
            ),
            store(y, at, value),
        ]

    extents = [rows.outputs, columns.outputs, outputs]
    return builder.operator(nest(extents if channels_last else extents[2:] + extents[:2], element))


@st.composite
def poolings(draw: st.DrawFn) -> Operator:
    """The greatest element of each window, kept in a register or in the output itself."""
    channels_last = draw(st.booleans())
    rows, columns = draw(windows()), draw(windows())
    channels = draw(st.integers(1, 4))
    source = Layout(channels_last, rows.size, columns.size, channels)
    target = Layout(channels_last, rows.outputs, columns.outputs, channels)
    builder = Builder(draw(st.booleans()))
    x, y = builder.input(source.elements), builder.output(target.elements)
    in_output = draw(st.booleans())
    best = y if in_output else builder.scratch(1, "int8", "local")

    def element(*indices):
        row, column, channel = indices if channels_last else (*indices[1:], indices[0])
        at = target(row, column, channel)
        kept = at if in_output else 0

        def tap(i, j):
            value = x[source(rows.position(row, i), columns.position(column, j), channel)]
            guards = rows.guards(row, i) + columns.guards(column, j)
            return when(guards, store(best, kept, tirx.Max(best[kept], value)))

        return [
            store(best, kept, tirx.IntImm("int8", -128)),
            nest([rows.taps, columns.taps], tap),
            *([] if in_output else [store(y, at, best[0])]),
        ]

    extents = [rows.outputs, columns.outputs, channels]
    return builder.operator(nest(extents if channels_last else extents[2:] + extents[:2], element))


@st.composite
def element_wise(draw: st.DrawFn) -> Operator:
    """One or two operands of any types, in loops that are nested or split."""
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    elements, strides = 1, []
    for extent in reversed(extents):
        strides.insert(0, elements)
        elements *= extent
    builder = Builder(draw(st.booleans()))
    operands = [
        builder.input(elements, draw(st.sampled_from(DTYPES)))
        for _ in range(draw(st.integers(1, 2)))
    ]
    y = builder.output(elements, draw(st.sampled_from(DTYPES)))

    def element(at):
        first, *others = (wide(operand[at]) for operand in operands)
        for other in others:
            first = cast("float32", first) + cast("float32", other)
        return store(y, at, first)

    if draw(st.booleans()):
        factor = draw(st.integers(2, 4))
        body = nest(
            [-(-elements // factor), factor],
            lambda i, j: when([i * factor + j < elements], element(i * factor + j)),
        )
        return builder.operator(body)

    def at(*indices):
        return element(sum(i * s for i, s in zip(indices, strides, strict=True)))

    return builder.operator(nest(extents, at))


@st.composite
def broadcasts(draw: st.DrawFn) -> Operator:
    """A sum with an operand that is repeated along the rows, or along the columns."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    builder = Builder(draw(st.booleans()))
    along_rows = draw(st.booleans())
    a, b = builder.input(rows * columns), builder.input(columns if along_rows else rows)
    y = builder.output(rows * columns, draw(st.sampled_from(DTYPES)))

    def element(i, j):
        value = wide(a[i * columns + j]) + wide(b[j if along_rows else i])
        return store(y, i * columns + j, value)

    return builder.operator(nest([rows, columns], element))


@st.composite
def slices(draw: st.DrawFn) -> Operator:
    """Part of a vector or a matrix, with steps; or the reverse, a pad with gaps between."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    steps = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    offsets = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    height = offsets[0] + rows * steps[0]
    width = offsets[1] + columns * steps[1]
    dtype = draw(st.sampled_from(DTYPES))
    builder = Builder(draw(st.booleans()))
    inserts = draw(st.booleans())
    x = builder.input(rows * columns if inserts else height * width, dtype)
    y = builder.output(height * width if inserts else rows * columns, dtype)

    def element(i, j):
        sparse = (i * steps[0] + offsets[0]) * width + j * steps[1] + offsets[1]
        dense = i * columns + j
        return store(y, sparse, x[dense]) if inserts else store(y, dense, x[sparse])

    return builder.operator(nest([rows, columns], element))


@st.composite
def products(draw: st.DrawFn) -> Operator:
    """Matrix products: summed in a register, or in the output, with the reduction inside or
    outside."""
    rows, depth, columns = (draw(st.integers(1, 4)) for _ in range(3))
    builder = Builder(draw(st.booleans()))
    a, b = builder.input(rows * depth), builder.input(depth * columns)
    where = draw(st.sampled_from(["register", "inside", "outside"]))
    y = builder.output(rows * columns, "int8" if where == "register" else "int32")
    zero = tirx.IntImm("int32", 0)

    def product(i, j, k):
        return wide(a[i * depth + k]) * wide(b[k * columns + j])

    if where == "outside":
        body = [
            nest([rows * columns], lambda i: store(y, i, zero)),
            nest(
                [depth, rows, columns],
                lambda k, i, j: store(y, i * columns + j, y[i * columns + j] + product(i, j, k)),
            ),
        ]
        return builder.operator(body)
    total = y if where == "inside" else builder.scratch(1, "int32", "local")

    def element(i, j):
        at = i * columns + j
        kept = at if where == "inside" else 0
        stmts = [
            store(total, kept, zero),
            loop(depth, lambda k: store(total, kept, total[kept] + product(i, j, k))),
        ]
        return block(stmts if where == "inside" else [*stmts, store(y, at, total[0])])

    return builder.operator(nest([rows, columns], element))


COMMON = {
    "convolution": convolutions(),
    "pooling": poolings(),
    "element_wise": element_wise(),
    "broadcast": broadcasts(),
    "slice": slices(),
    "product": products(),
}
