"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import graph_trial, node_trial, opset_of
from support.operator_trials.onnx.samples import int64, shape_of, values
from support.operator_trials.trial import Generator, Tolerance, Trial

helper = lazy("onnx.helper")

SUMS = Tolerance(1e-4, 1e-4)
_LENGTHS = [1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 20, 30, 33]


def dft(random: Random) -> Trial:
    """Of real or complex numbers, cut or filled up, forwards or backwards."""
    opset = opset_of(random, "DFT")
    shape = shape_of(random, 1, 3, 5)
    axis, length = random.randrange(len(shape)), random.choice(_LENGTHS)
    inverse, onesided = random.random() < 0.4, random.random() < 0.5
    shape[axis] = length
    if inverse and onesided:
        shape[axis] = length // 2 + 1
    parts = 2 if inverse else 1 if onesided else random.choice([1, 2])
    asked = None
    if (inverse and onesided) or random.random() < 0.4:
        asked = np.array(length, np.int64)
        if random.random() < 0.5:
            shape[axis] = max(1, shape[axis] + random.randint(-3, 3))
    operands: list[Any] = [values("float32", [*shape, parts]), asked]
    attributes: dict[str, Any] = {"inverse": int(inverse), "onesided": int(onesided)}
    given = axis - len(shape) - 1 if random.random() < 0.5 else axis
    if opset < 20:
        attributes["axis"] = given
    else:
        operands.append(np.array(given, np.int64))
    while operands[-1] is None:
        operands.pop()
    return node_trial(
        random, "DFT", operands, opset, tolerance=SUMS, by_evaluator=True, **attributes
    )


def stft(random: Random) -> Trial:
    opset = opset_of(random, "STFT")
    length, step = random.choice(_LENGTHS[2:]), random.randint(1, 9)
    numbers = length + random.randint(0, 40)
    onesided = random.choice([0, 1])
    parts = 2 if onesided == 0 and random.random() < 0.5 else 1
    operands: list[Any] = [
        values("float32", [random.randint(1, 2), numbers, parts]),
        int64(step).reshape(()),
        values("float32", [length]) if random.random() < 0.6 else None,
    ]
    if operands[2] is None or random.random() < 0.5:
        operands.append(int64(length).reshape(()))
    # onnxruntime's are off by more than the tolerance in lengths that are no powers of two.
    by_evaluator = random.random() < 0.5 or length & (length - 1) != 0
    return node_trial(
        random,
        "STFT",
        operands,
        opset,
        tolerance=SUMS,
        by_evaluator=by_evaluator,
        onesided=onesided,
    )


def mel_weight_matrix(random: Random) -> Trial:
    """Times numbers, since a model has an input."""
    length, bins = random.choice([16, 20, 64, 256]), random.randint(1, 12)
    low = random.choice([0.0, 20.0, 125.0])
    matrix = helper.make_node("MelWeightMatrix", [f"x{i}" for i in range(1, 6)], ["m"])
    operands: list[Any] = [
        values("float32", [length // 2 + 1, bins]),
        *(np.array(number, np.int64) for number in (bins, length, 16000)),
        *(np.array(edge, np.float32) for edge in (low, random.choice([4000, 7500, 8000]))),
    ]
    nodes = [matrix, helper.make_node("Mul", ["x0", "m"], ["y"])]
    return graph_trial(random, "MelWeightMatrix", nodes, operands, ["y"], 17, tolerance=SUMS)


GENERATORS: Mapping[str, Generator] = {
    "DFT": dft,
    "MelWeightMatrix": mel_weight_matrix,
    "STFT": stft,
}
