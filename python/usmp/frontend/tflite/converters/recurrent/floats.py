"""LSTMs, simple recurrent layers and SVDF on float32.

Their state is in variable tensors: each is a state of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
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
    fused_activation,
    require_rank,
    require_shape,
    require_types,
)
from usmp.ops.real.svdf import FloatSvdf, float_svdf
from usmp.ops.recurrent import (
    Activation,
    Cell,
    LstmCell,
    Placed,
    RnnCell,
    Weights,
    recurrent_layer,
)

_FLOAT = ("float32",)
_ACTIVATIONS = {
    "NONE": Activation("identity"),
    "RELU": Activation("relu"),
    "RELU_N1_TO_1": Activation("relu_n1_to_1"),
    "RELU6": Activation("relu6"),
    "TANH": Activation("tanh"),
}
_ORDER = (0, 3, 1, 2)
"""The positions of input gate, output gate, forget gate and cell gate among the weights."""


@dataclass(frozen=True)
class _LstmInputs:
    """The indices of an LSTM's weights, bias and states among the operator's inputs. The weights
    and bias are those of the first gate, and those of the other gates follow them."""

    data_weight: int
    hidden_weight: int
    bias: int
    states: tuple[int, int]
    left_out: Mapping[str, Sequence[int]]
    """Parts that are not supported -> the indices of their inputs."""


@dataclass(frozen=True)
class _Direction:
    """A layer in one direction, and the indices of its states among the operator's inputs."""

    cell: Cell
    weights: Weights
    units: int
    states: tuple[int, ...]


_FORWARD = _LstmInputs(
    1,
    5,
    12,
    (18, 19),
    LEFT_OUT,
)
_BOTH = (
    _LstmInputs(
        1,
        5,
        12,
        (35, 36),
        {
            "peephole connections": (9, 10, 11),
            "a projection": (16, 17),
            "an auxiliary input": (39, 40, 41, 42, 43),
        },
    ),
    _LstmInputs(
        18,
        22,
        29,
        (37, 38),
        {
            "peephole connections": (26, 27, 28),
            "a projection": (33, 34),
            "an auxiliary input": (44, 45, 46, 47),
        },
    ),
)


@converts("UNIDIRECTIONAL_SEQUENCE_LSTM", quantized=False)
def convert_lstm(context: Context, operator: TfliteOperator) -> None:
    """Append an LSTM. Inputs: data, weights of data and state, biases; hidden and cell state."""
    options = operator.options(tflite.UnidirectionalSequenceLSTMOptions)
    data = _sequence(context, operator, bool(options.TimeMajor()))
    check_is_tanh(operator, options.FusedActivationFunction())
    layer = _lstm(operator, _FORWARD, options.CellClip())
    _convert(context, operator, data, [layer])


@converts("BIDIRECTIONAL_SEQUENCE_LSTM", quantized=False)
def convert_bidirectional_lstm(context: Context, operator: TfliteOperator) -> None:
    """Append two LSTMs. Inputs: data, weights and biases forward, then backward, the states."""
    options = operator.options(tflite.BidirectionalSequenceLSTMOptions)
    data = _sequence(context, operator, bool(options.TimeMajor()))
    check_is_tanh(operator, options.FusedActivationFunction())
    layers = [_lstm(operator, inputs, options.CellClip()) for inputs in _BOTH]
    _require_equal_units(operator, layers)
    _convert(context, operator, data, layers, bool(options.MergeOutputs()))


@converts("RNN", quantized=False)
def convert_rnn(context: Context, operator: TfliteOperator) -> None:
    """Append one step of a layer. Inputs: data, weights of data and state, bias, state."""
    options = operator.options(tflite.RNNOptions)
    tensor = operator.input(0)
    require_types(operator, tensor, "input", _FLOAT)
    require_rank(operator, tensor, "input", (2,))
    layer = _rnn(operator, 1, _activation(operator, options.FusedActivationFunction()))
    _convert(context, operator, Placed(context.value(tensor), "bu"), [layer])


@converts("UNIDIRECTIONAL_SEQUENCE_RNN", quantized=False)
def convert_sequence_rnn(context: Context, operator: TfliteOperator) -> None:
    """Append a layer. Inputs: data, weights of data and state, bias, state."""
    options = operator.options(tflite.SequenceRNNOptions)
    data = _sequence(context, operator, bool(options.TimeMajor()))
    layer = _rnn(operator, 1, _activation(operator, options.FusedActivationFunction()))
    _convert(context, operator, data, [layer])


@converts("BIDIRECTIONAL_SEQUENCE_RNN", quantized=False)
def convert_bidirectional_rnn(context: Context, operator: TfliteOperator) -> None:
    """Append two layers. Inputs: data; for each the weights of data and state, bias, state."""
    options = operator.options(tflite.BidirectionalSequenceRNNOptions)
    data = _sequence(context, operator, bool(options.TimeMajor()))
    check_left_out(operator, {"an auxiliary input": (9, 10, 11)})
    activation = _activation(operator, options.FusedActivationFunction())
    layers = [_rnn(operator, first, activation) for first in (1, 5)]
    _convert(context, operator, data, layers, bool(options.MergeOutputs()))


@converts("SVDF", quantized=False)
def convert_svdf(context: Context, operator: TfliteOperator) -> None:
    """Append an SVDF. Inputs: data, weights of the features, weights over time, bias, state."""
    options = operator.options(tflite.SVDFOptions)
    data, features, time, rank = *map(operator.input, range(3)), options.Rank()
    require_types(operator, data, "input", _FLOAT)
    for tensor, label in ((data, "input"), (features, "weight"), (time, "weight")):
        require_rank(operator, tensor, label, (2,))
        if 0 in tensor.shape:
            raise operator.unsupported(f'{label} "{tensor.name}" has no elements')
    filters, memory = time.shape
    if rank < 1 or filters % rank:
        raise operator.unsupported(f"{filters} filters are not a multiple of rank {rank}")
    units = filters // rank
    has_bias = operator.optional_input(3) is not None
    layer = FloatSvdf(
        _constant(operator, 1, "weight", (filters, data.shape[1])),
        _constant(operator, 2, "weight", (filters, memory)),
        _constant(operator, 3, "bias", (units,)) if has_bias else None,
        units,
        _activation(operator, options.FusedActivationFunction()),
    )
    require_types(operator, operator.input(4), "state", _FLOAT)
    require_types(operator, operator.output, "output", _FLOAT)
    require_shape(operator, operator.output, "output", (data.shape[0], units))
    kept = variable_tensor(context, operator, 4, (data.shape[0], filters * memory))
    result, after = float_svdf(context.builder, context.value(data), kept.after, layer)
    context.set(operator.output, result)
    assign_variable(context, operator, 4, kept, after)


def _sequence(context: Context, operator: TfliteOperator, is_time_major: bool) -> Placed:
    """Return the data of an operator on sequences."""
    tensor = operator.input(0)
    require_types(operator, tensor, "input", _FLOAT)
    require_rank(operator, tensor, "input", (3,))
    return Placed(context.value(tensor), "tbu" if is_time_major else "btu")


def _activation(operator: TfliteOperator, number: int) -> Activation:
    name = fused_activation(number)
    if name not in _ACTIVATIONS:
        raise operator.unsupported(
            f"fused activation {name} is not supported; supported: {', '.join(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[name]


def _lstm(operator: TfliteOperator, inputs: _LstmInputs, cell_clip: float) -> _Direction:
    """Return an LSTM in one direction."""
    check_left_out(operator, inputs.left_out)
    check_has_input_gate(operator, inputs.data_weight)
    features, units = operator.input(0).shape[-1], _rows(operator, inputs.hidden_weight + 1)

    def joined(first: int, label: str, *columns: int) -> np.ndarray:
        """Return the constants of all gates, one after the other."""
        return np.concatenate(
            [
                _constant(operator, first + gate, f"{name} gate's {label}", (units, *columns))
                for gate, name in enumerate(GATES)
            ]
        )

    weights = Weights(
        joined(inputs.data_weight, "weight", features),
        joined(inputs.hidden_weight, "weight", units),
        joined(inputs.bias, "bias"),
    )
    clip = cell_clip if 0 < cell_clip < math.inf else None
    return _Direction(LstmCell(cell_clip=clip, order=_ORDER), weights, units, inputs.states)


def _rnn(operator: TfliteOperator, first: int, activation: Activation) -> _Direction:
    """Return a simple layer; its weights, bias and state begin at the input `first`."""
    features, units = operator.input(0).shape[-1], _rows(operator, first)
    weights = Weights(
        _constant(operator, first, "weight", (units, features)),
        _constant(operator, first + 1, "weight", (units, units)),
        _constant(operator, first + 2, "bias", (units,)),
    )
    return _Direction(RnnCell(activation), weights, units, (first + 3,))


def _rows(operator: TfliteOperator, index: int) -> int:
    """Return the number of units of a weight."""
    tensor = operator.input(index)
    require_rank(operator, tensor, "weight", (2,))
    return tensor.shape[0]


def _constant(
    operator: TfliteOperator, index: int, label: str, shape: tuple[int, ...]
) -> np.ndarray:
    """Return the values of a weight or bias."""
    tensor = operator.input(index)
    require_types(operator, tensor, label, _FLOAT)
    require_shape(operator, tensor, label, shape)
    return operator.constant(index)


def _convert(
    context: Context,
    operator: TfliteOperator,
    data: Placed,
    layers: Sequence[_Direction],
    merges: bool = False,
) -> None:
    """Append the layers, the second of which goes backwards, and keep their states.

    Parameters
    ----------
    merges
        whether the outputs are concatenated into one tensor, along the last axis.
    """
    if 0 in operator.input(0).shape or 0 in (layer.units for layer in layers):
        raise operator.unsupported("it has no steps, rows, features or units")
    _check_states_differ(operator, layers)
    targets = _outputs(operator, data, layers, merges)
    results: list[relax.Expr] = []
    for direction, (layer, target) in enumerate(zip(layers, targets, strict=True)):
        states = [
            variable_tensor(context, operator, index, (data.extent("b"), layer.units))
            for index in layer.states
        ]
        after, result = recurrent_layer(
            context.builder,
            layer.cell,
            data,
            layer.weights,
            [Placed(state.after, "bu") for state in states],
            Placed(results[0] if merges and results else target.tensor, target.axes, direction),
            backwards=direction == 1,
        )
        for index, state, value in zip(layer.states, states, after, strict=True):
            assign_variable(context, operator, index, state, value)
        assert result is not None
        results.append(result)
    if merges:
        results = [reshaped(context, results[1], operator.output.shape)]
    for tensor, result in zip(operator.outputs, results, strict=True):
        context.set(tensor, result)


def _outputs(
    operator: TfliteOperator, data: Placed, layers: Sequence[_Direction], merges: bool
) -> list[Placed]:
    """Return the type of each layer's output; merged outputs share a tensor of both directions."""
    if merges:
        _require_equal_units(operator, layers)
    parts = 2 if merges else 1
    axes = data.axes.replace("u", "du") if merges else data.axes
    outer = tuple(data.extent(axis) for axis in data.axes[:-1])
    if len(operator.outputs) * parts != len(layers):
        raise operator.unsupported(
            f"it has {len(operator.outputs)} outputs; it should have {len(layers) // parts}"
        )
    for tensor, layer in zip(operator.outputs, layers, strict=False):
        require_types(operator, tensor, "output", _FLOAT)
        require_shape(operator, tensor, "output", (*outer, parts * layer.units))
    shapes = [(*outer, *([parts] if merges else []), layer.units) for layer in layers]
    return [Placed(relax.TensorType(shape, "float32"), axes) for shape in shapes]


def _require_equal_units(operator: TfliteOperator, layers: Sequence[_Direction]) -> None:
    """Check that both directions have the same number of units."""
    units = [layer.units for layer in layers]
    if len(set(units)) > 1:
        raise operator.unsupported(
            f"directions of {units[0]} and {units[1]} units are not supported; give both as many"
        )


def _check_states_differ(operator: TfliteOperator, layers: Sequence[_Direction]) -> None:
    """Check that no two states are the same tensor, and that they are of float32."""
    indices = [index for layer in layers for index in layer.states]
    for index in indices:
        require_types(operator, operator.input(index), "state", _FLOAT)
    if len({operator.input(index).index for index in indices}) != len(indices):
        raise operator.unsupported(f"two of its states (inputs {indices}) are the same tensor")
