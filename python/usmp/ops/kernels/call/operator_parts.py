"""A fused operator as a reduction and the epilogue of each accumulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, IRModule, TensorLoad
from tvm.s_tir.schedule import ScheduleError

from usmp.ops.quantized.rescaling.fixed_point import Rounding
from usmp.tir.intrinsics import RESCALE_CHANNEL
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import is_op

_RESCALES = (RESCALE_CHANNEL, Rounding.TWICE.value, Rounding.AS_FLOAT.value)


@dataclass(frozen=True)
class OperatorParts:
    """The reduction and the epilogue of a fused PrimFunc in blocks.

    Parameters
    ----------
    axes
        variables of the reduction's block: spatial axes, then reduction axes.
    reduction
        the operation that updates the accumulator: `tirx.Add` or `tirx.Max`.
    extents
        the number of values of each of `axes`.
    sum
        the value that each iteration adds to the accumulator, or compares with it.
    accumulator
        the buffer of the accumulators.
    indices
        variables of the last block: they index an output element and its accumulator.
    value
        the output element, an expression of its accumulator.
    output
        the parameter that holds the outputs.
    """

    axes: tuple[tirx.Var, ...]
    reduction: type[tirx.Add] | type[tirx.Max]
    extents: tuple[int, ...]
    sum: tirx.Expr
    accumulator: tirx.Var
    indices: tuple[tirx.Var, ...]
    value: tirx.Expr
    output: tirx.Var

    def element(self, accumulator: tirx.Expr, indices: Sequence[tirx.Expr]) -> tirx.Expr:
        """Return the output element at `indices`, computed from an accumulator."""

        def replace(load: TensorLoad) -> tirx.Expr:
            return accumulator if load.source.same_as(self.accumulator) else load

        value = tvm_ffi.structural_map(self.value, (TensorLoad, replace))
        return self.with_indices(value, indices)

    def with_indices(
        self,
        value: tirx.Expr,
        indices: Sequence[tirx.Expr],
        others: Mapping[tirx.Var, tirx.Expr] | None = None,
    ) -> tirx.Expr:
        """Replace `self.indices` by `indices` in `value`, and each key of `others` by its value."""
        known = dict(zip(self.indices, indices, strict=True))
        return substituted(value, known | dict(others or {}))

    @property
    def covers_output(self) -> bool:
        """Whether each output element has an accumulator. Elements without one lie at the ends of
        axes, for example in the padding of the output."""
        return self._computed == self._stored

    @property
    def covers_batches_and_channels(self) -> bool:
        """Whether each batch and channel of an NHWC output has accumulators in some row."""
        is_image = len(self._stored) == 4
        return is_image and self._computed[::3] == self._stored[::3]

    @property
    def _computed(self) -> tuple[int, ...]:
        return self.extents[: len(self.indices)]

    @property
    def _stored(self) -> tuple[int, ...]:
        return tuple(int(extent) for extent in self.output.shape)

    @property
    def rescale(self) -> Call | None:
        """The call that rescales the accumulator with its bias, if nothing else reads the
        accumulator. The result may be rescaled again."""
        calls = [
            call
            for call in nodes_of(self.value, Call)
            if is_op(call, "tirx.call_pure_extern")
            and call.args[0].value in _RESCALES
            and self._loads(call.args[1])
        ]
        inner = [call for call in calls if not _rescales(call.args[1])]
        return inner[0] if len(inner) == 1 and self._loads(self.value) == 1 else None

    def load_of(self, buffer: tirx.Var) -> TensorLoad | None:
        """Return the load of a buffer in the sum; None unless there is exactly one."""
        loads = [load for load in nodes_of(self.sum, TensorLoad) if load.source.same_as(buffer)]
        return loads[0] if len(loads) == 1 else None

    def _loads(self, expr: tirx.Expr) -> int:
        loads = nodes_of(expr, TensorLoad)
        return sum(load.source.same_as(self.accumulator) for load in loads)


def _rescales(expr: tirx.Expr) -> bool:
    return any(
        is_op(call, "tirx.call_pure_extern") and call.args[0].value in _RESCALES
        for call in nodes_of(expr, Call)
    )


def substituted(expr: tirx.Expr, known: Mapping[tirx.Var, tirx.Expr]) -> tirx.Expr:
    """Replace variables in `expr` by expressions, which are cast to the variables' dtypes."""

    def replace(var: tirx.Var) -> tirx.Expr:
        return known[var].astype(str(var.ty.dtype)) if var in known else var

    return tvm_ffi.structural_map(expr, (tirx.Var, replace))


def take_apart(func: tirx.PrimFunc) -> OperatorParts | None:
    """Return the parts of a PrimFunc; None unless it is a reduction with element-wise epilogue."""
    if not isinstance(func.body, s_tir.SBlockRealize):
        return None
    schedule = s_tir.Schedule(IRModule({"main": func}), error_render_level="none")
    root = schedule.get_sblock(func.body.block.name_hint)
    for block in schedule.get_child_blocks(root):
        if schedule.get(block).init is None:
            with suppress(ScheduleError):
                schedule.compute_inline(block)
    blocks = [schedule.get(block) for block in schedule.get_child_blocks(root)]
    if len(blocks) != 2 or blocks[0].init is None or blocks[1].init is not None:
        return None
    return _parts(blocks[0], blocks[1], list(func.params))


def _parts(
    reduction: s_tir.SBlock, last: s_tir.SBlock, params: list[tirx.Var]
) -> OperatorParts | None:
    update, store = reduction.body, last.body
    if not all(isinstance(stmt, tirx.BufferStore) for stmt in (update, store)):
        return None
    kept = [v for v in reduction.iter_vars if v.iter_type != tirx.IterVar.CommReduce]
    indices = [iter_var.var for iter_var in last.iter_vars]
    loads = [load for load in nodes_of(store.value, TensorLoad) if load.source == update.buffer]
    is_plain = (
        type(update.value) in (tirx.Add, tirx.Max)
        and isinstance(update.value.a, TensorLoad)
        and update.value.a.source.same_as(update.buffer)
        and are_all(update.indices, [iter_var.var for iter_var in kept])
        and all(are_all(load.indices, indices) for load in loads)
        and are_all(store.indices, indices)
        and reduction.iter_vars[: len(kept)] == kept
        and any(store.buffer.same_as(param) for param in params)
    )
    if not is_plain:
        return None
    axes = tuple(iter_var.var for iter_var in reduction.iter_vars)
    extents = tuple(int(iter_var.dom.extent) for iter_var in reduction.iter_vars)
    added = update.value.b
    return OperatorParts(
        axes,
        type(update.value),
        extents,
        added,
        update.buffer,
        tuple(indices),
        store.value,
        store.buffer,
    )


def are_all(indices: Sequence[tirx.Expr], variables: Sequence[tirx.Var]) -> bool:
    """Return whether each index is the variable at its position."""
    return len(indices) == len(variables) and all(
        index.same_as(variable) for index, variable in zip(indices, variables, strict=True)
    )
