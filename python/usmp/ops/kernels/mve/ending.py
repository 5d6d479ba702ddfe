"""What becomes of accumulators, as the vector functions compute it: rescaled, and clamped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad

from usmp.objects.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.mve.factor import rounds
from usmp.ops.kernels.mve.single import functions_of
from usmp.ops.quantized.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    int32,
    multiply_by_float,
)
from usmp.tir.intrinsics import RESCALE_RECORD
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class VectorEnding:
    """The records of an operator, and what is done with what they rescale.

    Parameters
    ----------
    packed, multiplier
        (channels) of int32: `packed` is bias << 8 | (-shift & 255), the zero point of the data
        being folded into the bias. If products are rounded as floats, the bias alone, and the bits
        of the factor as a float32.
    rounding
        twice or as floats.
    limits
        of the output.
    rest
        the output element, and the part of it that stands for the int8 that the limits make of an
        accumulator.
    """

    packed: np.ndarray
    multiplier: np.ndarray
    rounding: Rounding
    limits: Limits
    rest: tuple[tirx.Expr, TensorLoad]

    @property
    def is_plain(self) -> bool:
        """Whether nothing is done with the int8 that the limits give."""
        return bool(self.rest[0].same_as(self.rest[1]))

    def functions(self, core: Core) -> Compute | None:
        """Return what computes outputs from the int8 that the limits give, or None if that is not
        a chain of functions that vectors compute."""
        value, kept = self.rest
        inner, functions = functions_of(value, core)
        return functions if inner.same_as(kept) else None


def vector_ending(
    operator: WeightedOperator, weight: np.ndarray, core: Core
) -> VectorEnding | None:
    """How an operator ends; None if the vectors of a core cannot compute it.

    Parameters
    ----------
    weight
        (channels, taps).
    """
    rounding = operator.rounding
    if not rounds(core, rounding):
        return None
    found = _innermost(operator.parts.value, operator.parts.rescale)
    records = _records_as_float(operator, weight) or _records_twice(operator, weight)
    if found is None or records is None:
        return None
    limited, limits = found
    return VectorEnding(*records, rounding, limits, _rest(operator.parts, limited))


def _rest(parts: OperatorParts, limited: tirx.Expr) -> tuple[tirx.Expr, TensorLoad]:
    """The output element with an element of int8 in the place of `limited`, and that."""
    kept = parts.output[parts.indices]

    def replace(node: tirx.Expr) -> tirx.Expr:
        return kept if node.same_as(limited) else node

    return tvm_ffi.structural_map(parts.value, (type(limited), replace)), kept


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
    """How an operator ends that only limits what it rescales, or computes functions of it; None
    if vectors cannot compute that. The arguments are those of `vector_ending`."""
    ending = vector_ending(operator, weight, core)
    functions = None if ending is None else ending.functions(core)
    return (ending, functions) if ending is not None and (ending.is_plain or functions) else None


def constant_parameters(
    operator: WeightedOperator, weight: np.ndarray, records: np.ndarray
) -> tuple[tuple[tirx.Var, tirx.Var], dict[tirx.Var, list[tuple[tirx.Var, np.ndarray]]]]:
    """Parameters of weights and records, and what they take the place of."""
    parameters = (
        tirx.decl_buffer(weight.shape, "int8", "weight"),
        tirx.decl_buffer(records.shape, "int32", "records"),
    )
    return parameters, operator.replaced(list(zip(parameters, (weight, records), strict=True)))


def _innermost(value: tirx.Expr, rescale: Call | None) -> tuple[tirx.Expr, Limits] | None:
    """The int8 that a rescaled accumulator becomes, and how."""
    for cast in nodes_of(value, tirx.Cast):
        if str(cast.ty.dtype) == "int8":
            found = limits_of(cast)
            if found is not None and found[0].same_as(rescale):
                return cast, found[1]
    return None


def rescaled(
    accumulator: tirx.Expr,
    records: tirx.Var,
    index: tirx.Expr,
    limits: Limits,
    rounding: Rounding,
    together: int = 4,
) -> tirx.Expr:
    """The int8 that an accumulator becomes by a record, of which `index` is the first number and
    the multiplier is as much later as records lie together."""
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
