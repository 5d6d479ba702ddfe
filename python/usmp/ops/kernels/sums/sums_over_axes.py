"""Kernels of sums and means over consecutive axes, such as height and width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, tile_text
from usmp.ops.kernels.sums.reduction_rows import rows_of_reduction
from usmp.ops.kernels.sums.reductions import CHANNELS, beginnings, reduced, reduced_element
from usmp.ops.records.reductions import SumOp
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class SumsOverAxes:
    """Sums of int8 over consecutive axes, none of which is the last one.

    Parameters
    ----------
    outer, count, inner
        numbers of elements: over the axes before the summed axes, over these, over the axes after.
    """

    parts: OperatorParts
    data: tirx.Var
    outer: int
    count: int
    inner: int

    def element(self, b: tirx.Expr, k: tirx.Expr, c: tirx.Expr) -> tirx.Expr:
        """Return the k-th element of the data in the sum with outer index `b` and inner `c`."""
        element: tirx.Expr = self.data[_flat(self.data, (b * self.count + k) * self.inner + c)]
        return element

    def output(self, b: tirx.Expr, c: tirx.Expr) -> tuple[tirx.Expr, ...]:
        """Return the indices of a sum in the output."""
        return tuple(_flat(self.parts.output, b * self.inner + c))


def sums_over_axes_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of sums or means over consecutive axes; None for unsupported operators."""
    sums = sums_over_axes_of(call)
    if sums is None:
        return None
    body = loop("b", sums.outer, lambda b: _channels(sums, b))
    tiled = TiledBody(body, Schedule(tile_text(sums.inner, (CHANNELS, 1))))
    return kernel(call, [tiled], {}, rows_of_reduction(call, core))


def sums_over_axes_of(call: OperatorCall) -> SumsOverAxes | None:
    """Return the sums or means that an operator computes; None for unsupported operators."""
    record = call.records[0] if len(call.records) == 1 else None
    if not isinstance(record, SumOp):
        return None
    parts = call.parts
    data = None if parts is None else _summed(parts)
    if parts is None or data is None:
        return None
    extents = [int(extent) for extent in data.shape]
    axes = sorted(set(record.axes))
    first, end = axes[0], axes[-1] + 1
    if axes != list(range(first, end)) or end == len(extents):
        return None
    if not _reads_in_order(parts, data, axes):
        return None
    counts = prod(extents[:first]), prod(extents[first:end]), prod(extents[end:])
    return SumsOverAxes(parts, data, *counts)


def _summed(parts: OperatorParts) -> tirx.Var | None:
    """Return the data; None unless int8 elements are summed in 32 bits and nothing else is read."""
    element = reduced_element(parts)
    loads = nodes_of(parts.value, TensorLoad)
    if element is None or parts.reduction is not tirx.Add:
        return None
    is_alone = all(load.source.same_as(parts.accumulator) for load in loads)
    return element.source if is_alone else None


def _reads_in_order(parts: OperatorParts, data: tirx.Var, axes: Sequence[int]) -> bool:
    """Return whether the data is read at the output's axes in order, with the summed `axes` between
    them."""
    output_axes, summed = parts.axes[: len(parts.indices)], parts.axes[len(parts.indices) :]
    (load,) = nodes_of(parts.sum, TensorLoad)
    if (len(output_axes) + len(axes), len(summed)) != (len(load.indices), len(axes)):
        return False
    expected = list(output_axes)
    expected[axes[0] : axes[0]] = summed
    extents = dict(zip(parts.axes, parts.extents, strict=True))
    return all(
        extents[axis] == int(extent) and (int(extent) == 1 or index.same_as(axis))
        for index, axis, extent in zip(load.indices, expected, data.shape, strict=True)
    )


def _channels(sums: SumsOverAxes, b: tirx.Expr) -> tirx.Stmt:
    """Return loops that compute all sums with the outer index `b`."""
    parts, inner = sums.parts, sums.inner

    def tile(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        acc = tirx.decl_buffer((number,), "int32", "acc", scope="local")

        def store(n: int) -> tirx.Stmt:
            indices = sums.output(b, c + n)
            return tirx.BufferStore(parts.output, parts.element(acc[n], indices), list(indices))

        return [
            tirx.AllocBuffer(acc),
            *beginnings(parts.reduction, acc),
            reduced(
                parts.reduction, lambda k, n: sums.element(b, k, c + n), inner, sums.count, acc
            ),
            *(store(n) for n in range(number)),
        ]

    return loop_by_tiles("c", inner, (CHANNELS, 1), tile)


def _flat(buffer: tirx.Var, index: tirx.Expr) -> list[tirx.Expr]:
    """Return indices of the element at an offset; the last index is the whole offset."""
    return [*(tirx.IntImm("int32", 0) for _ in buffer.shape[1:]), index]
