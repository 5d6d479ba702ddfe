"""A call of an operator, with cached analyses of its PrimFunc for kernels."""

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
    """An operator, and the constant arguments of its call.

    Parameters
    ----------
    func
        the operator in block form.
    constants
        a value for each argument, None where the argument is no constant.
    others
        None if the arguments are those of the model's call. Otherwise, for each argument, its
        number in the model's call, or a constant.
    ending
        bias, multiplier and shift, (channels) of int64 each; None unless constants are packed.
    """

    func: tirx.PrimFunc
    constants: tuple[np.ndarray | None, ...]
    others: tuple[int | np.ndarray, ...] | None = None
    ending: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def arguments(self) -> tuple[int | np.ndarray, ...]:
        """The arguments: numbers of arguments of the model's call, or constants."""
        return tuple(range(len(self.constants))) if self.others is None else self.others

    @cached_property
    def records(self) -> tuple[QuantizedOp, ...]:
        """The records of the integer operators that were fused into this one, in order."""
        return tuple(step[0] for step in operators_of(self.func))

    @cached_property
    def parts(self) -> OperatorParts | None:
        """The operator's reduction and epilogue; None if it has another form, or if some output
        elements have no accumulator."""
        return self._parts if self._parts and self._parts.covers_output else None

    @cached_property
    def window_parts(self) -> OperatorParts | None:
        """The reduction and epilogue of an operator with a kernel window over images; else None.
        Rows and columns whose windows lie outside the data need no accumulator."""
        return self._parts if self._parts and self._parts.covers_batches_and_channels else None

    @cached_property
    def _parts(self) -> OperatorParts | None:
        return take_apart(self.func)

    @cached_property
    def weighted(self) -> WeightedOperator | None:
        """The parts and constants of an operator with packed, constant weights; else None."""
        record = weighted_record(self.records)
        if record is None or self.ending is None:
            return None
        parts = self.window_parts if isinstance(record, WindowedOp) else self.parts
        if parts is None:
            return None
        return weighted_operator(self.func, self.constants, record, parts, self.ending)
