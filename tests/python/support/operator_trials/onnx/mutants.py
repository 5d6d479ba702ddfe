"""Trials of ONNX operators with one number of a valid model changed, mostly to one that no operator
may have: an attribute, or a constant that says an axis or a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import session_of
from support.operator_trials.trial import Inputs, NoReferenceError, Trial

onnx = lazy("onnx")
numpy_helper = lazy("onnx.numpy_helper")
all_nodes = lazy("usmp.frontend.onnx.graph.nodes:all_nodes")

INTEGERS = (
    *(0, 1, -1, 2, 3, 4, -2, -5, 7, 100),
    *(2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**62, 2**63 - 1, -(2**63)),
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-38, 3e38, float("inf"), float("-inf"), float("nan"))
_WORDS = (b"", b"other", b"NOTSET", b"SAME_UPPER", b"linear", b"reflect")
_MOST_ELEMENTS = 16
"""Of a constant whose elements are changed; more are weights."""


def mutant_of(trial: Trial, random: Random) -> Trial | None:
    """The trial with one change; none if nothing of its model can be changed."""
    model = onnx.ModelProto.FromString(trial.model)
    changes = list(_changes(model, random))
    if not changes:
        return None
    description = random.choice(changes)()
    content = model.SerializeToString()
    return replace(
        trial,
        description=f"{trial.description}; changed: {description}",
        model=content,
        reference=lambda inputs: _run(content, inputs),
    )


def _run(content: bytes, inputs: Inputs) -> Sequence[np.ndarray]:
    try:
        return [np.asarray(value) for value in session_of(content).run(None, dict(inputs))]
    except Exception as error:
        raise NoReferenceError(f"onnxruntime: {error}") from error


def _changes(model: onnx.ModelProto, random: Random) -> Iterator[Callable[[], str]]:
    """What may be changed in place; each change says what it was."""
    for node in all_nodes(model.graph):
        for attribute in node.attribute:
            if attribute.type in _CHANGED:
                yield lambda attribute=attribute: _change_attribute(attribute, random)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.int64 and 0 < values.size <= _MOST_ELEMENTS:
            yield lambda tensor=tensor: _change_tensor(tensor, random)


def _change_attribute(attribute: onnx.AttributeProto, random: Random) -> str:
    value = onnx.helper.get_attribute_value(attribute)
    changed = _CHANGED[attribute.type](value, random)
    attribute.CopyFrom(
        onnx.helper.make_attribute(attribute.name, changed, attr_type=attribute.type)
    )
    return f"{attribute.name}={changed}"


def _change_tensor(tensor: onnx.TensorProto, random: Random) -> str:
    values = numpy_helper.to_array(tensor)
    flat = values.reshape(-1).tolist()
    if values.ndim == 1:
        changed = np.array(_changed_list(flat, random), np.int64)
    else:
        flat[random.randrange(len(flat))] = _integer(0, random)
        changed = np.array(flat, np.int64).reshape(values.shape)
    tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    return f"{tensor.name}={changed.tolist()}"


def _integer(_: int, random: Random) -> int:
    return random.choice(INTEGERS)


def _changed_list(values: Sequence[int], random: Random) -> list[int]:
    """With an element changed, repeated or left out."""
    changed = list(values)
    how = random.random()
    if not changed or how < 0.1:
        changed.append(_integer(0, random))
    elif how < 0.2:
        del changed[random.randrange(len(changed))]
    elif how < 0.3:
        changed[random.randrange(len(changed))] = random.choice(changed)
    else:
        changed[random.randrange(len(changed))] = _integer(0, random)
    return changed


_CHANGED: dict[int, Callable[[Any, Random], Any]] = {
    1: lambda _, random: random.choice(_FLOATS),
    2: _integer,
    3: lambda _, random: random.choice(_WORDS),
    7: _changed_list,
}
"""By the number of the type: FLOAT, INT, STRING and INTS."""
