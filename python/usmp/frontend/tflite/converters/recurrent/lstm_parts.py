"""Checks of the parts of a TFLite LSTM, on integers and on float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import fused_activation

GATES = ("input", "forget", "cell", "output")
"""The gates, in the order of their weights and biases."""

LEFT_OUT: Mapping[str, Sequence[int]] = {
    "peephole connections": (9, 10, 11),
    "a projection": (16, 17),
    "layer normalization": (20, 21, 22, 23),
}
"""Parts of a UNIDIRECTIONAL_SEQUENCE_LSTM that are not supported -> the inputs that hold them."""


def check_is_tanh(operator: TfliteOperator, number: int) -> None:
    """Check that the activation is TANH, the only one that all TFLite runtimes compute.

    Raises
    ------
    UnsupportedModelError
        the activation is another one.
    """
    if fused_activation(number) != "TANH":
        raise operator.unsupported(
            f"fused activation {fused_activation(number)} is not supported; only TANH is"
        )


def check_left_out(operator: TfliteOperator, left_out: Mapping[str, Sequence[int]]) -> None:
    """Check that the operator does not have these parts.

    Raises
    ------
    UnsupportedModelError
        the operator has one of the parts.
    """
    for part, indices in left_out.items():
        for index in indices:
            tensor = operator.optional_input(index)
            if tensor is not None:
                raise operator.unsupported(
                    f'{part} (input {index}, "{tensor.name}") is not supported'
                )


def check_has_input_gate(operator: TfliteOperator, data_weight: int) -> None:
    """Check that the input gate has its own weights; `data_weight` is the index of their input.

    Raises
    ------
    UnsupportedModelError
        the input gate is coupled to the forget gate.
    """
    if operator.optional_input(data_weight) is None:
        raise operator.unsupported(
            f"an input gate that is coupled to the forget gate (input {data_weight} is missing) is "
            "not supported"
        )
