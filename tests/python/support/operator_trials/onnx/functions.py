"""Operators that ONNX defines by others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random

import numpy as np

from support.operator_trials.onnx.one_node import Operand, node_trial, opset_of
from support.operator_trials.onnx.samples import constant, either, int64, shape_of, values
from support.operator_trials.trial import Generator, Tolerance, Trial

SUMS = Tolerance(1e-4, 1e-5)


def loss(operator: str, random: Random) -> Trial:
    """Of log-probabilities or scores, some classes weighted, one of them ignored."""
    opset = opset_of(random, operator)
    batch, classes = random.randint(1, 4), random.randint(2, 5)
    rest = shape_of(random, 0, 2, 4)
    labels = values(random.choice(["int32", "int64"]), [batch, *rest], 0, classes - 1)
    operands: list[Operand] = [values("float32", [batch, classes, *rest]), labels]
    if random.random() < 0.5:
        operands.append(either(random, values("float32", [classes], 0.2, 2), 0.7))
    outputs = random.choice([1, 2]) if operator == "SoftmaxCrossEntropyLoss" else 1
    # The mean of nothing is no number.
    reduction = random.choice([None, "mean", "sum", "none"])
    ignored = random.randrange(classes) if reduction in ("sum", "none") else None
    return node_trial(
        random,
        operator,
        operands,
        opset,
        outputs,
        tolerance=SUMS,
        reduction=reduction,
        ignore_index=random.choice([None, ignored]),
    )


def center_crop_pad(random: Random) -> Trial:
    shape = shape_of(random, 1, 4)
    axes = random.sample(range(len(shape)), random.randint(1, len(shape)))
    asked = None if len(axes) == len(shape) and random.random() < 0.5 else axes
    if asked is not None:
        asked = [axis - len(shape) if random.random() < 0.3 else axis for axis in axes]
    wanted = int64(*(random.randint(1, 8) for _ in axes))
    dtype = random.choice(["float32", "int8", "int32", "float64"])
    opset = opset_of(random, "CenterCropPad")
    return node_trial(random, "CenterCropPad", [values(dtype, shape), wanted], opset, axes=asked)


def window(operator: str, random: Random) -> Trial:
    """Of a size that is constant."""
    size = np.array(random.randint(1, 12), random.choice([np.int32, np.int64]))
    periodic = random.choice([None, 0, 1])
    opset = opset_of(random, operator)
    return node_trial(random, operator, [size], opset, tolerance=SUMS, periodic=periodic)


def rotary_embedding(random: Random) -> Trial:
    opset = opset_of(random, "RotaryEmbedding")
    batch, heads, length = random.randint(1, 2), random.randint(1, 3), random.randint(1, 4)
    size = 2 * random.randint(1, 4)
    turned = random.choice([0, 0, 2 * random.randint(1, size // 2)])
    is_flat = random.random() < 0.5
    shape = [batch, length, heads * size] if is_flat else [batch, heads, length, size]
    half = (turned or size) // 2
    operands: list[Operand] = [values("float32", shape)]
    if random.random() < 0.5:
        most = random.randint(length, 8)
        operands += [constant(random, "float32", [most, half]) for _ in range(2)]
        operands.append(either(random, values("int64", [batch, length], 0, most - 1), 0.5))
    else:
        operands += [values("float32", [batch, length, half]) for _ in range(2)]
    return node_trial(
        random,
        "RotaryEmbedding",
        operands,
        opset,
        interleaved=random.choice([None, 0, 1]),
        rotary_embedding_dim=turned or None,
        num_heads=heads if is_flat else None,
    )


def causal_convolution(random: Random) -> Trial:
    batch, channels = random.randint(1, 2), random.randint(1, 4)
    length, taps = random.randint(1, 6), random.randint(2, 4)
    operands: list[Operand] = [
        values("float32", [batch, channels, length]),
        either(random, values("float32", [channels, 1, taps]), 0.7),
    ]
    has_bias, has_past = random.random() < 0.5, random.random() < 0.5
    if has_bias or has_past:
        operands.append(values("float32", [channels]) if has_bias else None)
    if has_past:
        operands.append(values("float32", [batch, channels, taps - 1]))
    return node_trial(
        random,
        "CausalConvWithState",
        operands,
        opset_of(random, "CausalConvWithState"),
        2,
        tolerance=SUMS,
        activation=random.choice([None, "silu", "swish", "none"]),
    )


def linear_attention(random: Random) -> Trial:
    """By each rule, with heads of queries that share a state."""
    batch, length, heads = random.randint(1, 2), random.randint(1, 5), random.randint(1, 3)
    groups, keys, width = random.randint(1, 2), random.randint(1, 4), random.randint(1, 4)
    rule = random.choice([None, "linear", "gated", "delta", "gated_delta"])
    has_decay, has_beta = rule in (None, "gated", "gated_delta"), rule not in ("linear", "gated")
    decays, rates = random.choice([heads, heads * keys]), random.choice([heads, 1])
    operands: list[Operand] = [
        values("float32", [batch, length, heads * groups * keys], -1, 1),
        values("float32", [batch, length, heads * keys], -1, 1),
        values("float32", [batch, length, heads * width]),
        values("float32", [batch, heads, keys, width]) if random.random() < 0.5 else None,
        values("float32", [batch, length, decays], -2, 0) if has_decay else None,
        values("float32", [batch, length, rates], 0, 1) if has_beta else None,
    ]
    while operands[-1] is None:
        operands.pop()
    return node_trial(
        random,
        "LinearAttention",
        operands,
        opset_of(random, "LinearAttention"),
        2,
        tolerance=SUMS,
        q_num_heads=heads * groups,
        kv_num_heads=heads,
        scale=random.choice([None, 0.7]),
        update_rule=rule,
    )


def gated(operator: str, random: Random) -> Trial:
    shape = shape_of(random)
    operands: list[Operand] = [values("float32", shape)]
    if operator == "SwiGLU":
        operands.append(values("float32", shape))
    alpha = random.choice([None, 0.5, 1.7])
    opset = opset_of(random, operator)
    return node_trial(random, operator, operands, opset, tolerance=SUMS, alpha=alpha)


GENERATORS: Mapping[str, Generator] = {
    "CausalConvWithState": causal_convolution,
    "CenterCropPad": center_crop_pad,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary_embedding,
    **{
        operator: partial(loss, operator)
        for operator in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    },
    **{
        operator: partial(window, operator)
        for operator in ("BlackmanWindow", "HammingWindow", "HannWindow")
    },
    **{operator: partial(gated, operator) for operator in ("SwiGLU", "Swish")},
}
