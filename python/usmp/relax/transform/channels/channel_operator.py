"""Relations between the channels of an operator's operands and those of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst

from usmp.ops.emit import add_prim_func, constant, shape_of, without_record
from usmp.ops.form import Form, Taken, form_of, taken
from usmp.ops.records import QuantizedOp
from usmp.ops.records.products import WeightedOp
from usmp.relax.static_shapes import has_static_shape
from usmp.relax.transform.channels.channel_ranges import ChannelRanges, all_of_type

Known: TypeAlias = "Mapping[tvm.ir.Var, ChannelRanges]"
"""Variable -> value ranges of its channels, for tensors with known channels."""


@dataclass(frozen=True, eq=False)
class Tied:
    """Pairs of operand and output channels that stay or go together.

    Parameters
    ----------
    operand, output
        channels of the pairs: (pairs) of int64.
    """

    operand: np.ndarray
    output: np.ndarray


@dataclass(frozen=True, eq=False)
class Read:
    """Output channels that are sums over channels of an operand.

    Parameters
    ----------
    needs
        whether an output channel needs an operand channel: (output channels, operand channels) of
        bool. A channel that is not needed is not read, or is constant and folded into a bias.
    """

    needs: np.ndarray


Relation: TypeAlias = "Tied | Read | None"
"""None: the operator needs all channels of the operand."""


@dataclass(frozen=True, eq=False)
class Kept:
    """The channels that stay, in ascending order.

    Parameters
    ----------
    operands
        for each operand: (channels) of int64; None if all stay.
    output
        for the output: (channels) of int64.
    """

    operands: tuple[np.ndarray | None, ...]
    output: np.ndarray

    def of(self, operand: int, count: int) -> np.ndarray:
        """Return the kept channels of an operand, which has `count` in all: (channels) of int64."""
        chosen = self.operands[operand]
        return np.arange(count) if chosen is None else chosen


Rebuild: TypeAlias = Callable[[relax.BlockBuilder, Sequence[relax.Expr], Kept], relax.Expr]
"""Emits the operator on pruned operands, for the output channels that stay."""


@dataclass(frozen=True, eq=False)
class ChannelOperator:
    """An operator with known channel relations.

    Parameters
    ----------
    operands
        tensors that it reads, without constants.
    relations
        the relation of each operand to the output.
    output
        value ranges of the output channels.
    rebuild
        emits the operator without the removed channels.
    can_rebuild
        returns whether the operator can be rebuilt without the removed channels.
    fixed
        output channels that must stay: (output channels) of bool; None if there are none.
    """

    operands: tuple[relax.Expr, ...]
    relations: tuple[Relation, ...]
    output: ChannelRanges
    rebuild: Rebuild
    can_rebuild: Callable[[Kept], bool] = lambda kept: True
    fixed: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """A call of a PrimFunc with a record.

    Parameters
    ----------
    call
        the `R.call_tir`.
    record
        the meaning of the PrimFunc (`usmp.ops.records`).
    prim_func
        the PrimFunc.
    """

    call: Call
    record: QuantizedOp
    prim_func: tirx.PrimFunc

    @property
    def arguments(self) -> list[relax.Expr]:
        """All arguments: tensors and constants."""
        return list(self.call.args[1].fields)

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the first argument and of the result."""
        return shape_of(self.arguments[0]), shape_of(self.call)

    @cached_property
    def form(self) -> Form | None:
        """The form of the PrimFunc (`usmp.ops.form`), or None if it has none."""
        return form_of(self.prim_func)

    def operator(
        self,
        relations: Mapping[int, tuple[int, Relation]],
        output: ChannelRanges,
        fixed: np.ndarray,
        constants: Callable[[Kept], Mapping[int, np.ndarray]] = lambda kept: {},
    ) -> ChannelOperator:
        """Return the call with its channel relations.

        Parameters
        ----------
        relations
            index of an argument that is no constant -> its channel axis, and its relation.
        constants
            returns: index of an argument -> new values of a constant, still with all channels.
        """

        def taken_of(kept: Kept) -> Taken | None:
            axes = {
                argument: (axis, indices)
                for (argument, (axis, _)), indices in zip(
                    relations.items(), kept.operands, strict=True
                )
                if indices is not None
            }
            axes[len(self.arguments)] = (output.axis, kept.output)
            others = [n for n, a in enumerate(self.arguments) if isinstance(a, GenericConst)]
            adds_up = any(isinstance(relation, Read) for _, relation in relations.values())
            return None if self.form is None else taken(self.form, axes, others, adds_up)

        def rebuild(
            builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
        ) -> relax.Expr:
            part = taken_of(kept)
            assert part is not None
            tensors, changed = dict(zip(relations, operands, strict=True)), constants(kept)
            arguments = [
                constant(part.sliced(number, changed.get(number, argument.value.numpy())))
                if isinstance(argument, GenericConst)
                else tensors[number]
                for number, argument in enumerate(self.arguments)
            ]
            record = self.record
            if isinstance(record, WeightedOp):
                record = record.with_channels(kept.output)
            func = without_record(part.func)
            variable = add_prim_func(builder, func, record.kind, record)
            shape = [*shape_of(self.call)]
            shape[output.axis] = len(kept.output)
            dtype = str(self.call.ty.dtype)
            return relax.call_tir(variable, arguments, relax.TensorType(shape, dtype))

        return ChannelOperator(
            tuple(self.arguments[number] for number in relations),
            tuple(relation for _, relation in relations.values()),
            output,
            rebuild,
            lambda kept: taken_of(kept) is not None,
            fixed,
        )


def is_static(expr: relax.Expr) -> bool:
    """Return whether an expression is a nonempty tensor of static shape."""
    ty = expr.ty
    return isinstance(ty, relax.TensorType) and has_static_shape(ty) and 0 not in shape_of(expr)


def is_integer(expr: relax.Expr) -> bool:
    """Return whether an expression is a tensor of int8, uint8 or int16."""
    return isinstance(expr.ty, relax.TensorType) and str(expr.ty.dtype) in (
        "int8",
        "uint8",
        "int16",
    )


def channels_on(known: Known, operand: relax.Expr, axis: int) -> tuple[ChannelRanges, bool]:
    """Return the value ranges of an operand's channels on an axis, and whether they are known. If
    not, each is the range of all elements of the operand."""
    ranges = known.get(operand) if isinstance(operand, tvm.ir.Var) else None
    if ranges is not None and ranges.axis == axis:
        return ranges, True
    return all_alike(known, operand, axis, int(operand.ty.shape[axis])), False


def all_alike(known: Known, operand: relax.Expr, axis: int, count: int) -> ChannelRanges:
    """Return the value range of all elements of an operand, repeated for `count` channels."""
    ranges = known.get(operand) if isinstance(operand, tvm.ir.Var) else None
    if ranges is None:
        return all_of_type(str(operand.ty.dtype), axis, count)
    # Channels on another axis together bound all elements.
    ends = (ranges.least.min(), ranges.greatest.max())
    return ChannelRanges(axis, *(np.full(count, end, np.int64) for end in ends))


def identity(count: int) -> Tied:
    """Tie each channel of an operand to the output channel of equal index."""
    channels = np.arange(count)
    return Tied(channels, channels)
