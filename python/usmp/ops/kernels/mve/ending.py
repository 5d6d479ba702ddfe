"""Epilogues of accumulators that vector functions compute: rescaling and clamping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad

from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.mve.factor import rounds
from usmp.ops.kernels.mve.single import functions_of
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    int32,
    multiply_by_float,
)
from usmp.tir.intrinsics import RESCALE_RECORD
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class VectorEnding:
    """The records of an operator, and its epilogue after rescaling.

    Parameters
    ----------
    packed, multiplier
        (channels) of int32. If `rounding` is TWICE: bias << 8 | (-right shift & 255), and the
        multiplier. If it is AS_FLOAT: the bias, and the bits of the factor as a float32. The zero
        point of the data is folded into the bias.
    rounding
        TWICE or AS_FLOAT.
    limits
        zero point and limits of the rescaled accumulator.
    rest
        the output element with the clamped int8 value replaced by a load, and that load.
    """

    packed: np.ndarray
    multiplier: np.ndarray
    rounding: Rounding
    limits: Limits
    rest: tuple[tirx.Expr, TensorLoad]

    @property
    def is_plain(self) -> bool:
        """Whether the clamped int8 value is the output."""
        return bool(self.rest[0].same_as(self.rest[1]))

    def functions(self, core: Core) -> Compute | None:
        """Return the functions that compute outputs from the clamped int8 value; None if there are
        none, or vectors cannot compute them."""
        value, element = self.rest
        inner, functions = functions_of(value, core)
        return functions if inner.same_as(element) else None


def vector_ending(
    operator: WeightedOperator, weight: np.ndarray, core: Core
) -> VectorEnding | None:
    """Return the epilogue of an operator; None if the vectors of a core cannot compute it.

    Parameters
    ----------
    weight
        (channels, taps).
    """
    rounding = operator.rounding
    if not rounds(core, rounding):
        return None
    clamped = _innermost(operator.parts.value, operator.parts.rescale)
    records = _records_as_float(operator, weight) or _records_twice(operator, weight)
    if clamped is None or records is None:
        return None
    limited, limits = clamped
    return VectorEnding(*records, rounding, limits, _rest(operator.parts, limited))


def _rest(parts: OperatorParts, limited: tirx.Expr) -> tuple[tirx.Expr, TensorLoad]:
    """Replace `limited` in the output element by an int8 load. Return the element and the load."""
    element = parts.output[parts.indices]

    def replace(node: tirx.Expr) -> tirx.Expr:
        return element if node.same_as(limited) else node

    return tvm_ffi.structural_map(parts.value, (type(limited), replace)), element


def _records_twice(
    operator: WeightedOperator, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    ending = operator.ending_of(weight, folds=True)
    records = ending.records
    if not ending.is_folded or records is None or records.has_wide_bias:
        return None
    multiplier, shifted = records.values[:, 0], records.values[:, 1]
    return (shifted & ~255) | (-shifted & 255), multiplier


def _records_as_float(
    operator: WeightedOperator, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    bias = operator.folded_bias(weight)
    if operator.rounding is not Rounding.AS_FLOAT or bias is None:
        return None
    factors = zip(operator.multiplier.tolist(), operator.shift.tolist(), strict=True)
    bits = [QuantizedMultiplier(*factor).float32_bits for factor in factors]
    if any(number is None for number in bits):
        return None
    return bias.astype(np.int32), np.array(bits, np.int32)


def plain_or_functions(
    operator: WeightedOperator, weight: np.ndarray, core: Core
) -> tuple[VectorEnding, Compute | None] | None:
    """Return the epilogue of an operator, and the functions after it, if any; None if vectors
    cannot compute the whole. The parameters are those of `vector_ending`."""
    ending = vector_ending(operator, weight, core)
    functions = None if ending is None else ending.functions(core)
    return (ending, functions) if ending is not None and (ending.is_plain or functions) else None


def constant_parameters(
    operator: WeightedOperator, weight: np.ndarray, records: np.ndarray
) -> tuple[tuple[tirx.Var, tirx.Var], dict[tirx.Var, list[tuple[tirx.Var, np.ndarray]]]]:
    """Return parameters for weight and records, and the operator's parameters that they replace."""
    parameters = (
        tirx.decl_buffer(weight.shape, "int8", "weight"),
        tirx.decl_buffer(records.shape, "int32", "records"),
    )
    return parameters, operator.replaced(list(zip(parameters, (weight, records), strict=True)))


def _innermost(value: tirx.Expr, rescale: Call | None) -> tuple[tirx.Expr, Limits] | None:
    """Return the int8 cast of the rescaled accumulator, and its limits; None if there is none."""
    for cast in nodes_of(value, tirx.Cast):
        if str(cast.ty.dtype) == "int8":
            limited = limits_of(cast)
            if limited is not None and limited[0].same_as(rescale):
                return cast, limited[1]
    return None


def rescaled(
    accumulator: tirx.Expr,
    records: tirx.Var,
    index: tirx.Expr,
    limits: Limits,
    rounding: Rounding,
    together: int = 4,
) -> tirx.Expr:
    """Return an accumulator that is rescaled by a record and clamped, as int8. The record is at
    `index`, its multiplier `together` elements later."""
    packed, multiplier = records[index], records[index + together]
    if rounding is Rounding.AS_FLOAT:
        return limits.clamp(
            multiply_by_float(accumulator + packed, multiplier) + int32(limits.zero_point)
        )
    biased = accumulator + (packed >> int32(8))
    shift = (int32(0) - packed) & int32(255)
    value = tirx.call_pure_extern(
        "int32", RESCALE_RECORD, biased, multiplier, shift, int32(2 * limits.zero_point + 1)
    )
    return limits.clamp(value)
