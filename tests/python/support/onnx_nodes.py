"""Models of one ONNX node, with operands as they are written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from tvm import relax

from support.lazy import lazy
from support.operator_trials.onnx.one_node import Varied, node_trial
from support.operator_trials.trial import EXACT, Trial

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")


def given(*rows, dtype="float32") -> Varied:
    """An input of these values."""
    array = np.array(rows, dtype)
    return Varied(lambda generator: array.copy())


def node(operator, *operands, opset=17, outputs=1, **attributes) -> Trial:
    """A trial whose results must be exact."""
    return node_trial(Random(0), operator, operands, opset, outputs, tolerance=EXACT, **attributes)


def later(operator, *operands, **attributes) -> Callable[[], Trial]:
    """What makes the trial when a test calls it: tables of them load no ONNX."""
    return partial(node, operator, *operands, **attributes)


def imported(content: bytes) -> relax.Function:
    """The `main` of a model."""
    return import_onnx(content, Path("."))["main"]
