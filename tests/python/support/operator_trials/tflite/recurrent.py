"""Operators that keep a state from one run to the next."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.trial import Generator, Trial
from support.quantized_models import variables
from support.quantized_models.recurrent import Lstm, Svdf, lstm, svdf


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
    "SVDF": svdf_trial,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm_trial,
}
