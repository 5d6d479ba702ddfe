"""`LSTM`, `GRU` and `RNN`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import Operand, graph_trial, input_names, opset_of
from support.operator_trials.onnx.samples import constant, either, values
from support.operator_trials.trial import Generator, Tolerance, Trial

helper = lazy("onnx.helper")

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
"""How many one direction has."""
_TAKING_ALPHA = ("Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "ThresholdedRelu")
_TAKING_BETA = ("Affine", "HardSigmoid", "ScaledTanh")
_KNOWN = (*_TAKING_ALPHA, "Relu", "Sigmoid", "Softplus", "Softsign", "Tanh")
_BOUNDED = ("HardSigmoid", "ScaledTanh", "Sigmoid", "Softsign", "Tanh")
_TOLERANCE = Tolerance(1e-5, 1e-5)
"""onnxruntime's sigmoids and tangents are rational functions, whose errors go on from step to
step."""
_TOLERANCE_IF_UNBOUNDED = Tolerance(1e-3, 1e-4)
"""A gate that multiplies by more than 1 makes errors larger in each step."""


@dataclass(frozen=True)
class _Extents:
    """Of the axes of a layer."""

    t: int
    b: int
    d: int
    u: int
    features: int

    def of(self, axes: str) -> list[int]:
        return [getattr(self, axis) for axis in axes]


def recurrent(operator: str, random: Random) -> Trial:
    """A layer, whose operands are mostly constant but for the data."""
    opset = opset_of(random, operator)
    named = random.choice(("forward", "reverse", "bidirectional"))
    directions = 2 if named == "bidirectional" else 1
    extents = _Extents(
        random.randint(1, 7),
        random.randint(1, 3),
        directions,
        random.randint(1, 6),
        random.randint(1, 6),
    )
    layout = random.choice((0, 0, 1)) if opset >= 14 else 0
    attributes: dict[str, Any] = {
        "hidden_size": extents.u,
        **_activations(random, operator, extents),
    }
    is_bounded = all(name in _BOUNDED for name in attributes.get("activations", ()))
    if directions == 2 or random.random() < 0.7:
        attributes["direction"] = named
    if random.random() < 0.25:
        attributes["clip"] = random.choice((0.3, 1.0, 5.0))
    if operator == "LSTM" and random.random() < 0.3:
        attributes["input_forget"] = random.randint(0, 1)
    if operator == "GRU" and random.random() < 0.6:
        attributes["linear_before_reset"] = random.randint(0, 1)
    operands = _operands(random, operator, extents, layout, is_bounded)
    count = 3 if operator == "LSTM" else 2
    names = [f"y{i}" if random.random() < 0.7 else "" for i in range(count)]
    if not any(names):
        names[random.randrange(count)] = "y"
    while not names[-1]:
        names.pop()
    outputs = [name for name in names if name]
    described = f"{attributes}, layout {layout}, outputs {names}"
    tolerance = _TOLERANCE if is_bounded else _TOLERANCE_IF_UNBOUNDED

    def trial(layout: int) -> Trial:
        node = helper.make_node(operator, input_names(operands), names, **attributes)
        if layout:
            node.attribute.append(helper.make_attribute("layout", 1))
        nodes = [node]
        return graph_trial(random, operator, nodes, operands, outputs, opset, described, tolerance)

    if not layout:
        return trial(0)
    node = helper.make_node(
        operator,
        [f"t_{n}" if n in ("x0", "x5", "x6") else n for n in input_names(operands)],
        [name and f"t_{name}" for name in names],
        **attributes,
    )
    swapped = [n for n in ("x0", "x5", "x6") if n in input_names(operands)]
    nodes = [helper.make_node("Transpose", [n], [f"t_{n}"], perm=[1, 0, 2]) for n in swapped]
    nodes.append(node)
    for place, name in enumerate(names):
        if name:
            perm = [2, 0, 1, 3] if place == 0 else [1, 0, 2]
            nodes.append(helper.make_node("Transpose", [f"t_{name}"], [name], perm=perm))
    # onnxruntime has no kernel for layout 1, and ONNX's evaluator knows few of the attributes.
    other = graph_trial(random, operator, nodes, operands, outputs, opset)
    return replace(trial(1), reference=other.reference)


def _activations(random: Random, operator: str, extents: _Extents) -> dict[str, Any]:
    if random.random() < 0.4:
        return {}
    chosen = [random.choice(_KNOWN) for _ in range(_ACTIVATIONS[operator] * extents.d)]
    attributes: dict[str, Any] = {"activations": chosen}
    for name, taking in (("activation_alpha", _TAKING_ALPHA), ("activation_beta", _TAKING_BETA)):
        count = sum(activation in taking for activation in chosen)
        if count and random.random() < 0.95:
            attributes[name] = [round(random.uniform(0.05, 0.9), 3) for _ in range(count)]
    return attributes


def _operands(
    random: Random, operator: str, extents: _Extents, layout: int, is_bounded: bool
) -> list[Operand]:
    """Data, W, R, B, lengths, initial states."""
    rows = _GATES[operator] * extents.u
    strength = random.choice((0.3, 1.0)) if is_bounded else 0.3

    def weight(*shape: int) -> Operand:
        return either(random, values("float32", shape, -strength, strength), 0.85)

    operands: list[Operand] = [
        values("float32", [*extents.of("bt" if layout else "tb"), extents.features]),
        weight(extents.d, rows, extents.features),
        weight(extents.d, rows, extents.u),
        weight(extents.d, 2 * rows) if random.random() < 0.7 else None,
        np.full(extents.b, extents.t, np.int32) if random.random() < 0.2 else None,
    ]
    states = extents.of("bdu" if layout else "dbu")
    for _ in range(2 if operator == "LSTM" else 1):
        initial = random.choice(("none", "varied", "constant"))
        if initial == "varied":
            operands.append(values("float32", states, -1, 1))
        elif initial == "constant":
            operands.append(constant(random, "float32", states, -1, 1))
        else:
            operands.append(None)
    while operands[-1] is None:
        operands.pop()
    return operands


GENERATORS: Mapping[str, Generator] = {
    operator: partial(recurrent, operator) for operator in _GATES
}
