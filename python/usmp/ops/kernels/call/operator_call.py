"""A call of an operator, as kernels look at it: each reading of its PrimFunc is done once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tvm import tirx

from usmp.ops.kernels.call.operator_parts import OperatorParts, take_apart
from usmp.ops.kernels.call.weighted import WeightedOperator, weighted_operator, weighted_record
from usmp.ops.records import QuantizedOp, operators_of
from usmp.ops.records.windowed import WindowedOp


@dataclass(frozen=True, eq=False)
class OperatorCall:
    """An operator, and the constants that it is called with.

    Parameters
    ----------
    func
        the operator in block form.
    constants
        the arguments of the call that are constants; None for the others.
    others
        arguments of the call in the model, if they are not those of this one: the number of one,
        or a constant in its place.
    ending
        bias, multiplier and shift of an operator with packed constants: (channels) of int64 each.
    """

    func: tirx.PrimFunc
    constants: tuple[np.ndarray | None, ...]
    others: tuple[int | np.ndarray, ...] | None = None
    ending: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def arguments(self) -> tuple[int | np.ndarray, ...]:
        """Return the arguments by their numbers in the model's call, or constants."""
        return tuple(range(len(self.constants))) if self.others is None else self.others

    @cached_property
    def records(self) -> tuple[QuantizedOp, ...]:
        """One of each integer operator that was fused into this one, in their order."""
        return tuple(step[0] for step in operators_of(self.func))

    @cached_property
    def parts(self) -> OperatorParts | None:
        """Its reduction and what follows; None if it is anything else, or stores elements that have
        no accumulator."""
        return self._parts if self._parts and self._parts.covers_output else None

    @cached_property
    def window_parts(self) -> OperatorParts | None:
        """The same of an operator that moves a window over images; it may store more rows and
        columns than it computes, since their windows are outside of the data."""
        return self._parts if self._parts and self._parts.covers_batches_and_channels else None

    @cached_property
    def _parts(self) -> OperatorParts | None:
        return take_apart(self.func)

    @cached_property
    def weighted(self) -> WeightedOperator | None:
        """The same with its constants, if it sums products of int8 data and constant weights."""
        record = weighted_record(self.records)
        if record is None or self.ending is None:
            return None
        parts = self.window_parts if isinstance(record, WindowedOp) else self.parts
        if parts is None:
            return None
        return weighted_operator(self.func, self.constants, record, parts, self.ending)
