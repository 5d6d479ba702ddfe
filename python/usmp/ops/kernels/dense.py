"""The kernels of `fully_connected` operators: rows of the weight, several at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.costs import costs_of
from usmp.ops.kernels.dot_products import Run, dot_products
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops import loop, loop_by_tiles, tile_counts, tile_text
from usmp.ops.kernels.weighted import Ending, WeightedOperator, weighted_operator
from usmp.tir.nodes import nodes_of

_CHANNELS = (6, 4, 2, 1)


def dense_kernel(
    func: tirx.PrimFunc, constants: Sequence[np.ndarray | None], core: Core
) -> Kernel | None:
    """A product with a constant matrix, of one row and six output channels at a time."""
    operator = weighted_operator(func, constants)
    if operator is None or operator.record.kind != "fully_connected" or not is_plain(operator):
        return None
    ending = operator.ending_of(operator.values, folds=not core.has_dsp)
    flat = tirx.decl_buffer((operator.values.size,), "int8", "weight")
    replaced = ending.replaced(flat, operator.values.ravel())
    tile = tile_text(operator.values.shape[0], _CHANNELS)
    schedule = Schedule(tile, _instructions(operator, core))
    tiled = TiledBody(_rows(operator, ending, flat), schedule)
    return kernel(func, [tiled], replaced, len(constants))


def _instructions(operator: WeightedOperator, core: Core) -> int:
    """About how many instructions it takes."""
    rows, depth = (int(extent) for extent in operator.data.shape)
    outputs, costs = operator.values.shape[0], costs_of(core)
    sums = sum(
        count * (costs.pixel + costs.sums((1, size), 1, depth))
        for size, count in tile_counts(outputs, _CHANNELS)
    )
    return int(rows * (sums + outputs * costs.output))


def is_plain(operator: WeightedOperator) -> bool:
    """Whether the data is read as the record says."""
    row, _, k = operator.parts.axes
    loads = [
        load
        for load in nodes_of(operator.parts.sum, TensorLoad)
        if load.source.same_as(operator.data)
    ]
    return (
        len(loads) == 1
        and len(loads[0].indices) == 2
        and all(index.same_as(axis) for index, axis in zip(loads[0].indices, (row, k), strict=True))
    )


def _rows(operator: WeightedOperator, ending: Ending, weight: tirx.Var) -> tirx.Stmt:
    rows, depth = (int(extent) for extent in operator.data.shape)
    outputs = operator.values.shape[0]
    offset = 0 if ending.is_folded else -operator.zero_point

    def tile(row: tirx.Expr, c: tirx.Expr, channels: int) -> list[tirx.Stmt]:
        acc = tirx.decl_buffer((channels,), "int32", "acc", scope="local")
        data = Run(operator.data, (row, tirx.IntImm("int32", 0)), 0)
        weights = Run(weight, (c * depth,), depth)
        return [
            tirx.AllocBuffer(acc),
            *(tirx.BufferStore(acc, ending.first(c + n), [n]) for n in range(channels)),
            dot_products(data, weights, depth, offset, acc, (1, channels)),
            *(ending.store(acc[n], (row, c + n)) for n in range(channels)),
        ]

    return loop(
        "row",
        rows,
        lambda row: loop_by_tiles("c", outputs, _CHANNELS, lambda c, n: tile(row, c, n)),
    )
