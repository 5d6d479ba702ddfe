"""The kernels of `conv2d` operators for cores with MVE.

Two pixels and four output channels at a time where windows lie in the data; others are copied
first, padding included. Few output channels are computed of four pixels at a time. An addition or a
function after the convolution is one of some pixels at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.convolution_call import convolution_call
from usmp.ops.kernels.element_runs import Compute
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.line import Line
from usmp.ops.kernels.loops import loop
from usmp.ops.kernels.mve.addition import Addition, add_elements, addition_of
from usmp.ops.kernels.mve.costs import products_instructions, quads_instructions
from usmp.ops.kernels.mve.ending import VectorEnding, constant_parameters, vector_ending
from usmp.ops.kernels.mve.products import (
    MOST_COLUMNS,
    MOST_IN_QUADS,
    Products,
    Rows,
    packed_records,
    packed_weight,
    products,
    split_run,
)
from usmp.ops.kernels.mve.windows import MOST_ON_STACK, copy_window
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.ops.kernels.spans import Span, inner_span, within
from usmp.ops.kernels.weighted import WeightedOperator
from usmp.ops.quantized.window import Window
from usmp.tir.nodes import sequence

_KEPT = 128
"""Bytes of what is kept of the convolution for what follows."""

Pixel = tuple[tirx.Expr, tirx.Expr, tirx.Expr]


def mve_conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """A convolution of NHWC data without groups."""
    found = convolution_call(call) if core.has_mve else None
    if found is None or found.groups.number != 1:
        return None
    operator, window, weight = found.operator, found.groups.window, found.weight
    if window.dilations[1] != 1 and window.kernel[1] != 1:
        return None
    ending = vector_ending(operator, weight)
    addition = None if ending is None else _addition_after(operator, ending)
    function = None if ending is None else ending.function(operator.parts)
    if ending is None or not (ending.is_plain or addition or function):
        return None
    layout = _layout(window, int(operator.data.shape[3]), weight.shape[0])
    if layout is None:
        return None
    outputs = weight.shape[0]
    in_quads = ending.is_plain and _is_faster_in_quads(window, layout.rows, outputs)
    together = 1 if in_quads else 4
    values = packed_weight(weight, layout.rows, together)
    records = packed_records(ending, together)
    parameters, replaced = constant_parameters(operator, values, records)
    by = Products(
        *parameters, layout.rows, layout.distance, outputs, ending.limits, in_quads=in_quads
    )
    plain = _Convolution(operator, window, by, layout.copies, addition, function, False)
    copies_pairs = plain.is_one_line and by.takes_pairs
    smallest = replace(plain, copies_pairs=True) if copies_pairs else plain.on_the_stack()
    if smallest is None and function is not None:
        return None
    ways = [plain, smallest] if smallest is not None else [plain]
    return kernel(call, [way.tiled() for way in ways], replaced)


def _addition_after(operator: WeightedOperator, ending: VectorEnding) -> Addition | None:
    """The addition of another tensor, element by element, if that is all there is."""
    value, limited = ending.rest
    addition = None if ending.is_plain else addition_of(value)
    if addition is None:
        return None
    elements = (addition.first.element, addition.second.element)
    others = [element for element in elements if not element.same_as(limited)]
    if len(others) != 1 or not isinstance(others[0], TensorLoad):
        return None
    other, output = others[0], operator.parts.output
    indices = operator.parts.indices
    is_plain = (
        len(other.indices) == len(indices)
        and all(a.same_as(b) for a, b in zip(other.indices, indices, strict=True))
        and [int(e) for e in other.source.shape] == [int(e) for e in output.shape]
    )
    return addition if is_plain else None


def _is_one_line(window: Window) -> bool:
    """Whether each output pixel is made of the pixel there."""
    return (
        window.kernel == window.strides == (1, 1)
        and window.padding == (0, 0)
        and window.output == window.data
    )


def _is_faster_in_quads(window: Window, rows: Rows, outputs: int) -> bool:
    """Whether four pixels at a time take less instructions, and no more memory: outputs must not
    lie over the pixels that follow the four."""
    pixels, inputs = window.output[0] * window.output[1], rows.rows * rows.columns
    if not _is_one_line(window) or outputs > min(inputs, MOST_IN_QUADS):
        return False
    by_channels = products_instructions(rows, outputs, pixels, False)
    return quads_instructions(rows, outputs, pixels) < by_channels


@dataclass(frozen=True)
class _Layout:
    """How taps follow each other: in the data, or if it `copies` in a copy of the window."""

    rows: Rows
    distance: int
    copies: bool


def _layout(window: Window, channels: int, outputs: int) -> _Layout | None:
    """The layout that takes the least instructions."""
    (height, width), groups = window.kernel, -(-outputs // 4)
    joined = split_run(height * width * channels)
    copied = None if joined is None else _Layout(joined, joined.columns, True)
    if height == 1 and width == 1:
        run = split_run(channels)
        return None if run is None else _Layout(run, run.columns, False)
    row = Rows(height, width * channels)
    if row.columns > MOST_COLUMNS:
        return copied
    direct = _Layout(row, window.dilations[0] * window.data[1] * channels, False)
    if joined is None:
        return direct
    copying = 2 * (12 + height * (7 + 3 * row.blocks)) // groups
    is_faster = joined.rows * joined.blocks * 14 + copying < height * (row.blocks * 14 + 5)
    return copied if is_faster else direct


@dataclass(frozen=True)
class _Convolution:
    operator: WeightedOperator
    window: Window
    by: Products
    copies: bool
    addition: Addition | None
    function: Compute | None
    copies_pairs: bool
    keeps_on_stack: bool = False

    def on_the_stack(self) -> _Convolution | None:
        """The same with its scratch on the stack: for where that would raise the peak of a pool;
        None if there is none, or too much."""
        size = self._scratch().size_bytes
        return replace(self, keeps_on_stack=True) if 0 < size <= MOST_ON_STACK else None

    def tiled(self) -> TiledBody:
        """The loops, and what they take."""
        pixels = self.window.output[0] * self.window.output[1]
        if self.by.in_quads:
            instructions = quads_instructions(self.by.rows, self.by.channels, pixels)
            return TiledBody(self.loops(), Schedule("4 pixels x 1 channel, vectors", instructions))
        instructions = products_instructions(
            self.by.rows, self.by.channels, pixels, self.copies_pairs
        )
        tile = "2 pixels x 4 channels" if self.by.takes_pairs else "1 pixel x 4 channels"
        after = ", copied" if self.copies_pairs else ""
        if self.keeps_on_stack:
            # Just as fast, but the stack has no other use for these bytes.
            after, instructions = ", windows on the stack", instructions + 1
        return TiledBody(self.loops(), Schedule(f"{tile}, vectors{after}", instructions))

    def loops(self) -> tirx.Stmt:
        batch = int(self.operator.data.shape[0])
        window = self.window
        rows, columns = inner_span(window, 0), inner_span(window, 1)
        scratch = self._scratch()
        if self.is_one_line:
            pixels = window.output[0] * window.output[1]
            zero = tirx.IntImm("int32", 0)

            def all_of(b: tirx.Expr) -> tirx.Stmt:
                return sequence(self._pixels((b, zero, zero), pixels, scratch, False))

            return sequence([*scratch.allocations, loop("b", batch, all_of)])

        def row(b: tirx.Expr, y: tirx.Expr) -> tirx.Stmt:
            outside = loop(
                "x",
                window.output[1],
                lambda x: sequence(self._pixels((b, y, x), 1, scratch, True)),
            )
            if self.copies or rows.first >= rows.end or columns.first >= columns.end:
                return self._copied_row(b, y, scratch) if self.copies else outside
            inside = sequence(self._row(b, y, columns, scratch))
            is_inner = within(y, rows, window.output[0])
            return tirx.IfThenElse(tirx.all(*is_inner), inside, outside) if is_inner else inside

        body = loop("b", batch, lambda b: loop("y", window.output[0], lambda y: row(b, y)))
        return sequence([*scratch.allocations, body])

    @property
    def is_followed(self) -> bool:
        """Whether the convolution is not all that is computed."""
        return self.addition is not None or self.function is not None

    @property
    def is_one_line(self) -> bool:
        """Whether all pixels are computed as they follow each other in memory."""
        return not self.is_followed and _is_one_line(self.window)

    def _scratch(self) -> _Scratch:
        window, channels = self.window, self.by.channels
        taps = self.by.rows.rows * self.by.rows.columns
        is_inner = all(inner_span(window, side) == Span(0, window.output[side]) for side in (0, 1))
        copies = 2 if self.copies else 0 if is_inner else 1
        least = 2 if 2 * channels <= MOST_ON_STACK else 1
        kept = max(least, _KEPT // channels) if self.is_followed else 0

        def buffer(name: str, elements: int) -> tirx.Var | None:
            scope = "local" if self.keeps_on_stack else "global"
            return tirx.decl_buffer((elements,), "int8", name, scope=scope) if elements else None

        return _Scratch(
            buffer("window", copies * taps),
            buffer("sums", kept * channels),
            kept,
            buffer("pair", 2 * channels if self.copies_pairs else 0),
        )

    def _copied_row(self, b: tirx.Expr, y: tirx.Expr, scratch: _Scratch) -> tirx.Stmt:
        pairs, rest = divmod(self.window.output[1], 2)
        statements = []
        if pairs:
            statements.append(
                loop(
                    "pair",
                    pairs,
                    lambda pair: sequence(self._pixels((b, y, pair * 2), 2, scratch, True)),
                )
            )
        if rest:
            last = tirx.IntImm("int32", pairs * 2)
            statements += self._pixels((b, y, last), 1, scratch, True)
        return sequence(statements)

    def _row(self, b: tirx.Expr, y: tirx.Expr, columns: Span, scratch: _Scratch) -> list[tirx.Stmt]:
        """The pixels of a row, from left to right."""

        def edge(first: int, end: int) -> list[tirx.Stmt]:
            if first == end:
                return []

            def pixel(x: tirx.Expr) -> tirx.Stmt:
                return sequence(self._pixels((b, y, x + first), 1, scratch, True))

            return [loop("x", end - first, pixel)]

        first = tirx.IntImm("int32", columns.first)
        return [
            *edge(0, columns.first),
            *self._pixels((b, y, first), columns.end - columns.first, scratch, False),
            *edge(columns.end, self.window.output[1]),
        ]

    def _pixels(
        self, first: Pixel, pixels: int, scratch: _Scratch, copies: bool
    ) -> list[tirx.Stmt]:
        """Some pixels of a row, or of several if all are one line."""
        if scratch.sums is None:
            return self._products(first, pixels, scratch, copies, None)
        at_once = min(pixels, scratch.pixels)
        b, y, x = first

        def part(begin: tirx.Expr, count: int) -> list[tirx.Stmt]:
            place = (b, y, x + begin)
            return [
                *self._products(place, count, scratch, copies, scratch.sums),
                self._followed(place, count, scratch.sums),
            ]

        whole, rest = divmod(pixels, at_once)
        return [
            loop("part", whole, lambda n: sequence(part(n * at_once, at_once))),
            *(part(tirx.IntImm("int32", whole * at_once), rest) if rest else []),
        ]

    def _products(
        self, first: Pixel, pixels: int, scratch: _Scratch, copies: bool, sums: tirx.Var | None
    ) -> list[tirx.Stmt]:
        window, data = self.window, self.operator.data
        channels, zero = int(data.shape[3]), tirx.IntImm("int32", 0)
        b, y, x = first
        output = self._output(first) if sums is None else Line(sums, (zero,), self.by.channels)
        taps = self.by.rows.rows * self.by.rows.columns
        if copies and scratch.copy is not None:
            padding = self.operator.zero_point
            windows = [
                copy_window(data, window, (b, y, x + p), padding, scratch.copy, p * taps)
                for p in range(pixels)
            ]
            by = replace(self.by, row_distance=self.by.rows.columns)
            return [*windows, *products(by, Line(scratch.copy, (zero,), taps), output, pixels)]
        row = y * window.strides[0] - window.padding[0]
        column = x * window.strides[1] - window.padding[1]
        line = Line(data, (b, row, column, zero), window.strides[1] * channels)
        return products(self.by, line, output, pixels, scratch.pair)

    def _output(self, first: Pixel) -> Line:
        indices = (*first, tirx.IntImm("int32", 0))
        return Line(self.operator.parts.output, indices, self.by.channels)

    def _followed(self, first: Pixel, pixels: int, sums: tirx.Var) -> tirx.Stmt:
        """What follows the convolution of some pixels."""
        kept = Line(sums, (tirx.IntImm("int32", 0),), self.by.channels)
        output, count = self._output(first), pixels * self.by.channels
        if self.addition is None:
            assert self.function is not None
            return self.function([kept], output, count)
        terms = []
        for term in (self.addition.first, self.addition.second):
            if isinstance(term.element, TensorLoad):
                indices = (*first, tirx.IntImm("int32", 0))
                terms.append(Line(term.element.source, indices, self.by.channels))
            else:
                terms.append(kept)
        return add_elements(self.addition, terms[0], terms[1], output, count)


@dataclass(frozen=True)
class _Scratch:
    """Buffers of a kernel: windows of up to two pixels, sums of some `pixels`, and two pixels of
    the output."""

    copy: tirx.Var | None
    sums: tirx.Var | None
    pixels: int
    pair: tirx.Var | None

    @property
    def _buffers(self) -> list[tirx.Var]:
        return [buffer for buffer in (self.copy, self.sums, self.pair) if buffer is not None]

    @property
    def allocations(self) -> list[tirx.Stmt]:
        return [tirx.AllocBuffer(buffer) for buffer in self._buffers]

    @property
    def size_bytes(self) -> int:
        """Of all buffers, whose elements are bytes."""
        return sum(int(buffer.shape[0]) for buffer in self._buffers)
