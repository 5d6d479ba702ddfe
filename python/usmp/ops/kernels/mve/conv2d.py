"""Kernels of `conv2d` operators for cores with MVE.

Tiles have two pixels and four output channels, or four pixels if there are few output channels.
Windows that reach into the padding are copied first, as are large or dilated ones. An addition and
functions that follow the convolution are computed for some pixels at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.images.convolution_call import convolution_call
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.index_ranges import IndexRange, inner_range, within
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.loops.loops import loop, nested
from usmp.ops.kernels.loops.planes import copy_planes
from usmp.ops.kernels.mve.addition import addition_after
from usmp.ops.kernels.mve.costs import (
    products_instructions,
    quads_instructions,
    taps_instructions,
)
from usmp.ops.kernels.mve.ending import constant_parameters, vector_ending
from usmp.ops.kernels.mve.layouts import (
    copy_instructions,
    is_inner,
    layout_of,
    layout_of_planes,
)
from usmp.ops.kernels.mve.products import (
    Products,
    copy_elements,
    packed_records,
    packed_weight,
    products,
)
from usmp.ops.kernels.mve.taps import window_products
from usmp.ops.kernels.mve.windows import (
    FEWEST_OUTPUTS,
    MOST_ON_STACK,
    Pixel,
    copy_window,
    has_dilated_columns,
)
from usmp.ops.window import Window
from usmp.tir.nodes import sequence

_KEPT = 128
"""Most bytes of outputs that are buffered for the epilogue, though two pixels may take more."""


def mve_conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a convolution with a single group; None for unsupported operators."""
    conv_op = convolution_call(call, may_read_planes=True) if core.has_mve else None
    if conv_op is None or conv_op.groups.number != 1:
        return None
    operator, window, weight = conv_op.operator, conv_op.groups.window, conv_op.weight
    if has_dilated_columns(window) and weight.shape[0] < FEWEST_OUTPUTS:
        return None
    ending = vector_ending(operator, weight, core)
    functions = None if ending is None else ending.functions(core)
    after = functions if ending is None else functions or addition_after(operator, ending, core)
    if ending is None or not (ending.is_plain or after):
        return None
    outputs = weight.shape[0]
    buffered_bytes = 0 if ending.is_plain else _kept_pixels(outputs) * outputs
    if conv_op.reads_planes:
        layout = layout_of_planes(weight.shape[1], MOST_ON_STACK - buffered_bytes)
    else:
        layout = layout_of(window, int(operator.data.shape[3]), outputs, buffered_bytes)
    if layout is None:
        return None
    together = 1 if layout.in_quads else 4
    values = packed_weight(weight, layout.rows, together)
    records = packed_records(ending, together)
    parameters, replaced = constant_parameters(operator, values, records)
    by = Products(
        *parameters,
        layout.rows,
        layout.distance,
        outputs,
        ending.limits,
        ending.rounding,
        in_quads=layout.in_quads,
    )
    planes = conv_op.reads_planes
    plain = _Convolution(operator, window, by, layout.copies, after, planes)
    copies_pairs = plain.is_one_line and by.takes_pairs and not by.in_quads
    smallest = replace(plain, copies_pairs=True) if copies_pairs else plain.on_the_stack()
    if layout.has_whole_taps:
        smallest = plain.without_copies()
    if smallest is None and (functions is not None or has_dilated_columns(window)):
        return None
    variants = [plain, smallest] if smallest is not None else [plain]
    if by.in_quads and after is None and inner_range(window, 1).first > 0:
        variants.append(replace(variants[-1], keeps_left=True))
    has_rows = plain.is_one_line and window.output[0] > 1
    rows = replace(plain, by_rows=True).tiled() if has_rows else None
    return kernel(call, [variant.tiled() for variant in variants], replaced, rows)


def _kept_pixels(channels: int) -> int:
    """Return the number of pixels of the convolution that are buffered for its epilogue."""
    return max(2 if 2 * channels <= MOST_ON_STACK else 1, _KEPT // channels)


@dataclass(frozen=True)
class _Convolution:
    """A convolution with its epilogue `after`. Windows are copied `copies` at a time; with 0, only
    border windows are copied, one by one; with `reads_taps`, no window is. Outputs are buffered
    before they are stored: two pixels with `copies_pairs`, the first pixels of a row with
    `keeps_left`. Buffers are on the stack with `keeps_on_stack`. With `by_rows`, rows are computed
    one by one even if each window is a single pixel."""

    operator: WeightedOperator
    window: Window
    by: Products
    copies: int
    after: Compute | None
    reads_planes: bool
    copies_pairs: bool = False
    keeps_on_stack: bool = False
    reads_taps: bool = False
    keeps_left: bool = False
    by_rows: bool = False

    def on_the_stack(self) -> _Convolution | None:
        """Return a variant with scratch memory on the stack; None if it needs none or too much."""
        sizes = [replace(self, copies=copies) for copies in range(self.copies, 0, -1)] or [self]
        fitting = (size for size in sizes if 0 < size._scratch().size_bytes <= MOST_ON_STACK)
        largest = next(fitting, None)
        return None if largest is None else replace(largest, keeps_on_stack=True)

    def without_copies(self) -> _Convolution | None:
        """Return a variant with taps in place; None if scratch exceeds `MOST_ON_STACK` bytes."""
        variant = replace(self, copies=1, keeps_on_stack=True, reads_taps=True)
        return variant if variant._scratch().size_bytes <= MOST_ON_STACK else None

    def tiled(self) -> TiledBody:
        """Return the loops, with their estimated instructions."""
        pixels = self.window.output[0] * self.window.output[1]
        rows, channels = self.by.rows, self.by.channels
        if self.by.in_quads:
            tile, instructions = "4 pixels x 1 channel", quads_instructions(rows, channels, pixels)
        elif self.reads_taps:
            instructions = pixels * taps_instructions(rows, channels)
            tile = "1 pixel x 4 channels, vectors, windows in place"
            return TiledBody(self.loops(), Schedule(tile, instructions))
        else:
            at_once = self.copies or (self.window.output[1] if self.by_rows else pixels)
            instructions = -(-pixels // at_once) * (
                products_instructions(rows, channels, at_once, self.copies_pairs)
            )
            if self.copies:
                instructions += pixels * self._copy_instructions()
            is_pair = self.by.takes_pairs and self.copies != 1
            tile = "2 pixels x 4 channels" if is_pair else "1 pixel x 4 channels"
        after = ", copied" if self.copies_pairs else ""
        if self.keeps_on_stack:
            # Equally fast, but prefer pools: other buffers cannot share bytes of the stack.
            after, instructions = ", windows on the stack", instructions + 1
        if self.keeps_left:
            after, instructions = f"{after}, the left ones copied", instructions + pixels
        return TiledBody(self.loops(), Schedule(f"{tile}, vectors{after}", instructions))

    def loops(self) -> tirx.Stmt:
        batch = int(self.operator.data.shape[0])
        window = self.window
        rows, columns = inner_range(window, 0), inner_range(window, 1)
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

        def allocated_row(b: tirx.Expr, y: tirx.Expr) -> tirx.Stmt:
            # Allocate within the row, so that operators that run interleaved share the stack.
            return sequence([*(scratch.allocations if self.keeps_on_stack else ()), row(b, y)])

        body = nested(allocated_row, b=batch, y=window.output[0])
        return body if self.keeps_on_stack else sequence([*scratch.allocations, body])

    @property
    def is_followed(self) -> bool:
        """Whether the convolution has an epilogue."""
        return self.after is not None

    @property
    def is_one_line(self) -> bool:
        """Whether all pixels of an image are computed as one row, because they are consecutive."""
        several = self.is_followed or self.reads_planes or self.by_rows
        return not several and self.window.is_pointwise

    def _copy_instructions(self) -> int:
        if self.reads_planes:
            return 4 * self.by.rows.rows * self.by.rows.columns
        return copy_instructions(self.window, int(self.operator.data.shape[3]))

    def _scratch(self) -> _Scratch:
        window, channels = self.window, self.by.channels
        taps = self.by.rows.rows * self.by.rows.columns
        copies = 0 if self.reads_taps else self.copies or (0 if is_inner(window) else 1)
        buffered = _kept_pixels(channels) if self.is_followed else 0
        if self.by.in_quads:
            buffered -= buffered % 4

        def buffer(name: str, elements: int) -> tirx.Var | None:
            scope = "local" if self.keeps_on_stack else "global"
            return tirx.decl_buffer((elements,), "int8", name, scope=scope) if elements else None

        return _Scratch(
            buffer("window", copies * taps),
            buffer("sums", buffered * channels),
            buffered,
            buffer("pair", 2 * channels if self.copies_pairs else 0),
        )

    def _copied_row(self, b: tirx.Expr, y: tirx.Expr, scratch: _Scratch) -> tirx.Stmt:
        """Return statements that compute a row, `copies` pixels at a time."""
        whole, rest = divmod(self.window.output[1], self.copies)

        def part(number: tirx.Expr) -> tirx.Stmt:
            place = (b, y, number * self.copies)
            return sequence(self._pixels(place, self.copies, scratch, True))

        statements = [loop("part", whole, part)] if whole else []
        if rest:
            last = tirx.IntImm("int32", whole * self.copies)
            statements += self._pixels((b, y, last), rest, scratch, True)
        return sequence(statements)

    def _row(
        self, b: tirx.Expr, y: tirx.Expr, columns: IndexRange, scratch: _Scratch
    ) -> list[tirx.Stmt]:
        """Return statements that compute a row from left to right; border windows are copied."""

        def edge(first: int, end: int) -> list[tirx.Stmt]:
            if first == end:
                return []

            def pixel(x: tirx.Expr) -> tirx.Stmt:
                return sequence(self._pixels((b, y, x + first), 1, scratch, True))

            return [loop("x", end - first, pixel)]

        begin = columns.first + 1 if self.keeps_left else columns.first
        left = self._kept(b, y, begin, scratch) if self.keeps_left else edge(0, begin)
        first, inner = tirx.IntImm("int32", begin), columns.end - begin
        return [
            *left,
            *(self._pixels((b, y, first), inner, scratch, False) if inner else []),
            *edge(columns.end, self.window.output[1]),
        ]

    def _kept(self, b: tirx.Expr, y: tirx.Expr, pixels: int, scratch: _Scratch) -> list[tirx.Stmt]:
        """Return statements that compute the first pixels of a row: those at the left border, and
        one more. All are computed before one is stored, because their windows overlap."""
        channels, zero = self.by.channels, tirx.IntImm("int32", 0)
        left = tirx.decl_buffer((pixels * channels,), "int8", "left", scope="local")
        buffered = Line(left, (zero,), channels)

        def edge(x: tirx.Expr) -> tirx.Stmt:
            return sequence(self._products((b, y, x), 1, scratch, True, buffered.moved(x)))

        last = tirx.IntImm("int32", pixels - 1)
        return [
            tirx.AllocBuffer(left),
            loop("x", pixels - 1, edge),
            *self._products((b, y, last), 1, scratch, False, buffered.moved(pixels - 1)),
            copy_elements(buffered, self._output((b, y, zero)), pixels * channels),
        ]

    def _pixels(
        self, first: Pixel, pixels: int, scratch: _Scratch, copies: bool
    ) -> list[tirx.Stmt]:
        """Return statements that compute pixels of a row (or of an image as one) with epilogue."""
        sums, after = scratch.sums, self.after
        if sums is None or after is None:
            return self._products(first, pixels, scratch, copies, self._output(first))
        at_once = min(pixels, scratch.pixels)
        b, y, x = first

        def part(begin: tirx.Expr, count: int) -> list[tirx.Stmt]:
            place = (b, y, x + begin)
            buffered = Line(sums, (tirx.IntImm("int32", 0),), self.by.channels)
            return [
                *self._products(place, count, scratch, copies, buffered),
                after([buffered], self._output(place), count * self.by.channels),
            ]

        whole, rest = divmod(pixels, at_once)
        return [
            loop("part", whole, lambda n: sequence(part(n * at_once, at_once))),
            *(part(tirx.IntImm("int32", whole * at_once), rest) if rest else []),
        ]

    def _products(
        self, first: Pixel, pixels: int, scratch: _Scratch, copies: bool, output: Line
    ) -> list[tirx.Stmt]:
        window, data = self.window, self.operator.data
        channels, zero = int(data.shape[3]), tirx.IntImm("int32", 0)
        b, y, x = first
        taps = self.by.rows.rows * self.by.rows.columns
        padding = self.operator.zero_point
        if self.reads_taps:
            return [window_products(self.by, data, window, first, padding, output)]
        if copies and scratch.copy is not None:
            copy = copy_planes if self.reads_planes else copy_window
            windows = [
                copy(data, window, (b, y, x + p), padding, scratch.copy, p * taps)
                for p in range(pixels)
            ]
            by = replace(self.by, row_distance=self.by.rows.columns)
            return [*windows, *products(by, Line(scratch.copy, (zero,), taps), output, pixels)]
        line = Line(data, (b, *window.origin(y, x), zero), window.strides[1] * channels)
        return products(self.by, line, output, pixels, scratch.pair)

    def _output(self, first: Pixel) -> Line:
        indices = (*first, tirx.IntImm("int32", 0))
        return Line(self.operator.parts.output, indices, self.by.channels)


@dataclass(frozen=True)
class _Scratch:
    """Buffers of a kernel: copied windows, `pixels` pixels for an epilogue, two output pixels."""

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
        """The bytes of all buffers."""
        return sum(int(buffer.shape[0]) for buffer in self._buffers)
