"""Quotients that are rounded down, and shifts by any number, are LiteRT's."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.litert import Reference
from support.quantized_models.model import Spec, one_operator
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.models

CASES = {
    # Rounding 1 / 0.1 to float32 gives 10, and the exact quotient is less.
    "FLOOR_DIV": (np.float32([1, 0.3, -7, 7, -0.0, -1]), np.float32([0.1, 0.1, 2, -2, 3, -3])),
    "FLOOR_MOD": (np.float32([1, 0.3, -7, 7, 5, -1]), np.float32([0.1, 0.1, 2, -2, 3, -3])),
    "RIGHT_SHIFT": (np.int32([5, -5, 5, -5, 1]), np.int32([-2, -1, 40, 40, 31])),
}


@pytest.mark.parametrize("name", CASES)
def test_special_operands(name):
    operands = CASES[name]
    tensors = [Spec(value.shape, 0, 0, str(value.dtype)) for value in operands]
    content = one_operator(name, tensors, tensors[:1], None)
    inputs = {f"t{index}": value for index, value in enumerate(operands)}
    (expected,) = Reference(content).run(inputs).values()
    (result,) = usmp.build(import_tflite(content)).run(inputs).values()
    np.testing.assert_array_equal(result, expected)
