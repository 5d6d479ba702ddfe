"""Random and extreme inputs for comparing a kernel with its operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from usmp.aot.kernel_checks.kernel_body import ReplacedOperator
from usmp.ops.records import operators_of
from usmp.relax.count_iterations import iterations_of

_LARGE = 2**18
"""An operator with more iterations than this runs only once."""

_SMALLEST_FLOAT, _LARGEST_FLOAT = -64.0, 64.0

_Values = Callable[[tuple[int, ...], np.dtype], np.ndarray]


def inputs_of(operator: ReplacedOperator) -> list[list[np.ndarray]]:
    """Return the inputs of each run: an array for each argument that is no constant.

    First, elements are random in the whole range of their type. Then they have the signs of
    weights, or opposite signs, so that accumulators reach their extremes. Then they are at either
    end of the range, all at one end, or at the zero point. A large operator has one run that mixes
    rows of all kinds. Numbers are deterministic for each operator.
    """
    runs = list(_runs(operator))
    if not is_large(operator):
        return runs
    return [[_mixed(arrays) for arrays in zip(*runs, strict=True)]]


def is_large(operator: ReplacedOperator) -> bool:
    """Return whether an operator takes so long that it runs only once."""
    return iterations_of(operator.func) > _LARGE


def _mixed(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return an array with blocks of rows from each array in turn, so that each array has two
    blocks."""
    shape = arrays[0].shape
    if not shape:
        return arrays[0]
    axis = next((axis for axis, extent in enumerate(shape) if extent > 1), 0)
    rows = np.arange(shape[axis]) // max(shape[axis] // (2 * len(arrays)), 1)
    choice = (rows % len(arrays)).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return np.choose(np.broadcast_to(choice, shape), arrays)


def _runs(operator: ReplacedOperator) -> Iterator[list[np.ndarray]]:
    random = np.random.default_rng(0)
    params = [
        param
        for param, constant in zip(operator.func.params, operator.constants, strict=False)
        if constant is None
    ]
    types = [(tuple(map(int, p.shape)), np.dtype(str(p.dtype))) for p in params]

    def run(values: _Values) -> list[np.ndarray]:
        return [values(shape, dtype) for shape, dtype in types]

    def signed(sign: int) -> _Values:
        return lambda shape, dtype: _signed(operator, random, shape, dtype, sign)

    def all_at(end: int) -> _Values:
        return lambda shape, dtype: _at_ends(np.full(shape, end), dtype)

    zero_points = _zero_points(operator)
    yield run(lambda shape, dtype: _random(random, shape, dtype))
    yield from map(run, (signed(1), signed(-1)))
    yield run(lambda shape, dtype: _at_ends(random.integers(0, 2, shape), dtype))
    yield from map(run, (all_at(0), all_at(1)))
    yield run(lambda shape, dtype: np.full(shape, zero_points.get(str(dtype), 0), dtype))


def _ends(dtype: np.dtype) -> tuple[float, float]:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return _SMALLEST_FLOAT, _LARGEST_FLOAT


def _random(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    low, high = _ends(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(int(low), int(high), shape, dtype, endpoint=True)
    return random.uniform(low, high, shape).astype(dtype)


def _at_ends(is_high: np.ndarray, dtype: np.dtype) -> np.ndarray:
    low, high = (np.array(end, dtype) for end in _ends(dtype))
    return np.where(is_high != 0, high, low).astype(dtype)


def _signed(
    operator: ReplacedOperator,
    random: np.random.Generator,
    shape: tuple[int, ...],
    dtype: np.dtype,
    sign: int,
) -> np.ndarray:
    """Return elements at the end of the range with the sign of their weight times `sign`.
    Consecutive kernel windows take the weights of consecutive output channels. Without weights,
    ends are random."""
    weights = _weights(operator, shape)
    if weights is None:
        return _at_ends(random.integers(0, 2, shape), dtype)
    channels, *window = weights.shape
    rows = shape[: len(shape) - len(window)] if len(window) == 1 else shape[:1]
    image = shape[len(rows) :]
    counts = [-(-extent // size) for extent, size in zip(image, window, strict=True)]
    ends = np.empty((*rows, *(c * s for c, s in zip(counts, window, strict=True))), bool)
    is_high = weights * sign > 0
    number = 0
    for row in np.ndindex(*rows):
        for block in np.ndindex(*counts):
            places = tuple(slice(b * s, (b + 1) * s) for b, s in zip(block, window, strict=True))
            ends[(*row, *places)] = is_high[number % channels]
            number += 1
    cut = (slice(None),) * len(rows) + tuple(slice(extent) for extent in image)
    return _at_ends(ends[cut], dtype)


def _weights(operator: ReplacedOperator, shape: Sequence[int]) -> np.ndarray | None:
    """Return the integer weights of a matrix product or convolution, output channels first, for
    data of this shape."""
    for constant in operator.constants:
        if constant is None or constant.dtype.kind != "i" or constant.itemsize > 2:
            continue
        is_matrix = constant.ndim == 2 and len(shape) >= 1
        is_window = constant.ndim == 4 and len(shape) == 4
        if (is_matrix or is_window) and constant.shape[-1] == shape[-1] and constant.size:
            return constant.astype(np.int32)
    return None


def _zero_points(operator: ReplacedOperator) -> dict[str, int]:
    steps = operators_of(operator.func)
    known = [quantization for step in steps[:1] for quantization in step[0].inputs]
    return {q.dtype: int(q.zero_points[0]) for q in reversed(known) if len(q.zero_points)}
