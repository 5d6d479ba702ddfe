"""What an operator says of the channels of the tensors that it reads and of the one it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.quantized.parameters import integer_limits
from usmp.ops.records import QuantizedOp
from usmp.relax.static_shapes import has_static_shape
from usmp.relax.transform.channels.channel_ranges import ChannelRanges

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
"""The same operator on operands that have lost channels, of which it writes those that stay."""


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
        makes it anew.
    prim_func
        what it calls, if `rebuild` with all channels is to give the same once more.
    fixed
        (channels of the output) of bool: those that must stay; None if there are none.
    """

    operands: tuple[relax.Expr, ...]
    relations: tuple[Relation, ...]
    output: ChannelRanges
    rebuild: Rebuild
    prim_func: tirx.PrimFunc | None = None
    fixed: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """A call of a PrimFunc with a record.

    Parameters
    ----------
    call
        the `R.call_tir`.
    record
        what the PrimFunc computes.
    prim_func
        it.
    """

    call: Call
    record: QuantizedOp
    prim_func: tirx.PrimFunc

    @property
    def arguments(self) -> list[relax.Expr]:
        """Tensors and constants."""
        return list(self.call.args[1].fields)

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Those of the first argument and of the result."""
        return shape_of(self.arguments[0]), shape_of(self.call)


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
    least, greatest = integer_limits(str(operand.ty.dtype))
    if found is not None:
        # Channels of another axis: together they say something of all elements.
        least, greatest = int(found.least.min()), int(found.greatest.max())
    count = int(operand.ty.shape[axis])
    ends = (np.full(count, end, np.int64) for end in (least, greatest))
    return ChannelRanges(axis, *ends), False


def identity(count: int) -> Tied:
    """Each channel of the operand goes with the same one of the output."""
    channels = np.arange(count)
    return Tied(channels, channels)
