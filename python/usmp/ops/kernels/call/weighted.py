"""Operators with constant weights, as kernels read them: parts and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad

from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.call.rescale_records import RescaleRecords, rescale_records
from usmp.ops.kernels.loops.accumulators import Accumulators, Indices, Rescaling
from usmp.ops.quantized.rescaling.accumulators import accumulator_range
from usmp.ops.quantized.rescaling.fixed_point import Rounding
from usmp.ops.records import QuantizedOp
from usmp.ops.records.products import WeightedOp
from usmp.tir.intrinsics import RESCALE_RECORD
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import tensor_intrin

_ROUNDINGS = (Rounding.TWICE, Rounding.AS_FLOAT)
"""The roundings for which there are kernels."""

_TILES = ((1, 2), (1, 4), (1, 6), (2, 2))
"""Pixels and channels that tensor intrinsics rescale together."""


@dataclass(frozen=True)
class WeightedOperator:
    """A PrimFunc that sums products with int8 weights, and the constant arguments of its call.

    Parameters
    ----------
    func, parts, record
        the PrimFunc, its reduction and epilogue, and the record of the operator that sums products.
    data, weight
        parameters of the PrimFunc.
    values
        the weight, with zero point 0.
    bias, multiplier, shift
        (channels) of int64.
    ending
        the parameters that hold bias, multiplier and shift.
    """

    func: tirx.PrimFunc
    parts: OperatorParts
    record: WeightedOp
    data: tirx.Var
    weight: tirx.Var
    values: np.ndarray
    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    ending: tuple[tirx.Var, ...]

    @property
    def zero_point(self) -> int:
        """The zero point of the data."""
        return self.record.inputs[0].zero_point

    @property
    def rounding(self) -> Rounding:
        """The rounding of the accumulators' rescaling."""
        return self.record.rounding

    def replaced(
        self, constants: list[tuple[tirx.Var, np.ndarray]]
    ) -> dict[tirx.Var, list[tuple[tirx.Var, np.ndarray]]]:
        """Return what replaces parameters: `constants` for the weight, nothing for the ending."""
        return {self.weight: constants, **{param: [] for param in self.ending}}

    def ending_of(self, weight: np.ndarray, folds: bool, together: bool = False) -> Ending:
        """Return the initial values and the epilogue of the accumulators.

        Parameters
        ----------
        weight
            (channels, taps): the weights that multiply the data less its zero point.
        folds
            whether to fold the zero point's products over all taps into the bias.
        together
            whether a tensor intrinsic rescales a whole tile, so that compilers may use vectors.
        """
        records = self._records(weight, folds) if folds else None
        if records is not None:
            return Ending(self, records, True, together)
        return Ending(self, self._records(weight, False), False, together)

    def _records(self, weight: np.ndarray, is_folded: bool) -> RescaleRecords | None:
        if self.rounding is not Rounding.TWICE:
            return None
        quantization = self.record.inputs[0]
        accumulators = accumulator_range(weight, self.bias, quantization, "int32")
        first = self.folded_bias(weight) if is_folded else self.bias
        if first is None:
            return None
        return rescale_records(first, self.multiplier, self.shift, accumulators)

    def folded_bias(self, weight: np.ndarray) -> np.ndarray | None:
        """Fold the zero point's products into the bias: (channels) of int64; None if a partial sum
        might overflow 32 bits.

        Parameters
        ----------
        weight
            (channels, taps): the weights that multiply the data less its zero point.
        """
        wide = weight.astype(np.int64)
        folded: np.ndarray = self.bias - self.zero_point * wide.sum(axis=1)
        most = np.abs(folded) + 256 * np.abs(wide).sum(axis=1)
        return folded if most.max(initial=0) < 2**31 else None


@dataclass(frozen=True)
class Ending:
    """The initial values of an operator's accumulators, and their epilogue.

    Parameters
    ----------
    records
        bias and factors of all channels; None if the operator's own expression rescales.
    is_folded
        whether the zero point's products over all taps are folded into the bias.
    rescales_together
        whether a tensor intrinsic rescales the accumulators of a tile together.
    """

    operator: WeightedOperator
    records: RescaleRecords | None
    is_folded: bool
    rescales_together: bool

    @cached_property
    def buffer(self) -> tirx.Var | None:
        """The parameter of the records."""
        if self.records is None:
            return None
        return tirx.decl_buffer(self.records.values.shape, "int32", "records")

    def replaced(
        self, weight: tirx.Var, values: np.ndarray
    ) -> dict[tirx.Var, list[tuple[tirx.Var, np.ndarray]]]:
        """Return the kernel's parameters and constants for the operator's weight and ending.

        Parameters
        ----------
        weight, values
            the weight in the kernel's layout: parameter and constant.
        """
        if self.records is None or self.buffer is None:
            return {self.operator.weight: [(weight, values)]}
        return self.operator.replaced([(weight, values), (self.buffer, self.records.values)])

    @property
    def accumulators(self) -> Accumulators:
        """The initial values and the epilogue, as kernels take them."""
        records = self.records
        together = None
        if records is not None and not records.has_wide_bias and self.rescales_together:
            together = Rescaling(_TILES, self._rescale, self._store_rescaled)
        point = self.operator.zero_point
        return Accumulators(point, self.is_folded, self.first, self.store, together)

    def _rescale(self, acc: tirx.Var, c: tirx.Expr, tile: tuple[int, int]) -> tirx.Stmt:
        """Add the bias to the accumulators of a tile, which begin with 0, and rescale them."""
        assert self.buffer is not None
        records, (pixels, channels) = self.buffer, tile
        rounding = self._value[2]
        rescaled = [
            tirx.BufferStore(
                acc,
                self._rescaled(acc[i] + self.first(c + i % channels), c + i % channels),
                [i],
            )
            for i in range(pixels * channels)
        ]
        name = f"tvmgen_rescale_{pixels}x{channels}"
        return tensor_intrin(name, [acc[0], records[c, 0], rounding], rescaled)

    def _store_rescaled(self, rescaled: tirx.Expr, indices: Indices) -> tirx.Stmt:
        parts = self.operator.parts
        with_variable, scaled, _ = self._value
        value = parts.with_indices(with_variable, indices, {scaled: rescaled})
        return tirx.BufferStore(parts.output, value, list(indices))

    def first(self, channel: tirx.Expr) -> tirx.Expr:
        """Return the initial value of the accumulators of a channel."""
        if self.records is None or self.buffer is None:
            return tirx.IntImm("int32", 0)
        if self.records.has_wide_bias:
            return self.buffer[channel, 2]
        return self.buffer[channel, 1] >> tirx.IntImm("int32", 8)

    @cached_property
    def _value(self) -> tuple[tirx.Expr, tirx.Var, int]:
        """Return the output as an expression of a variable; this variable, which replaces the
        rescaled accumulator; and the intrinsic's argument for rounding and zero point."""
        parts = self.operator.parts
        scaled = tirx.Var("scaled", "int32")
        zero_point, target = _with_zero_point(parts.value, parts.rescale)
        value = tvm_ffi.structural_map(
            parts.value, (type(target), lambda node: scaled if node.same_as(target) else node)
        )
        return value, scaled, 2 * zero_point + 1

    def store(self, accumulator: tirx.Expr, indices: Indices) -> tirx.Stmt:
        """Store the output element of an accumulator."""
        parts = self.operator.parts
        if self.buffer is None:
            value = parts.element(accumulator, indices)
            return tirx.BufferStore(parts.output, value, list(indices))
        return self._store_rescaled(self._rescaled(accumulator, indices[-1]), indices)

    def _rescaled(self, accumulator: tirx.Expr, channel: tirx.Expr) -> tirx.Expr:
        """Return an accumulator, rescaled by the record of its channel."""
        assert self.buffer is not None
        record = [self.buffer[channel, column] for column in (0, 1)]
        rounding = tirx.IntImm("int32", self._value[2])
        return tirx.call_pure_extern("int32", RESCALE_RECORD, accumulator, *record, rounding)


def _with_zero_point(value: tirx.Expr, call: tirx.Expr) -> tuple[int, tirx.Expr]:
    """Return the constant added to a call's result, and the sum; 0 and the call without a sum."""
    for sign, kind in ((1, tirx.Add), (-1, tirx.Sub)):
        for node in nodes_of(value, kind):
            if node.a.same_as(call) and isinstance(node.b, tirx.IntImm) and abs(int(node.b)) < 256:
                return sign * int(node.b), node
    return 0, call


def weighted_record(records: Sequence[QuantizedOp]) -> WeightedOp | None:
    """Return the first record of fused operators; None unless that operator sums products of int8
    data and weights with zero point 0, and kernels support its rounding."""
    record = records[0] if records else None
    if not isinstance(record, WeightedOp):
        return None
    types = [quantization.dtype for quantization in record.inputs]
    if types != ["int8", "int8"] or record.inputs[1].zero_points[0] != 0:
        return None
    # With another rounding, the call that rescales belongs to a fused operator.
    return record if record.rounding in _ROUNDINGS else None


def weighted_operator(
    func: tirx.PrimFunc,
    constants: Sequence[np.ndarray | None],
    record: WeightedOp,
    parts: OperatorParts,
    ending: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> WeightedOperator | None:
    """Return a PrimFunc that sums products of int8 data and constant weights, with its constants;
    None for other PrimFuncs.

    Parameters
    ----------
    func, parts
        the PrimFunc in block form, its reduction and epilogue.
    constants
        the argument for each parameter; None where it is no constant.
    record
        the record of the operator that sums products.
    ending
        bias, multiplier and shift: (channels) of int64 each.
    """
    if parts.reduction is not tirx.Add or parts.rescale is None:
        return None
    known = dict(zip(func.params, constants, strict=False))
    sources = _sources(parts.sum)
    weights = [source for source in sources if known.get(source) is not None]
    if len(sources) != 2 or len(weights) != 1:
        return None
    (weight,) = weights
    (data,) = (source for source in sources if source is not weight)
    used = [param for param in func.params if param in _sources(parts.rescale)]
    values = known[weight]
    assert values is not None
    return WeightedOperator(func, parts, record, data, weight, values, *ending, tuple(used))


def _sources(expr: tirx.Expr) -> list[tirx.Var]:
    return list(dict.fromkeys(load.source for load in nodes_of(expr, TensorLoad)))
