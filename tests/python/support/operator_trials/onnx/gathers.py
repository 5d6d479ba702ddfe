"""Operators whose indices are data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

import numpy as np

from support.operator_trials.onnx.one_node import Operand, Varied, node_trial, opset_of
from support.operator_trials.onnx.samples import (
    axis_of,
    constant,
    either,
    shape_of,
    type_of,
    values,
)
from support.operator_trials.trial import Generator, Trial


def _indices(random: Random, shape: Sequence[int], extent: int, least: int | None = None) -> Varied:
    """Of an axis, some counted from the end."""
    low = -extent if least is None else least
    return values(random.choice(["int32", "int64"]), shape, low, extent - 1)


def gather(random: Random) -> Trial:
    opset = opset_of(random, "Gather")
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape))
    least = None if opset >= 11 else 0
    indices = either(random, _indices(random, shape_of(random, 0, 2), shape[axis], least), 0.5)
    x = values(type_of(random, "Gather", opset), shape)
    asked = None if axis == 0 and random.random() < 0.5 else axis
    return node_trial(random, "Gather", [x, indices], opset, axis=asked)


def gather_elements(random: Random) -> Trial:
    opset = opset_of(random, "GatherElements")
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape))
    taken = [random.randint(1, extent) for extent in shape]
    taken[axis] = random.randint(1, 6)
    indices = either(random, _indices(random, taken, shape[axis]), 0.4)
    x = values(type_of(random, "GatherElements", opset), shape)
    asked = None if axis == 0 and random.random() < 0.5 else axis
    return node_trial(random, "GatherElements", [x, indices], opset, axis=asked)


def gather_nd(random: Random) -> Trial:
    opset = opset_of(random, "GatherND")
    shape = shape_of(random, 1)
    batches = random.randint(0, min(2, len(shape) - 1)) if opset >= 12 else 0
    count = random.randint(1, len(shape) - batches)
    taken = [*shape[:batches], *shape_of(random, 0, 2, 4), count]
    limits = shape[batches : batches + count]

    def sample(generator: np.random.Generator) -> np.ndarray:
        parts = [generator.integers(-e, e, taken[:-1]) for e in limits]
        return np.stack(parts, -1).astype(np.int64)

    indices = either(random, Varied(sample), 0.4)
    x = values(type_of(random, "GatherND", opset), shape)
    asked = batches if batches or random.random() < 0.3 else None
    asked = asked if opset >= 12 else None
    return node_trial(random, "GatherND", [x, indices], opset, batch_dims=asked)


def _reduction(random: Random, operator: str, opset: int) -> str | None:
    """One that the version knows; what is none is the only one where indices are unique."""
    if opset < 16:
        return None
    return random.choice([None, "none", "add", "mul", *(["min", "max"] if opset >= 18 else [])])


def scatter_elements(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator) if operator == "ScatterElements" else random.randint(9, 10)
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape))
    reduction = _reduction(random, operator, opset) if operator == "ScatterElements" else None
    taken = [random.randint(1, extent) for extent in shape]
    is_unique = reduction in (None, "none")
    taken[axis] = random.randint(1, shape[axis] if is_unique else 6)
    extent = shape[axis]
    counts_from_end = opset >= 11

    def sample(generator: np.random.Generator) -> np.ndarray:
        if not is_unique:
            return generator.integers(-extent, extent, taken)
        drawn = generator.permuted(np.broadcast_to(np.arange(extent), [*taken, extent]), axis=-1)
        moved = np.moveaxis(np.zeros(taken, np.int64), axis, -1)
        order = np.moveaxis(drawn, axis % len(taken), 0)[0]
        moved[...] = order[..., : moved.shape[-1]]
        result = np.moveaxis(moved, -1, axis)
        negative = generator.random(result.shape) < 0.3 * counts_from_end
        return np.ascontiguousarray(np.where(negative, result - extent, result))

    dtype = _type_of_reduction(random, operator, opset, reduction)
    low, high = (None, None) if dtype in ("float32", "float64") else (-3, 3)
    operands: list[Operand] = [
        values(dtype, shape, low, high),
        either(random, Varied(sample), 0.4),
        values(dtype, taken, low, high),
    ]
    asked = None if axis == 0 and random.random() < 0.5 else axis
    return node_trial(random, operator, operands, opset, axis=asked, reduction=reduction)


def _type_of_reduction(random: Random, operator: str, opset: int, reduction: str | None) -> str:
    dtype = type_of(random, operator, opset)
    is_plain = reduction in (None, "none")
    return dtype if is_plain or dtype != "bool" else "int32"


def scatter_nd(random: Random) -> Trial:
    opset = opset_of(random, "ScatterND")
    shape = shape_of(random, 1)
    count = random.randint(1, len(shape))
    reduction = _reduction(random, "ScatterND", opset)
    is_unique = reduction in (None, "none")
    number = int(np.prod(shape[:count]))
    updated = shape_of(random, 1, 2, 3)
    if is_unique and np.prod(updated) > number:
        updated = [random.randint(1, number)]

    def sample(generator: np.random.Generator) -> np.ndarray:
        flat = generator.choice(number, int(np.prod(updated)), replace=not is_unique)
        parts = np.unravel_index(flat.reshape(updated), shape[:count])
        chosen = np.stack(parts, -1).astype(np.int64)
        negative = generator.random(chosen.shape) < 0.3
        return np.where(negative, chosen - np.array(shape[:count]), chosen)

    dtype = _type_of_reduction(random, "ScatterND", opset, reduction)
    low, high = (None, None) if dtype in ("float32", "float64") else (-3, 3)
    operands: list[Operand] = [
        values(dtype, shape, low, high),
        either(random, Varied(sample), 0.4),
        values(dtype, [*updated, *shape[count:]], low, high),
    ]
    return node_trial(random, "ScatterND", operands, opset, reduction=reduction)


def compress(random: Random) -> Trial:
    opset = opset_of(random, "Compress")
    shape = shape_of(random, 1)
    axis = random.choice([None, axis_of(random, len(shape)) if opset >= 11 else 0])
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    condition = constant(random, "bool", [random.randint(1, extent)])
    condition[random.randrange(len(condition))] = True
    x = values(type_of(random, "Compress", opset), shape)
    return node_trial(random, "Compress", [x, condition], opset, axis=axis)


def one_hot(random: Random) -> Trial:
    opset = opset_of(random, "OneHot")
    shape, depth = shape_of(random, 0, 3), random.randint(1, 6)
    dtype = random.choice(["float32", "int64", "int32", "uint8", "float64", "int8", "bool"])
    numbers = constant(random, dtype, [2])
    kind = random.choice(["int64", "int32", "float32"])

    def sample(generator: np.random.Generator) -> np.ndarray:
        least = -depth - 1 if opset >= 11 else 0
        return np.asarray(generator.integers(least, depth + 2, shape)).astype(kind)

    deep = np.array(depth, random.choice(["int64", "int32", "float32"]))
    axis = random.choice([None, axis_of(random, len(shape) + 1)])
    if random.random() < 0.5:
        deep = deep.reshape([1])
    operands = [Varied(sample), deep, numbers]
    return node_trial(random, "OneHot", operands, opset, output_types=[dtype], axis=axis)


def non_zero(random: Random) -> Trial:
    opset = opset_of(random, "NonZero")
    x = values(type_of(random, "NonZero", opset), shape_of(random, 1), special=(0,))
    return node_trial(random, "NonZero", [x], opset)


def unique(random: Random) -> Trial:
    opset = opset_of(random, "Unique")
    shape = shape_of(random, 1)
    x = values("int64", shape, 0, 3)
    axis = random.choice([None, axis_of(random, len(shape))])
    return node_trial(random, "Unique", [x], opset, axis=axis, sorted=random.choice([0, 1]))


GENERATORS: Mapping[str, Generator] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Scatter": partial(scatter_elements, "Scatter"),
    "ScatterElements": partial(scatter_elements, "ScatterElements"),
    "ScatterND": scatter_nd,
    "Compress": compress,
    "OneHot": one_hot,
    "NonZero": non_zero,
    "Unique": unique,
}
