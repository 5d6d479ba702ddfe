"""An integer LSTM computes what the equations of an LSTM give for the numbers it stands for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from support.tir_arithmetic import wrap
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.ops.quantized.activation.sigmoid import sigmoid_table
from usmp.ops.quantized.lstm import Gate, LstmParameters, lstm
from usmp.ops.quantized.rescaling.fixed_point import QuantizedMultiplier
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call, without_intrinsics

BATCH, STEPS, FEATURES = 2, 2, 3
QUANTIZATIONS = {
    "int8": (Quantization("int8", (0.02,), (-4,)), Quantization("int8", (2.0**-7,), (3,))),
    "int16": (Quantization("int16", (0.0001,), (0,)), Quantization("int16", (2.0**-15,), (0,))),
}
"""Of data and hidden state."""


class LstmInterpreter(Interpreter):
    """It has the functions that rescale, and sigmoids and hyperbolic tangents."""

    def operator(self, call, variables):
        value = super().operator(call, variables)
        return wrap(value, call.ty.dtype) if call.op.name == "tirx.reinterpret" else value

    def extern(self, name, values):
        first, *others = values
        if name == "tvmgen_multiply_by_quantized_multiplier":
            return QuantizedMultiplier(*others).apply(first)
        if name == "tvmgen_multiply_by_quantized_multiplier_64":
            return round(first * others[0] * 2.0 ** (others[1] - 31))
        if name == "tvmgen_sigmoid_index":
            return others[1]
        if name == "tvmgen_interpolated_logistic":
            return round(2**15 / (1 + math.exp(-first / (3 * 2**12))))
        assert name == "tvmgen_interpolated_tanh"
        return min(round(2**15 * math.tanh(first / (3 * 2**12))), 2**15 - 1)


@dataclass(frozen=True)
class Case:
    """A layer."""

    units: int
    dtype: str = "int8"
    cell_clip: float = 0.0
    time_major: bool = False
    cell_scale: float = 2.0**-11


CASES = {
    "one tile": Case(4),
    "a tile and more": Case(6, time_major=True),
    "less than a tile": Case(3, cell_clip=0.25),
    "small cell scale": Case(1, cell_scale=2.0**-14),
    "int16": Case(5, "int16", time_major=True),
    "int16, clipped": Case(4, "int16", cell_clip=0.25),
}


def parameters_of(case):
    """Random weights; no two scales are the same."""
    generator = np.random.default_rng(case.units)
    data, hidden = QUANTIZATIONS[case.dtype]
    gates = []
    for number in range(4):
        data_scale, hidden_scale = 0.006 + 0.001 * number, 0.01 - 0.001 * number
        bias = generator.uniform(-1, 1, case.units) / (data_scale * data.scale)
        gates.append(
            Gate(
                generator.integers(-127, 128, (case.units, FEATURES), np.int8),
                data_scale,
                generator.integers(-127, 128, (case.units, case.units), np.int8),
                hidden_scale,
                bias.astype(np.int64 if case.dtype == "int16" else np.int32),
            )
        )
    states = (hidden, case.cell_scale, case.cell_clip)
    return LstmParameters(tuple(gates), data, *states, case.time_major)


def function_of(case, parameters):
    """The PrimFunc of the layer."""
    outer = (STEPS, BATCH) if case.time_major else (BATCH, STEPS)
    builder = relax.BlockBuilder()
    x, hidden, cell = (
        relax.Var(name, relax.TensorType(shape, dtype))
        for name, shape, dtype in (
            ("x", (*outer, FEATURES), case.dtype),
            ("hidden", (BATCH, case.units), case.dtype),
            ("cell", (BATCH, case.units), "int16"),
        )
    )
    with builder.function("main", [x, hidden, cell]):
        results = lstm(builder, x, hidden, cell, parameters)
        builder.emit_func_output(relax.Tuple(list(results)))
    (func,) = (f for f in builder.get().functions.values() if isinstance(f, tirx.PrimFunc))
    return func.with_attr("global_symbol", "f")


def computed(func, arrays):
    """The parameters of a PrimFunc after a run; the first two and the last may be written."""
    memories = [
        Pointer((list if number in (0, 1, len(arrays) - 1) else tuple)(array.tobytes()))
        for number, array in enumerate(arrays)
    ]
    LstmInterpreter(IRModule({"f": without_intrinsics(func)})).call("f", memories)
    return [
        np.frombuffer(bytes(memory.memory), array.dtype).reshape(array.shape)
        for memory, array in zip(memories, arrays, strict=True)
    ]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def real(quantization, values):
    return (values.astype(float) - quantization.zero_points[0]) * quantization.scale


def expected(case, parameters, data, hidden, cell):
    """Output and cell state as real numbers: hidden state is rounded after each step."""
    h, c = real(parameters.hidden, hidden), cell * case.cell_scale
    outputs = []
    for t in range(STEPS):
        x = real(parameters.data, data[t] if case.time_major else data[:, t])
        i, f, g, o = (
            x @ (gate.data_weight * gate.data_scale).T
            + h @ (gate.hidden_weight * gate.hidden_scale).T
            + gate.bias * gate.data_scale * parameters.data.scale
            for gate in parameters.gates
        )
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        if case.cell_clip:
            c = np.clip(c, -case.cell_clip, case.cell_clip)
        scale = parameters.hidden.scale
        h = np.round(sigmoid(o) * np.tanh(c) / scale) * scale
        outputs.append(h)
    return np.stack(outputs, 0 if case.time_major else 1), c


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_equations(name):
    """Cell states to two steps of their scale, hidden states of int8 to one, of int16 to 2**-11."""
    case, generator = CASES[name], np.random.default_rng(1)
    parameters = parameters_of(case)
    func = function_of(case, parameters)
    outer = (STEPS, BATCH) if case.time_major else (BATCH, STEPS)
    limit = 100 if case.dtype == "int8" else 20_000
    data = generator.integers(-limit, limit, (*outer, FEATURES)).astype(case.dtype)
    hidden = generator.integers(-limit, limit, (BATCH, case.units)).astype(case.dtype)
    cell = generator.integers(-2000, 2000, (BATCH, case.units), np.int16)
    constants = [
        array
        for gate in parameters.gates
        for array in (gate.data_weight, gate.hidden_weight, gate.bias)
    ]
    output = np.zeros((*outer, case.units), case.dtype)
    given = [hidden, cell, data, sigmoid_table(), *constants, output]
    new_hidden, new_cell, *_, output = computed(
        func, [a.astype(str(p.dtype)) for a, p in zip(given, func.params, strict=True)]
    )
    numbers, memory = expected(case, parameters, data, hidden, cell)
    atol = parameters.hidden.scale if case.dtype == "int8" else 2.0**-11
    np.testing.assert_allclose(real(parameters.hidden, output), numbers, rtol=0, atol=atol)
    np.testing.assert_allclose(new_cell, memory / case.cell_scale, rtol=0, atol=2)
    np.testing.assert_array_equal(new_hidden, output[-1] if case.time_major else output[:, -1])


@pytest.mark.parametrize(
    ("case", "intrinsics"),
    [
        (Case(8), {"tvmgen_dot_1x4"}),
        (Case(6), {"tvmgen_dot_1x4", "tvmgen_dot_1x1"}),
        (Case(3), {"tvmgen_dot_1x1"}),
        (Case(8, "int16"), set()),
    ],
)
def test_units_of_int8_are_summed_four_at_a_time(case, intrinsics):
    func = function_of(case, parameters_of(case))
    calls = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    assert {call.args[0].value for call in calls if call is not None} == intrinsics


@pytest.mark.parametrize(("clip", "limit"), [(0.0, 32767), (0.25, 512), (100.0, 32767)])
def test_the_cell_state_is_clipped_to_its_limit(clip, limit):
    limits = parameters_of(Case(1, cell_clip=clip)).cell_limits
    assert (limits.minimum, limits.maximum) == (-limit if clip else -32768, limit)


@pytest.mark.parametrize("power", [-30, 2])
def test_scales_of_the_cell_state(power):
    assert parameters_of(Case(1, cell_scale=2.0**power)).cell_power == power


@pytest.mark.parametrize("scale", [2.0**-31, 2.0**3, 0.3])
def test_other_scales_of_the_cell_state_are_refused(scale):
    message = f"the cell state has scale {scale}; supported: powers of two from 2**-30 to 2**2"
    with pytest.raises(UnsupportedModelError, match=f"^{re.escape(message)}$"):
        _ = parameters_of(Case(1, cell_scale=scale)).cell_power
