"""Long short-term memory over a sequence, of int8 or int16, with a cell state of int16.

A step computes four gates for each unit, from the data and from the hidden state before the step:

    i, f, o = sigmoid(...),  g = tanh(...)
    cell = f * cell + i * g
    hidden = o * tanh(cell)

The new hidden state is part of the output. At the end of the step, it is copied from the output to
the state, so that the operator needs no scratch tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tvm import relax, tirx

from usmp.ops.dot_products import Run
from usmp.ops.emit import shape_of
from usmp.ops.quantized.activation.sigmoid import (
    ARGUMENT_FACTOR,
    logistic_of,
    power_of_two,
    scaled_argument,
    sigmoid_table,
    tanh_of,
)
from usmp.ops.quantized.gate_sums import GateSums, add_products, begin_sums
from usmp.ops.quantized.rescaling.accumulators import accumulator_range
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    apply_multiplier,
    multiply,
    quantize_multiplier,
    wrapping_add,
)
from usmp.ops.quantized.rescaling.parameters import OutputLimits, Quantization
from usmp.ops.quantized.rescaling.weighted_constants import narrowed
from usmp.ops.records.recurrent import Lstm
from usmp.ops.statements import Local, call_in_place, loop
from usmp.support.errors import UnsupportedModelError

_ARGUMENT_POWER = -12
"""The scale of the gates' arguments is 2 to this power."""
_RESULT_SCALE = 2.0**-15
"""The scale of sigmoids and hyperbolic tangents."""
_CELL_POWERS = range(-30, 3)
_LARGEST_WIDE_SHIFT = 7
_NAMES = ("input", "forget", "cell", "output")
_UNITS = 4
"""Units that are computed at a time, of int8."""
_INT16 = OutputLimits("int32", -32768, 32767)
"""Limits of int16 for variables of 32 bits."""


@dataclass(frozen=True)
class Gate:
    """The constants of a gate.

    Parameters
    ----------
    data_weight
        (units, features) of int8, symmetric.
    data_scale
        scale of `data_weight`.
    hidden_weight
        (units, units) of int8, symmetric.
    hidden_scale
        scale of `hidden_weight`.
    bias
        (units) of int32, or of int64 for data of int16.
    """

    data_weight: np.ndarray
    data_scale: float
    hidden_weight: np.ndarray
    hidden_scale: float
    bias: np.ndarray


@dataclass(frozen=True)
class LstmParameters:
    """The parameters of an LSTM.

    Parameters
    ----------
    gates
        input, forget, cell and output gate.
    data
        quantization of the data.
    hidden
        quantization of the hidden state and the output.
    cell_scale
        scale of the cell state, a power of two; the zero point is 0.
    cell_clip
        the greatest magnitude of the cell state, as a real number; 0 for no limit.
    time_major
        whether the steps are the first axis of data and output, instead of the second.
    """

    gates: tuple[Gate, Gate, Gate, Gate]
    data: Quantization
    hidden: Quantization
    cell_scale: float
    cell_clip: float = 0.0
    time_major: bool = False

    def record(self) -> Lstm:
        """Return the record of the operator."""
        cell = Quantization("int16", (self.cell_scale,), (0,))
        weights = [
            Quantization("int8", (scale,), (0,))
            for gate in self.gates
            for scale in (gate.data_scale, gate.hidden_scale)
        ]
        return Lstm(
            (self.data, self.hidden, cell, *weights),
            (self.hidden, self.hidden, cell),
            cell_clip=float(self.cell_clip),
            time_major=self.time_major,
        )

    @property
    def rounding(self) -> Rounding:
        """The rounding of the sums for the gates' arguments."""
        return Rounding.ONCE_16_BITS if self.data.dtype == "int16" else Rounding.TWICE

    @property
    def cell_power(self) -> int:
        """The logarithm of the cell state's scale.

        Raises
        ------
        UnsupportedModelError
            the scale is not a power of two, or not in 2**-30 to 4.
        """
        power = power_of_two(self.cell_scale)
        if power is None or power not in _CELL_POWERS:
            raise UnsupportedModelError(
                f"the cell state has scale {self.cell_scale}; supported: powers of two from "
                f"2**{_CELL_POWERS[0]} to 2**{_CELL_POWERS[-1]}"
            )
        return power

    @property
    def cell_limits(self) -> OutputLimits:
        """The limits of the cell state, for variables of 32 bits."""
        if not self.cell_clip > 0:
            return _INT16
        limit = int(min(float(np.float32(self.cell_clip)) / self.cell_scale, 32767.0))
        return OutputLimits("int32", -limit, limit)


def lstm(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    hidden: relax.Expr,
    cell: relax.Expr,
    parameters: LstmParameters,
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Return the hidden state after each step, and hidden and cell state after the last step.

    Parameters
    ----------
    data
        (batch, steps, features), or (steps, batch, features), of int8 or int16.
    hidden
        (batch, units) of the data's element type.
    cell
        (batch, units) of int16.

    Raises
    ------
    UnsupportedModelError
        unsupported scales, or sums that may leave 32 bits (48 for int16).
    """
    outer, units = shape_of(data)[:2], shape_of(hidden)[1]
    arguments: list[tuple[str, relax.Expr | np.ndarray]] = [
        ("hidden", hidden),
        ("cell", cell),
        ("data", data),
        ("sigmoid_table", sigmoid_table()),
    ]
    for name, gate in zip(_NAMES, parameters.gates, strict=True):
        _check_sums(gate, parameters)
        arguments += [
            (f"{name}_data_weight", gate.data_weight),
            (f"{name}_hidden_weight", gate.hidden_weight),
            (f"{name}_bias", narrowed(gate.bias)),
        ]

    def body(*buffers: tirx.Buffer) -> tirx.Stmt:
        hidden, cell, data, table, *constants, output = buffers
        by_gate = tuple(_GateTensors(*constants[i : i + 3]) for i in range(0, len(constants), 3))
        return _all_steps(parameters, _Tensors(hidden, cell, data, table, by_gate, output))

    output = ("output", relax.TensorType((*outer, units), str(data.ty.dtype)))
    new_hidden, new_cell, result = call_in_place(
        builder,
        "lstm",
        body,
        arguments,
        overwritten=[0, 1],
        written=[output],
        record=parameters.record(),
    )
    return result, new_hidden, new_cell


@dataclass(frozen=True)
class _GateTensors:
    """The constants of a gate in the PrimFunc."""

    data_weight: tirx.Buffer
    hidden_weight: tirx.Buffer
    bias: tirx.Buffer


@dataclass(frozen=True)
class _Tensors:
    """The parameters of the PrimFunc."""

    hidden: tirx.Buffer
    cell: tirx.Buffer
    data: tirx.Buffer
    table: tirx.Buffer
    gates: tuple[_GateTensors, ...]
    output: tirx.Buffer


def _check_sums(gate: Gate, parameters: LstmParameters) -> None:
    """Check that the sums of a gate always fit their type."""
    dtype = parameters.rounding.accumulator
    accumulator_range(gate.data_weight, gate.bias, parameters.data, dtype)
    accumulator_range(gate.hidden_weight, None, parameters.hidden, dtype)


def _all_steps(parameters: LstmParameters, tensors: _Tensors) -> tirx.Stmt:
    batch, units = _extents(tensors.hidden)
    steps = _extents(tensors.data)[0 if parameters.time_major else 1]

    def step(t: tirx.Var, b: tirx.Var) -> list[tirx.Stmt]:
        place = [t, b] if parameters.time_major else [b, t]

        def tile(first: tirx.Expr, number: int) -> list[tirx.Stmt]:
            sums = GateSums.of(_NAMES, parameters.rounding.accumulator, number)

            def unit(index: tirx.Expr) -> list[tirx.Stmt]:
                gates = [Local.of(f"{name}_gate", "int32") for name in _NAMES]
                set_gates = _set_gates(gates, parameters, tensors, sums, index)
                update = _update(gates, parameters, tensors, place, b, first + index)
                return [*set_gates, *update]

            add = _add_products(sums, parameters, tensors, place, b, first)
            return [*add, loop("unit", number, unit)]

        def keep(u: tirx.Var) -> tirx.Stmt:
            return tirx.BufferStore(tensors.hidden, tensors.output[(*place, u)], [b, u])

        whole = units - units % _UNITS if str(tensors.data.dtype) == "int8" else 0
        loops = []
        if whole:
            loops.append(loop("tile", whole // _UNITS, lambda i: tile(i * _UNITS, _UNITS)))
        if units > whole:
            loops.append(loop("u", units - whole, lambda u: tile(u + whole, 1)))
        return [*loops, loop("u", units, keep)]

    return loop("t", steps, lambda t: loop("b", batch, lambda b: step(t, b)))


def _add_products(
    sums: GateSums,
    parameters: LstmParameters,
    tensors: _Tensors,
    place: list[tirx.Var],
    b: tirx.Var,
    first: tirx.Expr,
) -> Iterator[tirx.Stmt]:
    """Return statements that compute the sums.

    Parameters
    ----------
    place
        first two indices of the step in data and output.
    b, first
        index in the batch, and the first unit.
    """
    zero = tirx.IntImm("int32", 0)
    data, hidden = tensors.data, tensors.hidden
    weights = [gate.data_weight for gate in tensors.gates]
    biases = [gate.bias for gate in tensors.gates]
    yield from begin_sums(sums.of_data, lambda gate, n: biases[gate][first + n])
    row = Run(data, (*place, zero), 0)
    yield from add_products(sums.of_data, row, parameters.data.zero_point, weights, first)
    weights = [gate.hidden_weight for gate in tensors.gates]
    yield from begin_sums(sums.of_hidden, lambda gate, n: zero)
    row = Run(hidden, (b, zero), 0)
    yield from add_products(sums.of_hidden, row, parameters.hidden.zero_point, weights, first)


def _set_gates(
    gates: list[Local],
    parameters: LstmParameters,
    tensors: _Tensors,
    sums: GateSums,
    unit: tirx.Expr,
) -> Iterator[tirx.Stmt]:
    """Return statements that compute the gates of a unit from its sums."""
    for index, (name, result) in enumerate(zip(_NAMES, gates, strict=True)):
        argument = Local.of(f"{name}_argument", "int32")
        of_data, of_hidden = sums.of_data[index][unit], sums.of_hidden[index][unit]
        yield from argument.declared(
            _argument(parameters, parameters.gates[index], of_data, of_hidden)
        )
        function = tanh_of if name == "cell" else logistic_of
        yield from result.declared(function(argument.get(), tensors.table))


def _argument(
    parameters: LstmParameters, gate: Gate, of_data: tirx.Expr, of_hidden: tirx.Expr
) -> tirx.Expr:
    """Return a gate's argument for the table: its two sums, each rescaled and clamped, added."""
    rounding = parameters.rounding
    terms = []
    for total, scale, quantization in (
        (of_data, gate.data_scale, parameters.data),
        (of_hidden, gate.hidden_scale, parameters.hidden),
    ):
        factor = _factor(quantization.scale, scale, rounding)
        terms.append(_INT16.clamp(multiply(total, factor.multiplier, factor.shift, rounding)))
    return scaled_argument(_INT16.clamp(terms[0] + terms[1]), ARGUMENT_FACTOR, 0)


def _factor(scale: float, weight_scale: float, rounding: Rounding) -> QuantizedMultiplier:
    """Return the factor from sums of products to the argument of a gate."""
    product = scale * weight_scale
    factor = quantize_multiplier(product / 2.0**_ARGUMENT_POWER)
    if rounding is Rounding.ONCE_16_BITS and factor.shift > _LARGEST_WIDE_SHIFT:
        raise UnsupportedModelError(
            f"the product of the scales of an int16 input and its weight is {product}; less than "
            f"{2.0 ** (_LARGEST_WIDE_SHIFT + _ARGUMENT_POWER)} is supported"
        )
    return factor


def _update(
    gates: list[Local],
    parameters: LstmParameters,
    tensors: _Tensors,
    place: list[tirx.Var],
    b: tirx.Var,
    u: tirx.Expr,
) -> Iterator[tirx.Stmt]:
    """Return statements that update a unit's cell state, and store its hidden state as output."""
    of_input, of_forget, of_cell, of_output = (gate.get() for gate in gates)
    kept = _scaled(of_forget * tensors.cell[b, u].astype("int32"), _RESULT_SCALE)
    new = _scaled(of_input * of_cell, _RESULT_SCALE**2 / parameters.cell_scale)
    cell = Local.of("cell_value", "int32")
    yield from cell.declared(parameters.cell_limits.clamp(_INT16.clamp(kept + new)))
    yield tirx.BufferStore(tensors.cell, cell.get().astype("int16"), [b, u])

    shift = parameters.cell_power - _ARGUMENT_POWER
    argument = Local.of("tanh_argument", "int32")
    factor = ARGUMENT_FACTOR << max(shift, 0)
    yield from argument.declared(scaled_argument(cell.get(), factor, max(-shift, 0)))
    product = of_output * tanh_of(argument.get(), tensors.table)
    hidden = parameters.hidden
    scaled = apply_multiplier(product, quantize_multiplier(_RESULT_SCALE**2 / hidden.scale))
    value = hidden.limits().clamp(wrapping_add(scaled, hidden.zero_point))
    yield tirx.BufferStore(tensors.output, value, [*place, u])


def _scaled(product: tirx.Expr, factor: float) -> tirx.Expr:
    """Return a product of int16, rescaled and clamped to int16."""
    return _INT16.clamp(apply_multiplier(product, quantize_multiplier(factor)))


def _extents(buffer: tirx.Buffer) -> list[int]:
    return [int(extent) for extent in buffer.shape]
