"""The kernel of grouped convolutions for cores with MVE, also of depthwise ones with several output
channels a data channel.

Each group is a convolution of as many pixels of a row at a time as fit the stack. The rows that the
windows of these pixels cover are copied to the stack, with padding; with dilated columns, each
window is copied by itself. The outputs of all groups are also buffered on the stack before they are
stored, so that they may overwrite data up to these pixels. If not even one pixel fits, windows stay
in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.images.convolution_call import Groups, convolution_call
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.loops.loops import counted, loop, nested
from usmp.ops.kernels.mve.costs import (
    products_instructions,
    quads_instructions,
    taps_instructions,
    window_instructions,
)
from usmp.ops.kernels.mve.ending import VectorEnding, constant_parameters, plain_or_functions
from usmp.ops.kernels.mve.products import (
    FARTHEST,
    MOST_COLUMNS,
    MOST_IN_QUADS,
    Products,
    Rows,
    copy_elements,
    packed_records,
    packed_weight,
    products,
    split_run,
)
from usmp.ops.kernels.mve.taps import rows_of_taps, window_products
from usmp.ops.kernels.mve.windows import (
    FEWEST_OUTPUTS,
    MOST_ON_STACK,
    Channels,
    Pixel,
    copy_window,
    has_dilated_columns,
)
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.window import Window
from usmp.tir.nodes import sequence


def mve_grouped_conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a grouped convolution of NHWC data; None for unsupported operators."""
    conv_op = convolution_call(call) if core.has_mve else None
    if conv_op is None or conv_op.groups.number == 1 or conv_op.groups.are_single_channels:
        return None
    operator, weight, groups = conv_op.operator, conv_op.weight, conv_op.groups
    epilogue = plain_or_functions(operator, weight, core)
    pixels = _most_pixels(groups)
    is_tap_by_tap = not pixels or has_dilated_columns(groups.window)
    if is_tap_by_tap and groups.outputs < FEWEST_OUTPUTS:
        return None
    rows = _rows(groups) if pixels else rows_of_taps(groups.window, groups.depth)
    if epilogue is None or rows is None or weight.shape[0] + 3 > FARTHEST:
        return None
    ending, function = epilogue
    if not pixels and function is not None and weight.shape[0] > MOST_ON_STACK:
        return None
    in_quads = _is_faster_in_quads(groups, rows, pixels)
    values, records = _packed(groups, weight, rows, ending, 1 if in_quads else 4)
    parameters, replaced = constant_parameters(operator, values, records)
    by = Products(
        *parameters,
        rows,
        rows.columns,
        groups.outputs,
        ending.limits,
        ending.rounding,
        in_quads=in_quads,
    )
    conv = _GroupedConvolution(operator, groups, by, pixels, function)
    return kernel(call, [conv.tiled()], replaced)


def _is_copied(groups: Groups) -> bool:
    """Return whether windows are copied: if they have several taps or padding."""
    return groups.window.kernel != (1, 1) or groups.window.padding != (0, 0)


def _rows(groups: Groups) -> Rows | None:
    """Return the rows of taps of an output channel; None if functions cannot address them."""
    height, width = groups.window.kernel
    rows = Rows(height, width * groups.depth)
    is_joined = rows.columns > MOST_COLUMNS or has_dilated_columns(groups.window)
    return split_run(rows.rows * rows.columns) if is_joined else rows


def _columns(window: Window, pixels: int) -> int:
    """Return the number of data columns that the windows of neighboring pixels cover."""
    return (pixels - 1) * window.strides[1] + window.kernel[1]


def _most_pixels(groups: Groups) -> int:
    """Return the most pixels of a row that fit the stack at once; 0 if not even one does."""
    window = groups.window
    # Rows of taps that were split are contiguous in a copy of a single window only.
    is_split = _is_copied(groups) and window.kernel[1] * groups.depth > MOST_COLUMNS
    counts = range(1, (1 if is_split else window.output[1]) + 1)
    return max((n for n in counts if _bytes_on_stack(groups, n) <= MOST_ON_STACK), default=0)


def _bytes_on_stack(groups: Groups, pixels: int) -> int:
    """Return the bytes on the stack: outputs of some pixels, and copied data of one group."""
    return pixels * groups.number * groups.outputs + _copied_bytes(groups, pixels)


def _copied_bytes(groups: Groups, pixels: int) -> int:
    """Return the bytes of the copied data of a group: what the windows of some pixels cover."""
    (height, width), columns = groups.window.kernel, _columns(groups.window, pixels)
    if has_dilated_columns(groups.window):
        columns = pixels * width
    return height * columns * groups.depth if _is_copied(groups) else 0


def _is_faster_in_quads(groups: Groups, rows: Rows, pixels: int) -> bool:
    """Return whether tiles of four pixels take fewer instructions than tiles of four channels."""
    if groups.outputs > MOST_IN_QUADS or not pixels:
        return False
    by_channels = products_instructions(rows, groups.outputs, pixels, False)
    return quads_instructions(rows, groups.outputs, pixels) < by_channels


def _packed(
    groups: Groups, weight: np.ndarray, rows: Rows, ending: VectorEnding, together: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and records, packed for each group by itself."""
    parts = [slice(g * groups.outputs, (g + 1) * groups.outputs) for g in range(groups.number)]
    endings = [
        replace(ending, multiplier=ending.multiplier[part], packed=ending.packed[part])
        for part in parts
    ]
    outputs, taps = -(-groups.outputs // together) * together, weight.shape[1]
    padded = np.zeros((groups.number, outputs, taps), np.int8)
    padded[:, : groups.outputs] = weight.reshape(groups.number, groups.outputs, taps)
    return (
        packed_weight(padded.reshape(-1, taps), rows, together),
        np.concatenate([packed_records(group, together) for group in endings]),
    )


@dataclass(frozen=True)
class _GroupedConvolution:
    """A grouped convolution of `pixels` pixels of a row at a time, and the function after it. If
    `pixels` is 0, pixels are computed one by one with their windows in place."""

    operator: WeightedOperator
    groups: Groups
    by: Products
    pixels: int
    function: Compute | None

    def tiled(self) -> TiledBody:
        """Return the loops, with their estimated instructions."""
        groups, window = self.groups, self.groups.window
        if not self.pixels:
            tile, at_once = "1 pixel x 4 channels", taps_instructions(self.by.rows, groups.outputs)
        elif self.by.in_quads:
            tile = "4 pixels x 1 channel"
            at_once = quads_instructions(self.by.rows, groups.outputs, self.pixels)
        else:
            pixels = 2 if self.by.takes_pairs and self.pixels > 1 else 1
            tile = f"{counted(pixels, 'pixel')} x 4 channels"
            at_once = products_instructions(self.by.rows, groups.outputs, self.pixels, False)
        at_once += self._copy_instructions() if self.pixels else 0
        parts = -(-window.output[1] // max(self.pixels, 1)) * window.output[0]
        text = f"{tile}, vectors, {groups.number} groups"
        text += "" if self.pixels else ", windows in place"
        instructions = int(self.operator.data.shape[0]) * parts * groups.number * at_once
        return TiledBody(self._loops(), Schedule(text, instructions))

    def _copy_instructions(self) -> int:
        """Return the instructions that copy the data of a group."""
        window, depth = self.groups.window, self.groups.depth
        (height, width), columns = window.kernel, _columns(window, self.pixels)
        if not _is_copied(self.groups):
            return 0
        if has_dilated_columns(window):
            return self.pixels * window_instructions(height, width, depth)
        return window_instructions(height, columns, depth)

    def _loops(self) -> tirx.Stmt:
        height, width = self.groups.window.output
        at_once = max(self.pixels, 1)
        whole, rest = divmod(width, at_once)
        channels = self.groups.number * self.groups.outputs
        sums = tirx.decl_buffer((at_once * channels,), "int8", "sums", scope="local")
        buffered = sums if self.pixels or self.function is not None else None

        def row(b: tirx.Expr, y: tirx.Expr) -> tirx.Stmt:
            def part(n: tirx.Expr) -> tirx.Stmt:
                return self._part((b, y, n * at_once), at_once, buffered)

            parts = [loop("part", whole, part)]
            if rest:
                parts.append(self._part((b, y, int32(whole * at_once)), rest, buffered))
            return sequence([*([] if buffered is None else [tirx.AllocBuffer(buffered)]), *parts])

        return nested(row, b=int(self.operator.data.shape[0]), y=height)

    def _part(self, first: Pixel, pixels: int, sums: tirx.Var | None) -> tirx.Stmt:
        """Return the statement that computes all channels of `pixels` pixels of a row."""
        channels = self.groups.number * self.groups.outputs
        output = Line(self.operator.parts.output, (*first, int32(0)), channels)
        buffered = output if sums is None else Line(sums, (int32(0),), channels)

        def group(number: tirx.Expr) -> tirx.Stmt:
            outputs = buffered.from_element(number * self.groups.outputs)
            return sequence(self._group(first, pixels, number, outputs))

        if sums is None:
            return loop("group", self.groups.number, group)
        count = pixels * channels
        if self.function is None:
            stored = copy_elements(buffered, output, count)
        else:
            stored = self.function([buffered], output, count)
        return sequence([loop("group", self.groups.number, group), stored])

    def _group(self, first: Pixel, pixels: int, number: tirx.Expr, output: Line) -> list[tirx.Stmt]:
        """Return statements that compute the channels of a group for `pixels` pixels of a row."""
        groups, window, data = self.groups, self.groups.window, self.operator.data
        (b, y, x), (stride_y, stride_x) = first, window.strides
        channels = Channels(number * groups.depth, groups.depth)
        times = 1 if self.by.in_quads else -(-groups.outputs // 4)
        by = replace(self.by, first=number * times)
        padding = self.operator.zero_point
        if not self.pixels:
            return [window_products(by, data, window, first, padding, output, channels)]
        if not _is_copied(groups):
            indices = (b, y * stride_y, x * stride_x, channels.first)
            return products(by, Line(data, indices, stride_x * int(data.shape[3])), output, pixels)
        size = _copied_bytes(groups, pixels)
        copy = tirx.decl_buffer((size,), "int8", "window", scope="local")
        if has_dilated_columns(window):
            taps = size // pixels

            def copied(p: tirx.Expr) -> tirx.Stmt:
                return copy_window(data, window, (b, y, x + p), padding, copy, p * taps, channels)

            windows, distance = loop("pixel", pixels, copied), taps
        else:
            columns = _columns(window, pixels)
            covered = replace(
                window,
                kernel=(window.kernel[0], columns),
                dilations=(window.dilations[0], 1),
            )
            windows = copy_window(data, covered, first, padding, copy, 0, channels)
            distance = stride_x * groups.depth
            if pixels > 1:
                by = replace(by, row_distance=columns * groups.depth)
        line = Line(copy, (int32(0),), distance)
        return [tirx.AllocBuffer(copy), windows, *products(by, line, output, pixels)]
