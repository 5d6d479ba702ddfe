"""Random types, shapes and values for the operands of ONNX operators."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from support.operator_trials.onnx.one_node import Operand, Varied, types_of


def type_of(random: Random, operator: str, opset: int, position: int = 0) -> str:
    """One that the operator takes; float32 half of the time."""
    allowed = types_of(operator, opset, position)
    return "float32" if "float32" in allowed and random.random() < 0.5 else random.choice(allowed)


def shape_of(random: Random, least: int = 0, most: int = 4, largest: int = 6) -> list[int]:
    """A shape of `least` to `most` extents, of 1 to `largest` elements each."""
    return [random.randint(1, largest) for _ in range(random.randint(least, most))]


def broadcast_of(random: Random, shape: Sequence[int]) -> list[int]:
    """A shape that broadcasts to `shape`: leading extents left out, others 1."""
    kept = list(shape[random.randint(0, len(shape)) :]) if random.random() < 0.5 else list(shape)
    return [1 if random.random() < 0.25 else extent for extent in kept]


def permuted_axes(random: Random, rank: int, count: int | None = None) -> list[int]:
    """Different axes in any order, some counted from the end."""
    count = random.randint(1, rank) if count is None else count
    axes = random.sample(range(rank), count)
    return [axis - rank if random.random() < 0.4 else axis for axis in axes]


def axis_of(random: Random, rank: int) -> int:
    """One axis, from the end or from the start."""
    return random.randint(-rank, rank - 1)


def values(
    dtype: str,
    shape: Sequence[int],
    low: float | None = None,
    high: float | None = None,
    special: Sequence[float] = (),
) -> Varied:
    """Values between two limits, or of the whole range of an integer type; normal floats if there
    are no limits. Each element may be one of the special ones."""

    def sample(generator: np.random.Generator) -> np.ndarray:
        return array(generator, dtype, shape, low, high, special)

    return Varied(sample)


def array(
    generator: np.random.Generator,
    dtype: str,
    shape: Sequence[int],
    low: float | None = None,
    high: float | None = None,
    special: Sequence[float] = (),
) -> np.ndarray:
    """One sample of `values`."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        result = generator.integers(0, 2, shape).astype(bool)
    elif kind.kind in "iu":
        info = np.iinfo(kind)
        least = info.min if low is None else max(int(low), info.min)
        most = info.max if high is None else min(int(high), info.max)
        result = generator.integers(least, most, shape, kind, endpoint=True)
    elif low is None or high is None:
        result = (generator.normal(size=shape) * 2).astype(kind)
    else:
        result = generator.uniform(low, high, shape).astype(kind)
    result = np.asarray(result, kind)
    if special and generator.random() < 0.7:
        chosen = generator.choice(np.array(special, kind), result.shape)
        result = np.where(generator.random(result.shape) < 0.3, chosen, result).astype(kind)
    return result


def constant(
    random: Random,
    dtype: str,
    shape: Sequence[int],
    low: float | None = None,
    high: float | None = None,
    special: Sequence[float] = (),
) -> np.ndarray:
    """A random array that is part of the model."""
    generator = np.random.default_rng(random.getrandbits(64))
    return array(generator, dtype, shape, low, high, special)


def either(random: Random, operand: Varied, likelihood: float = 0.3) -> Operand:
    """The operand, or a constant in its place."""
    if random.random() >= likelihood:
        return operand
    return operand.sample(np.random.default_rng(random.getrandbits(64)))


def int64(*numbers: int) -> np.ndarray:
    """A constant vector, such as of axes."""
    return np.array(numbers, np.int64)


def extremes(dtype: str) -> list[float]:
    """The ends of an integer type, and what is around zero."""
    info = np.iinfo(dtype)
    return sorted(
        {info.min, info.min + 1, 0, 1, info.max - 1, info.max} | ({-1} if info.min else set())
    )
