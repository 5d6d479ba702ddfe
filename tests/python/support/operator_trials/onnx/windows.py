"""Pooling: the maximum, the mean or a norm of each window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random

from support.operator_trials.onnx.one_node import has_attribute, node_trial, opset_of
from support.operator_trials.onnx.products import window_attributes
from support.operator_trials.onnx.samples import type_of, values
from support.operator_trials.trial import Generator, Tolerance, Trial


def pooling(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    rank = random.choice([1, 2, 2, 2, 3])
    kernel = [random.randint(1, 3) for _ in range(rank)]
    dilations = [1] * rank
    if has_attribute(operator, opset, "dilations") and random.random() < 0.3:
        dilations = [random.randint(1, 2) for _ in kernel]
    extents = [random.randint((k - 1) * d + 1, 8) for k, d in zip(kernel, dilations, strict=True)]
    attributes = window_attributes(random, operator, extents, kernel, dilations)
    if attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        # onnxruntime does not count dilations there, ONNX does.
        dilations = [1] * rank
    if max(dilations) > 1:
        attributes["dilations"] = dilations
    if has_attribute(operator, opset, "ceil_mode"):
        attributes["ceil_mode"] = random.choice([None, 0, 1])
    if has_attribute(operator, opset, "count_include_pad"):
        attributes["count_include_pad"] = random.choice([None, 0, 1])
    if operator == "LpPool":
        # The kernel of onnxruntime; ONNX's evaluator pads one axis too little.
        dtype = "float32"
        attributes["p"] = random.choice([None, 1, 2, 3])
    outputs = 1
    if operator == "MaxPool" and opset >= 8 and random.random() < 0.3:
        outputs = 2
        attributes["storage_order"] = random.choice([None, 0, 1])
    x = values(dtype, [random.randint(1, 2), random.randint(1, 3), *extents])
    return node_trial(
        random,
        operator,
        [x],
        opset,
        outputs,
        tolerance=Tolerance(1e-5, 1e-5),
        kernel_shape=kernel,
        **attributes,
    )


def global_pooling(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    extents = [random.randint(1, 6) for _ in range(random.choice([1, 2, 2, 3]))]
    if operator == "GlobalMaxPool" and len(extents) != 2:
        # ONNX's evaluator, the reference for others, is right for two extents only.
        dtype = "float32"
    x = values(dtype, [random.randint(1, 2), random.randint(1, 3), *extents])
    p = random.choice([None, 1, 2, 3]) if operator == "GlobalLpPool" else None
    return node_trial(random, operator, [x], opset, tolerance=Tolerance(1e-5, 1e-5), p=p)


GENERATORS: Mapping[str, Generator] = {
    **{op: partial(pooling, op) for op in ("AveragePool", "MaxPool", "LpPool")},
    **{
        op: partial(global_pooling, op)
        for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    },
}
