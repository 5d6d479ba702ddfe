"""Operators that keep a state from one run to the next."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from support.float_recurrent_models import FloatSvdf, Layer, float_svdf, layer
from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.trial import Generator, Tolerance, Trial
from support.quantized_models import variables
from support.quantized_models.recurrent import Lstm, Svdf, lstm, svdf

_ACTIVATIONS = ("TANH", "TANH", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_FLOATS = Tolerance(1e-5, 1e-5)
"""Errors go on from step to step."""


def layer_trial(operator: str) -> Callable[[Random], Trial]:
    """A layer of float32."""

    def generate(random: Random) -> Trial:
        draw = Draw(random)
        units, merges = draw.number(1, 6), draw.flag()
        is_lstm, goes_both_ways = operator.endswith("LSTM"), operator.startswith("BI")
        time_major, merges = draw.flag() and operator != "RNN", merges and goes_both_ways
        # LiteRT reads the states of merged LSTMs at wrong places if the batch comes first.
        largest_batch = 1 if is_lstm and merges and not time_major else 3
        activation = "TANH" if is_lstm else draw.choice(_ACTIVATIONS)
        case = Layer(
            operator,
            batch=draw.number(1, largest_batch),
            steps=draw.number(1, 6),
            features=draw.number(1, 6),
            units=(units, units if merges or is_lstm else draw.number(1, 6)),
            time_major=time_major,
            activation=activation,
            cell_clip=draw.choice((0.0, 0.5, 5.0)) if is_lstm else 0.0,
            merges=merges,
            # What no activation bounds must not grow from run to run.
            strength=0.12 if activation in ("NONE", "RELU") else draw.choice((0.3, 1.0)),
        )
        content, model = layer(case), Model([], [], tolerance=_FLOATS)
        return trial(operator, content, repr(case), model, random)

    return generate


def float_svdf_trial(random: Random) -> Trial:
    draw = Draw(random)
    case = FloatSvdf(
        batch=draw.number(1, 2),
        features=draw.number(1, 8),
        units=draw.number(1, 5),
        rank=draw.number(1, 3),
        memory=draw.number(1, 6),
        activation=draw.choice(_ACTIVATIONS),
        has_bias=draw.flag(0.7),
    )
    model = Model([], [], tolerance=_FLOATS)
    return trial("SVDF", float_svdf(case), repr(case), model, random)


def either(*generators: Generator) -> Generator:
    """A trial of any of them."""
    return lambda random: random.choice(generators)(random)


def svdf_trial(random: Random) -> Trial:
    draw = Draw(random)
    activation = draw.choice(("NONE", "RELU"))
    case = Svdf(
        batch=draw.number(1, 2),
        features=draw.number(1, 12),
        units=draw.number(1, 8),
        rank=draw.number(1, 3),
        memory=draw.number(1, 6),
        state=draw.choice(("int16", "int8")),
        zero_points=(draw.number(-128, 127), draw.number(-128, 127)),
        activation=activation,
        time_low=draw.choice((-1, 0)),
        y_scale=draw.scale(0.02, 0.1),
    )
    return trial("SVDF", svdf(case), repr(case), Model([], []), random)


def lstm_trial(random: Random) -> Trial:
    draw = Draw(random)
    dtype = draw.choice(("int8", "int16"))
    zero_points = (draw.number(-128, 127), draw.number(-20, 20)) if dtype == "int8" else (0, 0)
    case = Lstm(
        batch=draw.number(1, 3),
        steps=draw.number(1, 5),
        features=draw.number(1, 6),
        units=draw.number(1, 7),
        time_major=draw.flag(),
        cell_clip=draw.choice((0.0, 0.7, 10.0)),
        cell_power=draw.number(9, 15),
        zero_points=zero_points,
        dtype=dtype,
        strength=draw.scale(0.3, 8),
    )
    return trial("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm(case), repr(case), Model([], []), random)


def variables_trial(operator: str) -> Callable[[Random], Trial]:
    """One of the catalog's models of variables; they have all operators that variables need."""

    def generate(random: Random) -> Trial:
        model = random.choice(variables.MODELS)
        return trial(operator, model.make(), model.name, Model([], []), random)

    return generate


_OF_VARIABLES = ("ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE")
GENERATORS: dict[str, Generator] = {
    **{operator: variables_trial(operator) for operator in _OF_VARIABLES},
    "BIDIRECTIONAL_SEQUENCE_LSTM": layer_trial("BIDIRECTIONAL_SEQUENCE_LSTM"),
    "BIDIRECTIONAL_SEQUENCE_RNN": layer_trial("BIDIRECTIONAL_SEQUENCE_RNN"),
    "RNN": layer_trial("RNN"),
    "SVDF": either(svdf_trial, float_svdf_trial),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": either(lstm_trial, layer_trial("UNIDIRECTIONAL_SEQUENCE_LSTM")),
    "UNIDIRECTIONAL_SEQUENCE_RNN": layer_trial("UNIDIRECTIONAL_SEQUENCE_RNN"),
}
