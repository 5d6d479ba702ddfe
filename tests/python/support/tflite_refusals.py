"""What the importer says of a TFLite file that it refuses."""

from __future__ import annotations

import pytest

import usmp
from support.quantized_models.model import Constant, Spec, one_operator
from support.tflite_builder import Options
from usmp.frontend.tflite.importer import import_tflite


def message_of(content: bytes) -> str:
    """The message of the refusal, one line."""
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_tflite(content)
    assert "\n" not in str(error.value)
    return str(error.value)


def refusal(
    code: str, inputs: list[Spec | Constant | None], output: Spec, table: Options | None = None
) -> str:
    """What follows the operator's name, place and output."""
    message = message_of(one_operator(code, inputs, [output], table))
    prefix = f'operator 0 ({code}, output "t{len(inputs)}"): '
    assert message.startswith(prefix)
    return message.removeprefix(prefix)
