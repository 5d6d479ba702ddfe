"""Sequences and optional values, of which no memory is left once the model is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import Operand, graph_trial
from support.operator_trials.onnx.samples import int64, shape_of, values
from support.operator_trials.trial import Generator, Trial

TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")

node = lazy("onnx.helper:make_node")


def sequence(operator: str, random: Random) -> Trial:
    """A few tensors, of which a sequence is made, changed and read."""
    opset = random.choice([11, 13, 17, 18, 21])
    shape = shape_of(random, 1, 3)
    count = random.randint(2, 4)
    operands: list[Operand] = [values("float32", shape) for _ in range(count)]
    tensors = [f"x{index}" for index in range(count)]
    at = random.randrange(-count + 1, count - 1)
    operands.append(np.array(at, np.int64))
    nodes = [node("SequenceConstruct", tensors, ["s"])]
    last = "s"
    if operator == "SequenceInsert":
        place = [f"x{count}"] if random.random() < 0.7 else []
        nodes.append(node("SequenceInsert", ["s", "x0", *place], ["t"]))
        last = "t"
    elif operator == "SequenceErase":
        place = [f"x{count}"] if random.random() < 0.7 else []
        nodes.append(node("SequenceErase", ["s", *place], ["t"]))
        last = "t"
    elif operator == "SequenceEmpty":
        nodes = [node("SequenceEmpty", [], ["s"], dtype=TensorProto.FLOAT)]
        for index, name in enumerate(tensors):
            nodes.append(node("SequenceInsert", [last, name], [f"s{index}"]))
            last = f"s{index}"
    elif operator == "SequenceLength":
        nodes.append(node("SequenceLength", ["s"], ["y"]))
        return graph_trial(random, operator, nodes, operands, ["y"], opset)
    elif operator == "SequenceAt":
        nodes.append(node("SequenceAt", ["s", f"x{count}"], ["y"]))
        return graph_trial(random, operator, nodes, operands, ["y"], opset, f"at {at}")
    attributes: dict[str, Any] = {"axis": random.randrange(len(shape))}
    if random.random() < 0.5:
        attributes = {"axis": random.randint(0, len(shape)), "new_axis": 1}
    nodes.append(node("ConcatFromSequence", [last], ["y"], **attributes))
    return graph_trial(random, operator, nodes, operands, ["y"], opset, f"at {at}, {attributes}")


def split_to_sequence(random: Random) -> Trial:
    opset = random.choice([11, 13, 17, 21, 24])
    shape = shape_of(random, 1, 3)
    axis = random.randrange(len(shape))
    sizes = [random.randint(1, 3) for _ in range(random.randint(2, 3))]
    shape[axis] = sum(sizes)
    form = random.choice(["sizes", "one size", "none"])
    keep = random.choice([None, 0, 1])
    operands: list[Operand] = [values("float32", shape), np.array(1, np.int64)]
    inputs = ["x0"]
    if form == "sizes":
        operands.append(int64(*sizes))
        inputs.append("x2")
    elif form == "one size":
        operands.append(np.array(random.randint(1, 3), np.int64))
        inputs.append("x2")
        # ONNX ignores it here, onnxruntime does not.
        keep = None
    attributes = {} if keep is None else {"keepdims": keep}
    nodes = [
        node("SplitToSequence", inputs, ["s"], axis=axis, **attributes),
        node("SequenceAt", ["s", "x1"], ["y"]),
    ]
    described = f"axis={axis}, {form} {sizes}, {attributes}"
    return graph_trial(random, "SplitToSequence", nodes, operands, ["y"], opset, described)


def optional(operator: str, random: Random) -> Trial:
    opset = random.choice([15, 17, 18, 21])
    x = values("float32", shape_of(random))
    nodes = [node("Optional", ["x0"], ["o"])]
    if operator == "OptionalHasElement":
        nodes += [
            node("OptionalHasElement", ["o"], ["h"]),
            node("Identity", ["x0"], ["z"]),
        ]
        return graph_trial(random, operator, nodes, [x], ["h", "z"], opset)
    nodes.append(node("OptionalGetElement", ["o"], ["y"]))
    return graph_trial(random, operator, nodes, [x], ["y"], opset)


_SEQUENCES = """SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
ConcatFromSequence SequenceAt""".split()

GENERATORS: Mapping[str, Generator] = {
    **{operator: partial(sequence, operator) for operator in _SEQUENCES},
    "SplitToSequence": split_to_sequence,
    **{
        operator: partial(optional, operator)
        for operator in ("Optional", "OptionalHasElement", "OptionalGetElement")
    },
}
