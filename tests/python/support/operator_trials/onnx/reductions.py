"""Operators that make one element, or an order, from those along axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from support.operator_trials.onnx.one_node import Varied, has_attribute, node_trial, opset_of
from support.operator_trials.onnx.samples import (
    axis_of,
    extremes,
    int64,
    permuted_axes,
    shape_of,
    type_of,
    values,
)
from support.operator_trials.trial import Generator, Tolerance, Trial

REDUCTIONS = """ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceLogSumExp ReduceLogSum
ReduceSumSquare ReduceL1 ReduceL2""".split()


def reduction(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    shape = shape_of(random, 1)
    rank = len(shape)
    axes: list[int] | None = permuted_axes(random, rank)
    if opset < 11 and axes:
        axes = [axis % rank for axis in axes]
    if random.random() < 0.3:
        axes = None
    if operator == "ReduceLogSum" and dtype.startswith("float"):
        x = values(dtype, shape, 0.1, 3)
    elif dtype.startswith("float") or dtype == "bool":
        x = values(dtype, shape)
    elif operator in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2"):
        x = values(dtype, shape, 1, 5)
    else:
        x = values(dtype, shape, special=extremes(dtype))
    if operator == "ReduceMean" and "int" in dtype:
        x = values(dtype, shape, -999, 999)
    keep = random.choice([None, 0, 1])
    tolerance = Tolerance(2e-5, 1e-5)
    # Integers that overflow wrap there, as they do in C; onnxruntime's are the limits or floats.
    by_evaluator = "int" in dtype
    trial = _reduction_trial(random, operator, opset, x, axes, keep, tolerance, by_evaluator)
    if not by_evaluator:
        return trial
    # The evaluator sums some integers in int64.
    reference = trial.reference
    return replace(trial, reference=lambda given: [v.astype(dtype) for v in reference(given)])


def _reduction_trial(
    random: Random,
    operator: str,
    opset: int,
    x: Varied,
    axes: list[int] | None,
    keep: int | None,
    tolerance: Tolerance,
    by_evaluator: bool,
) -> Trial:
    """With the axes as an attribute or as an input."""
    if has_attribute(operator, opset, "axes"):
        return node_trial(
            random,
            operator,
            [x],
            opset,
            tolerance=tolerance,
            by_evaluator=by_evaluator,
            axes=axes,
            keepdims=keep,
        )
    noop = random.choice([None, 0, 1])
    operands: list[Any] = [x] if axes is None else [x, int64(*axes)]
    if axes is None and random.random() < 0.2:
        operands.append(int64())
    return node_trial(
        random,
        operator,
        operands,
        opset,
        tolerance=tolerance,
        by_evaluator=by_evaluator,
        keepdims=keep,
        noop_with_empty_axes=noop,
    )


def arg_extreme(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    shape = shape_of(random, 1)
    x = values(dtype, shape, -2, 2)
    if dtype == "float32" and random.random() < 0.5:
        # Ties, and infinities at the ends.
        x = values(dtype, shape, special=(1.0, -1.0, np.inf, -np.inf))
    last = random.choice([None, 0, 1]) if opset >= 12 else None
    axis = axis_of(random, len(shape)) if opset >= 11 else random.randrange(len(shape))
    return node_trial(
        random,
        operator,
        [x],
        opset,
        axis=None if axis == 0 else axis,
        keepdims=random.choice([None, 0, 1]),
        select_last_index=last,
    )


def soft_maximum(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape)) if opset >= 11 else random.randrange(len(shape))
    if operator == "Hardmax" and opset < 13:
        # ONNX's evaluator, the reference for others, does not know that version.
        dtype = "float32"
    asked = random.choice([None, axis])
    if opset < 13 and len(shape) == 1 and asked is None:
        asked = 0
    special = (1.0, 2.0) if operator == "Hardmax" else (-50.0, 50.0)
    return node_trial(random, operator, [values(dtype, shape, special=special)], opset, axis=asked)


def top_k(random: Random) -> Trial:
    opset = opset_of(random, "TopK")
    dtype = type_of(random, "TopK", opset)
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape)) if opset >= 11 else random.randrange(len(shape))
    count = random.randint(1, shape[axis])
    x = values(dtype, shape, None if dtype.startswith("float") else 0, 5)
    if dtype.startswith("float"):
        x = values(dtype, shape, special=(1.0, -1.0, np.inf, -np.inf))
    asked = None if axis == len(shape) - 1 and random.random() < 0.5 else axis
    if opset < 10:
        return node_trial(random, "TopK", [x], opset, 2, axis=asked, k=count)
    largest = random.choice([None, 0, 1]) if opset >= 11 else None
    ordered = random.choice([None, 1]) if opset >= 11 else None
    return node_trial(
        random,
        "TopK",
        [x, int64(count)],
        opset,
        2,
        axis=asked,
        largest=largest,
        sorted=ordered,
    )


def cumulative(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    shape = shape_of(random, 1)
    axis = np.array(axis_of(random, len(shape)), random.choice(["int32", "int64"]))
    x = values(dtype, shape)
    flags = {name: random.choice([None, 0, 1]) for name in ("exclusive", "reverse")}
    tolerance = Tolerance(1e-5, 1e-5)
    return node_trial(random, operator, [x, axis], opset, tolerance=tolerance, **flags)


def lp_normalization(random: Random) -> Trial:
    """With zeros, and rows of nothing else."""
    opset = opset_of(random, "LpNormalization")
    dtype, shape = random.choice(["float32", "float64"]), shape_of(random, 1)
    x = values(dtype, shape, special=[0]) if random.random() < 0.8 else values(dtype, shape, 0, 0)
    axis = random.choice([None, axis_of(random, len(shape))])
    order = random.choice([None, 1, 2])
    tolerance = Tolerance(1e-5, 1e-6)
    return node_trial(
        random, "LpNormalization", [x], opset, tolerance=tolerance, axis=axis, p=order
    )


GENERATORS: Mapping[str, Generator] = {
    **{operator: partial(reduction, operator) for operator in REDUCTIONS},
    **{operator: partial(arg_extreme, operator) for operator in ("ArgMax", "ArgMin")},
    **{op: partial(soft_maximum, op) for op in ("Softmax", "LogSoftmax", "Hardmax")},
    "TopK": top_k,
    "LpNormalization": lp_normalization,
    **{operator: partial(cumulative, operator) for operator in ("CumProd", "CumSum")},
}
