"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM on integers.

Their state is in variable tensors: each is a state of the model.
"""

from __future__ import annotations

import tflite

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.converters.recurrent.lstm_parts import (
    GATES,
    LEFT_OUT,
    check_has_input_gate,
    check_is_tanh,
    check_left_out,
)
from usmp.frontend.tflite.converters.recurrent.variable_tensors import (
    assign_variable,
    variable_tensor,
)
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    require_rank,
    require_shape,
    require_types,
)
from usmp.ops import quantized
from usmp.ops.quantized import Gate, Quantization, SvdfWeights

_BIAS_TYPES = {"int8": "int32", "int16": "int64"}
"""Type of the data -> type of the biases of an LSTM."""
_BIAS_SCALE_TOLERANCE = 1e-5


@converts("SVDF")
def convert_svdf(context: Context, operator: TfliteOperator) -> None:
    """Append an SVDF. Inputs: data, weights of the features, weights over time, bias, state.

    The fused activation makes no difference: the reference kernel on integers ignores it.
    """
    _check_svdf(operator, operator.options(tflite.SVDFOptions).Rank())
    data, state = operator.input(0), operator.input(4)
    kept = operator.quantization(state)
    weights = SvdfWeights(
        operator.constant(1),
        _symmetric_scale(operator, 1),
        operator.constant(2),
        _symmetric_scale(operator, 2),
        operator.constant(3),
    )
    _check_bias_scale(operator, kept.scale * weights.time_scale)
    memory = variable_tensor(context, operator, 4, (data.shape[0], weights.time.size))
    result, after = quantized.svdf(
        context.builder,
        context.value(data),
        memory.after,
        weights,
        (operator.quantization(data), kept, operator.quantization(operator.output)),
    )
    context.set(operator.output, result)
    assign_variable(context, operator, 4, memory, after)


def _check_svdf(operator: TfliteOperator, rank: int) -> None:
    """Check that the types and shapes of an SVDF's tensors go together."""
    if operator.optional_input(3) is None:
        raise operator.unsupported("no bias (input 3 is missing) is not supported")
    data, features, time, bias, state = map(operator.input, range(5))
    require_types(operator, data, "input", ("int8",))
    require_types(operator, features, "weight", ("int8",))
    require_types(operator, time, "weight", ("int8", "int16"))
    require_types(operator, bias, "bias", ("int32",))
    require_types(operator, state, "state", (time.dtype,))
    require_types(operator, operator.output, "output", ("int8",))
    for tensor, label in ((data, "input"), (features, "weight"), (time, "weight")):
        require_rank(operator, tensor, label, (2,))
    filters = features.shape[0]
    if rank < 1 or filters % rank:
        raise operator.unsupported(f"{filters} filters are not a multiple of rank {rank}")
    require_shape(operator, features, "weight", (filters, data.shape[1]))
    require_shape(operator, time, "weight", (filters, time.shape[1]))
    require_shape(operator, bias, "bias", (filters // rank,))
    require_shape(operator, operator.output, "output", (data.shape[0], filters // rank))


def _check_bias_scale(operator: TfliteOperator, expected: float) -> None:
    """Check that the bias has the scale of the sum that it is added to, or none."""
    quantization = operator.input(3).quantization
    scale = expected if quantization is None else quantization.scales[0]
    if abs(scale - expected) >= _BIAS_SCALE_TOLERANCE:
        raise operator.unsupported(
            f'bias "{operator.input(3).name}" has scale {scale}; required: {expected}, the product '
            "of the scales of the state and of the weights over time"
        )


@converts("UNIDIRECTIONAL_SEQUENCE_LSTM")
def convert_lstm(context: Context, operator: TfliteOperator) -> None:
    """Append an LSTM. Inputs: data, weights of data and state, biases; hidden and cell state."""
    options = operator.options(tflite.UnidirectionalSequenceLSTMOptions)
    data, hidden, cell, output = (*map(operator.input, (0, 18, 19)), operator.output)
    _check_parts(operator, options.FusedActivationFunction())
    require_types(operator, data, "input", tuple(_BIAS_TYPES))
    require_types(operator, hidden, "hidden state", (data.dtype,))
    require_types(operator, cell, "cell state", ("int16",))
    require_types(operator, output, "output", (data.dtype,))
    require_rank(operator, data, "input", (3,))
    outer, features = data.shape[:2], data.shape[2]
    batch = outer[1] if options.TimeMajor() else outer[0]
    units = operator.input(6).shape[0] if operator.input(6).shape else 0
    require_shape(operator, output, "output", (*outer, units))
    gates = [_gate(operator, index, units, features) for index in range(len(GATES))]
    parameters = quantized.LstmParameters(
        (gates[0], gates[1], gates[2], gates[3]),
        operator.quantization(data),
        operator.quantization(hidden),
        operator.quantization(cell).scale,
        float(options.CellClip()),
        bool(options.TimeMajor()),
    )
    hidden_state, cell_state = (
        variable_tensor(context, operator, index, (batch, units)) for index in (18, 19)
    )
    result, new_hidden, new_cell = quantized.lstm(
        context.builder,
        context.value(data),
        hidden_state.after,
        cell_state.after,
        parameters,
    )
    context.set(output, result)
    assign_variable(context, operator, 18, hidden_state, new_hidden)
    assign_variable(context, operator, 19, cell_state, new_cell)


def _check_parts(operator: TfliteOperator, activation: int) -> None:
    """Check that the LSTM has all gates, and no parts that are not supported."""
    check_is_tanh(operator, activation)
    check_left_out(operator, LEFT_OUT)
    if operator.input(18) is operator.input(19):
        raise operator.unsupported("its hidden state and its cell state are the same tensor")
    check_has_input_gate(operator, 1)


def _gate(operator: TfliteOperator, index: int, units: int, features: int) -> Gate:
    """Return the constants of one of the gates."""
    of_data, of_state, bias = 1 + index, 5 + index, 12 + index
    name = f"{GATES[index]} gate's"
    for weight, columns in ((of_data, features), (of_state, units)):
        require_types(operator, operator.input(weight), f"{name} weight", ("int8",))
        require_shape(operator, operator.input(weight), f"{name} weight", (units, columns))
    bias_type = _BIAS_TYPES[operator.input(0).dtype]
    require_types(operator, operator.input(bias), f"{name} bias", (bias_type,))
    require_shape(operator, operator.input(bias), f"{name} bias", (units,))
    return Gate(
        operator.constant(of_data),
        _symmetric_scale(operator, of_data),
        operator.constant(of_state),
        _symmetric_scale(operator, of_state),
        operator.constant(bias),
    )


def _symmetric_scale(operator: TfliteOperator, index: int) -> float:
    """Return the scale of a weight that has only one, and zero point 0."""
    tensor = operator.input(index)
    quantization: Quantization = operator.weight_quantization(tensor, 0)
    if not quantization.is_per_tensor:
        raise operator.unsupported(
            f'weight "{tensor.name}" has {len(quantization.scales)} scales; supported: one for the '
            "tensor"
        )
    if quantization.zero_point:
        raise operator.unsupported(
            f'weight "{tensor.name}" has zero point {quantization.zero_point}; supported: 0'
        )
    return quantization.scale
