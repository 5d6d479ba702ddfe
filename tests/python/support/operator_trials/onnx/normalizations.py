"""Operators that subtract a mean and divide by a deviation."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from support.operator_trials.onnx.one_node import MICROSOFT, Operand, node_trial, opset_of
from support.operator_trials.onnx.samples import axis_of, either, permuted_axes, shape_of, values
from support.operator_trials.trial import Generator, Tolerance, Trial

LOOSE = Tolerance(1e-4, 2e-5)


def _weights(random: Random, *shapes: list[int]) -> list[Operand]:
    return [either(random, values("float32", shape), 0.7) for shape in shapes]


def _epsilon(random: Random) -> float | None:
    return random.choice([None, 1e-2, 1e-3])


def batch_normalization(random: Random) -> Trial:
    """Of inference, or one that computes statistics of its own."""
    opset = opset_of(random, "BatchNormalization")
    channels = random.randint(1, 4)
    rest = shape_of(random, 0, 3, 5)
    x = values("float32", [random.randint(1, 3), channels, *rest])
    weights = _weights(random, *[[channels]] * 3)
    variance = either(random, values("float32", [channels], 0.1, 2), 0.7)
    attributes: dict[str, Any] = {"epsilon": _epsilon(random)}
    attributes["momentum"] = random.choice([None, 0.5])
    outputs = 1
    if opset >= 14 and random.random() < 0.2:
        attributes["training_mode"] = 1
        outputs = 3
    elif opset >= 14:
        attributes["training_mode"] = random.choice([None, 0])
    return node_trial(
        random,
        "BatchNormalization",
        [x, *weights, variance],
        opset,
        outputs,
        tolerance=LOOSE,
        **attributes,
    )


def layer_normalization(random: Random) -> Trial:
    opset = opset_of(random, "LayerNormalization")
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape))
    asked = random.choice([None, axis])
    normalized = shape[-1 if asked is None else asked :]
    weights = _weights(random, normalized, normalized)[: random.randint(1, 2)]
    outputs = random.choice([1, 1, 1, 3])
    return node_trial(
        random,
        "LayerNormalization",
        [values("float32", shape), *weights],
        opset,
        outputs,
        tolerance=LOOSE,
        axis=asked,
        epsilon=_epsilon(random),
    )


def rms_normalization(random: Random) -> Trial:
    opset = opset_of(random, "RMSNormalization")
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape))
    asked = random.choice([None, axis])
    weights = _weights(random, shape[-1 if asked is None else asked :])
    return node_trial(
        random,
        "RMSNormalization",
        [values("float32", shape), *weights],
        opset,
        tolerance=LOOSE,
        axis=asked,
        epsilon=_epsilon(random),
    )


def group_normalization(random: Random) -> Trial:
    opset = random.choice([21, 22, 24, 26])
    groups = random.randint(1, 3)
    channels = groups * random.randint(1, 3)
    rest = shape_of(random, 1, 3, 5)
    count = groups if opset < 21 else channels
    return node_trial(
        random,
        "GroupNormalization",
        [
            values("float32", [random.randint(1, 2), channels, *rest]),
            *_weights(random, [count], [count]),
        ],
        opset,
        tolerance=LOOSE,
        num_groups=groups,
        epsilon=_epsilon(random),
    )


def instance_normalization(random: Random) -> Trial:
    opset = opset_of(random, "InstanceNormalization")
    channels = random.randint(1, 4)
    rest = shape_of(random, 1, 3, 5)
    return node_trial(
        random,
        "InstanceNormalization",
        [
            values("float32", [random.randint(1, 2), channels, *rest]),
            *_weights(random, [channels], [channels]),
        ],
        opset,
        tolerance=LOOSE,
        epsilon=_epsilon(random),
    )


def mean_variance_normalization(random: Random) -> Trial:
    opset = opset_of(random, "MeanVarianceNormalization")
    shape = [random.randint(1, 3), random.randint(1, 3), *shape_of(random, 2, 2, 5)]
    axes = random.choice([None, permuted_axes(random, len(shape))])
    if axes is not None:
        axes = [axis % len(shape) for axis in axes]
    return node_trial(
        random,
        "MeanVarianceNormalization",
        [values("float32", shape)],
        opset,
        tolerance=Tolerance(1e-3, 1e-3),
        axes=axes,
    )


def local_response_normalization(random: Random) -> Trial:
    opset = opset_of(random, "LRN")
    shape = [random.randint(1, 2), random.randint(1, 7), *shape_of(random, 2, 2, 4)]
    return node_trial(
        random,
        "LRN",
        [values("float32", shape)],
        opset,
        tolerance=LOOSE,
        size=random.choice([1, 3, 5, 5, 4]),
        alpha=random.choice([None, 0.1]),
        beta=random.choice([None, 0.5]),
        bias=random.choice([None, 2.0]),
    )


def skip_layer_normalization(random: Random) -> Trial:
    shape = shape_of(random, 3, 3)
    width = shape[-1:]
    operands: list[Operand] = [values("float32", shape), values("float32", shape)]
    operands += _weights(random, *[width] * random.choice([1, 2, 3, 3, 3]))
    return node_trial(
        random,
        "SkipLayerNormalization",
        operands,
        17,
        domain=MICROSOFT,
        tolerance=LOOSE,
        epsilon=_epsilon(random),
    )


def embed_layer_normalization(random: Random) -> Trial:
    batch, length, hidden, words = 2, random.randint(1, 4), random.randint(1, 5), 9
    segments = random.random() < 0.5
    operands: list[Operand] = [
        values("int32", [batch, length], 0, words - 1),
        values("int32", [batch, length], 0, 1) if segments else None,
        *_weights(random, [words, hidden], [6, hidden]),
        *(_weights(random, [2, hidden]) if segments else [None]),
        *_weights(random, [hidden], [hidden]),
    ]
    if random.random() < 0.4:
        operands.append(values("int32", [batch, length], 0, 1))
    return node_trial(
        random,
        "EmbedLayerNormalization",
        operands,
        17,
        2,
        domain=MICROSOFT,
        output_types=["float32", "int32"],
        tolerance=LOOSE,
        epsilon=_epsilon(random),
    )


GENERATORS: Mapping[str, Generator] = {
    "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization,
    "RMSNormalization": rms_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "LRN": local_response_normalization,
    f"{MICROSOFT}.SkipLayerNormalization": skip_layer_normalization,
    f"{MICROSOFT}.EmbedLayerNormalization": embed_layer_normalization,
}
