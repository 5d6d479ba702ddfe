"""Kernels of `fully_connected` operators, by tiles of output channels."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import PORTABLE, Core
from usmp.ops.dot_products import Run, dot_products
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import are_all
from usmp.ops.kernels.call.weighted import Ending, WeightedOperator
from usmp.ops.kernels.costs import costs_of
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, tile_counts, tile_text
from usmp.ops.records.products import FullyConnected

_CHANNELS = (6, 4, 2, 1)


def dense_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a product with a constant matrix; None for unsupported operators."""
    operator = call.weighted
    if operator is None or not is_plain(operator):
        return None
    ending = operator.ending_of(operator.values, folds=not core.has_dsp, together=core == PORTABLE)
    flat = tirx.decl_buffer((operator.values.size,), "int8", "weight")
    replaced = ending.replaced(flat, operator.values.ravel())
    tile = tile_text(operator.values.shape[0], _CHANNELS)
    schedule = Schedule(tile, _instructions(operator, core))
    tiled = TiledBody(_rows(operator, ending, flat), schedule)
    return kernel(call, [tiled], replaced)


def _instructions(operator: WeightedOperator, core: Core) -> int:
    """Estimate the instructions of the kernel."""
    rows, depth = (int(extent) for extent in operator.data.shape)
    outputs, costs = operator.values.shape[0], costs_of(core)
    sums = sum(
        count * (costs.pixel + costs.sums((1, size), 1, depth))
        for size, count in tile_counts(outputs, _CHANNELS)
    )
    return int(rows * (sums + outputs * costs.output))


def is_plain(operator: WeightedOperator) -> bool:
    """Return whether an operator is a `fully_connected` that reads a matrix at (row, depth)."""
    if not isinstance(operator.record, FullyConnected):
        return False
    row, _, k = operator.parts.axes
    load = operator.parts.load_of(operator.data)
    return load is not None and are_all(load.indices, (row, k))


def _rows(operator: WeightedOperator, ending: Ending, weight: tirx.Var) -> tirx.Stmt:
    rows, depth = (int(extent) for extent in operator.data.shape)
    outputs = operator.values.shape[0]
    accumulators = ending.accumulators

    def tile(row: tirx.Expr, c: tirx.Expr, channels: int) -> list[tirx.Stmt]:
        data = Run(operator.data, (row, tirx.IntImm("int32", 0)), 0)
        weights = Run(weight, (c * depth,), depth)

        def products(acc: tirx.Var) -> tirx.Stmt:
            return dot_products(data, weights, depth, accumulators.offset, acc, (1, channels))

        return accumulators.tile([(row,)], c, channels, products)

    return loop(
        "row",
        rows,
        lambda row: loop_by_tiles("c", outputs, _CHANNELS, lambda c, n: tile(row, c, n)),
    )
