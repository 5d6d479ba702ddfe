"""What an operator says of the channels of the tensors that it reads and of the one it writes."""

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
"""The tensors of which channels are known."""


@dataclass(frozen=True, eq=False)
class Tied:
    """Channels of an operand go with channels of the output: both are there, or neither.

    Parameters
    ----------
    operand, output
        (pairs) of int64: the channels.
    """

    operand: np.ndarray
    output: np.ndarray


@dataclass(frozen=True, eq=False)
class Read:
    """Channels of the output are computed from channels of an operand.

    Parameters
    ----------
    needs
        (channels of the output, channels of the operand) of bool: which needs which. What is not
        needed is not read, or is constant, and its share becomes part of a bias.
    """

    needs: np.ndarray


Relation: TypeAlias = "Tied | Read | None"
"""None: the operator takes all channels of the operand."""


@dataclass(frozen=True, eq=False)
class Kept:
    """Which channels stay, in ascending order.

    Parameters
    ----------
    operands
        of each operand: (channels) of int64; None if it is whole.
    output
        of the output: (channels) of int64.
    """

    operands: tuple[np.ndarray | None, ...]
    output: np.ndarray

    def of(self, operand: int, count: int) -> np.ndarray:
        """The channels of an operand that has `count` if it is whole: (channels) of int64."""
        chosen = self.operands[operand]
        return np.arange(count) if chosen is None else chosen


Rebuild: TypeAlias = Callable[[relax.BlockBuilder, Sequence[relax.Expr], Kept], relax.Expr]
"""Gives the operator on operands that have lost channels, which writes the channels that stay."""


@dataclass(frozen=True, eq=False)
class ChannelOperator:
    """An operator of which it is known what it does with channels.

    Parameters
    ----------
    operands
        tensors that it reads, but for constants.
    relations
        one for each of them.
    output
        the channels that it writes.
    rebuild
        makes it without some channels.
    can_rebuild
        whether it can be made without some channels.
    fixed
        (channels of the output) of bool: those that must stay; None if there are none.
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
        of the PrimFunc.
    prim_func
        the operator.
    """

    call: Call
    record: QuantizedOp
    prim_func: tirx.PrimFunc

    @property
    def arguments(self) -> list[relax.Expr]:
        """Return tensors and constants."""
        return list(self.call.args[1].fields)

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shapes of the first argument and of the result."""
        return shape_of(self.arguments[0]), shape_of(self.call)

    @cached_property
    def form(self) -> Form | None:
        """Return the form of the PrimFunc."""
        return form_of(self.prim_func)

    def operator(
        self,
        relations: Mapping[int, tuple[int, Relation]],
        output: ChannelRanges,
        fixed: np.ndarray,
        constants: Callable[[Kept], Mapping[int, np.ndarray]] = lambda kept: {},
    ) -> ChannelOperator:
        """Return what the call does with channels.

        Parameters
        ----------
        relations
            by number of the argument that is no constant: its axis of channels, and its relation.
        constants
            by number of the argument, the values of constants that other channels change, as if
            all channels stayed.
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
    """Whether it is a tensor with elements, of which each extent is known."""
    ty = expr.ty
    return isinstance(ty, relax.TensorType) and has_static_shape(ty) and 0 not in shape_of(expr)


def is_integer(expr: relax.Expr) -> bool:
    """Whether it is a tensor of 8-bit or 16-bit integers."""
    return isinstance(expr.ty, relax.TensorType) and str(expr.ty.dtype) in (
        "int8",
        "uint8",
        "int16",
    )


def channels_on(known: Known, operand: relax.Expr, axis: int) -> tuple[ChannelRanges, bool]:
    """The channels of an operand on an axis, and whether it is known that they are there; if not,
    they can hold each integer of the type."""
    found = known.get(operand) if isinstance(operand, tvm.ir.Var) else None
    if found is not None and found.axis == axis:
        return found, True
    return all_alike(known, operand, axis, int(operand.ty.shape[axis])), False


def all_alike(known: Known, operand: relax.Expr, axis: int, count: int) -> ChannelRanges:
    """Return what all elements of an operand can hold, as the ranges of so many channels."""
    found = known.get(operand) if isinstance(operand, tvm.ir.Var) else None
    if found is None:
        return all_of_type(str(operand.ty.dtype), axis, count)
    # Together, the channels of another axis bound all elements.
    ends = (found.least.min(), found.greatest.max())
    return ChannelRanges(axis, *(np.full(count, end, np.int64) for end in ends))


def identity(count: int) -> Tied:
    """Each channel of the operand goes with the same one of the output."""
    channels = np.arange(count)
    return Tied(channels, channels)
