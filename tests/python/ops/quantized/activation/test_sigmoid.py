"""LOGISTIC and TANH of every int16, and with it every entry of the table of sigmoids."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.micro import Micro
from support.quantized_models.model import Spec, one_operator
from usmp.frontend.tflite.importer import import_tflite
from usmp.ops.quantized.activation.sigmoid import sigmoid_table

EVERY = np.arange(-32768, 32768).astype(np.int16)


@pytest.mark.models
@pytest.mark.parametrize("operator", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 3e-4, 2.5])
def test_every_input(operator, scale):
    x, y = (Spec((1, EVERY.size), s, 0, "int16") for s in (scale, 2.0**-15))
    content = one_operator(operator, [x], [y])
    inputs = {"t0": EVERY[None]}
    actual = usmp.build(import_tflite(content)).run(inputs)["t1"]
    assert actual.tobytes() == Micro(content).run(inputs)["t1"].tobytes()


def test_lines_between_entries_miss_the_curve_by_little():
    """By half as much as lines between points of the curve."""
    x = np.linspace(0, 10.6, 100001)
    curve = 65536 / (1 + np.exp(-x))
    error = np.interp(24 * x, np.arange(256), sigmoid_table()) - curve
    points = np.interp(24 * x, np.arange(256), 65536 / (1 + np.exp(-np.arange(256) / 24)))
    assert np.abs(error).max() <= np.abs(points - curve).max() / 2 + 0.5
