"""The kernel of convolutions in groups for cores with MVE: also of depthwise ones whose channels
make several each.

Each group is a convolution of its own: of as many pixels of a row at a time as fit the stack. The
rows that their windows cover are copied to it, padding included. So are the outputs of all groups
before they are stored: they may lie over the data up to the very pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from tvm import tirx

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.convolution_call import Groups, convolution_call
from usmp.ops.kernels.element_runs import Compute
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.line import Line
from usmp.ops.kernels.loops import counted, loop
from usmp.ops.kernels.mve.costs import products_instructions, window_instructions
from usmp.ops.kernels.mve.ending import VectorEnding, constant_parameters, plain_or_function
from usmp.ops.kernels.mve.products import (
    FARTHEST,
    MOST_COLUMNS,
    Products,
    Rows,
    copy_elements,
    packed_records,
    packed_weight,
    products,
    split_run,
)
from usmp.ops.kernels.mve.windows import MOST_ON_STACK, Channels, copy_window
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.ops.kernels.weighted import WeightedOperator
from usmp.ops.quantized.fixed_point import int32
from usmp.ops.quantized.window import Window
from usmp.tir.nodes import sequence

Pixel = tuple[tirx.Expr, tirx.Expr, tirx.Expr]


def mve_grouped_conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """A convolution of NHWC data in groups."""
    found = convolution_call(call) if core.has_mve else None
    if found is None or found.groups.number == 1 or found.groups.are_single_channels:
        return None
    operator, weight, groups = found.operator, found.weight, found.groups
    if groups.window.dilations[1] != 1:
        return None
    found_ending = plain_or_function(operator, weight)
    rows, pixels = _rows(groups), _most_pixels(groups)
    if found_ending is None or rows is None or not pixels or weight.shape[0] + 3 > FARTHEST:
        return None
    ending, function = found_ending
    values, records = _packed(groups, weight, rows, ending)
    parameters, replaced = constant_parameters(operator, values, records)
    by = Products(*parameters, rows, rows.columns, groups.outputs, ending.limits)
    conv = _GroupedConvolution(operator, groups, by, pixels, function)
    return kernel(call, [conv.tiled()], replaced)


def _is_copied(groups: Groups) -> bool:
    """Whether windows are copied: all but those of one pixel."""
    return groups.window.kernel != (1, 1) or groups.window.padding != (0, 0)


def _rows(groups: Groups) -> Rows | None:
    """The rows of taps of an output channel."""
    height, width = groups.window.kernel
    rows = Rows(height, width * groups.depth)
    return rows if rows.columns <= MOST_COLUMNS else split_run(rows.rows * rows.columns)


def _columns(window: Window, pixels: int) -> int:
    """Columns that the windows of neighbors cover."""
    return (pixels - 1) * window.strides[1] + window.kernel[1]


def _most_pixels(groups: Groups) -> int:
    """Of a row, at once; 0 if not even one fits the stack."""
    window = groups.window
    # Rows of taps that were split follow each other in the window of one pixel only.
    is_split = _is_copied(groups) and window.kernel[1] * groups.depth > MOST_COLUMNS
    counts = range(1, (1 if is_split else window.output[1]) + 1)
    return max((n for n in counts if _bytes_on_stack(groups, n) <= MOST_ON_STACK), default=0)


def _bytes_on_stack(groups: Groups, pixels: int) -> int:
    """Of the outputs of some pixels, and of what the windows of a group cover."""
    window = groups.window
    covered = window.kernel[0] * _columns(window, pixels) if _is_copied(groups) else 0
    return pixels * groups.number * groups.outputs + covered * groups.depth


def _packed(
    groups: Groups, weight: np.ndarray, rows: Rows, ending: VectorEnding
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and records, of each group four channels at a time."""
    parts = [slice(g * groups.outputs, (g + 1) * groups.outputs) for g in range(groups.number)]
    endings = [
        replace(ending, multiplier=ending.multiplier[part], packed=ending.packed[part])
        for part in parts
    ]
    return (
        np.concatenate([packed_weight(weight[part], rows) for part in parts]),
        np.concatenate([packed_records(each) for each in endings]),
    )


@dataclass(frozen=True)
class _GroupedConvolution:
    """A convolution in groups, so many `pixels` of a row at a time, and the function after it."""

    operator: WeightedOperator
    groups: Groups
    by: Products
    pixels: int
    function: Compute | None

    def tiled(self) -> TiledBody:
        """The loops, and what they take."""
        groups, window = self.groups, self.groups.window
        at_once = products_instructions(self.by.rows, groups.outputs, self.pixels, False)
        if _is_copied(groups):
            columns = _columns(window, self.pixels)
            at_once += window_instructions(window.kernel[0], columns, groups.depth)
        parts = -(-window.output[1] // self.pixels) * window.output[0]
        pixels = 2 if self.by.takes_pairs and self.pixels > 1 else 1
        text = f"{counted(pixels, 'pixel')} x 4 channels, vectors, {groups.number} groups"
        instructions = int(self.operator.data.shape[0]) * parts * groups.number * at_once
        return TiledBody(self._loops(), Schedule(text, instructions))

    def _loops(self) -> tirx.Stmt:
        height, width = self.groups.window.output
        whole, rest = divmod(width, self.pixels)
        channels = self.groups.number * self.groups.outputs
        sums = tirx.decl_buffer((self.pixels * channels,), "int8", "sums", scope="local")

        def row(b: tirx.Expr, y: tirx.Expr) -> tirx.Stmt:
            def part(n: tirx.Expr) -> tirx.Stmt:
                return self._part((b, y, n * self.pixels), self.pixels, sums)

            parts = [loop("part", whole, part)]
            if rest:
                parts.append(self._part((b, y, int32(whole * self.pixels)), rest, sums))
            return sequence(parts)

        batch = int(self.operator.data.shape[0])
        body = loop("b", batch, lambda b: loop("y", height, lambda y: row(b, y)))
        return sequence([tirx.AllocBuffer(sums), body])

    def _part(self, first: Pixel, pixels: int, sums: tirx.Var) -> tirx.Stmt:
        """All channels of some pixels of a row."""
        channels = self.groups.number * self.groups.outputs

        def group(number: tirx.Expr) -> tirx.Stmt:
            kept = Line(sums, (number * self.groups.outputs,), channels)
            return sequence(self._group(first, pixels, number, kept))

        kept = Line(sums, (int32(0),), channels)
        output = Line(self.operator.parts.output, (*first, int32(0)), channels)
        count = pixels * channels
        if self.function is None:
            stored = copy_elements(kept, output, count)
        else:
            stored = self.function([kept], output, count)
        return sequence([loop("group", self.groups.number, group), stored])

    def _group(self, first: Pixel, pixels: int, number: tirx.Expr, output: Line) -> list[tirx.Stmt]:
        """The channels of a group."""
        groups, window, data = self.groups, self.groups.window, self.operator.data
        (b, y, x), (stride_y, stride_x) = first, window.strides
        channels = Channels(number * groups.depth, groups.depth)
        by = replace(self.by, first=number * -(-groups.outputs // 4))
        if not _is_copied(groups):
            indices = (b, y * stride_y, x * stride_x, channels.first)
            return products(by, Line(data, indices, stride_x * int(data.shape[3])), output, pixels)
        columns = _columns(window, pixels)
        size = window.kernel[0] * columns * groups.depth
        copy = tirx.decl_buffer((size,), "int8", "window", scope="local")
        covered = replace(window, kernel=(window.kernel[0], columns))
        if pixels > 1:
            by = replace(by, row_distance=columns * groups.depth)
        line = Line(copy, (int32(0),), stride_x * groups.depth)
        return [
            tirx.AllocBuffer(copy),
            copy_window(data, covered, first, self.operator.zero_point, copy, 0, channels),
            *products(by, line, output, pixels),
        ]
