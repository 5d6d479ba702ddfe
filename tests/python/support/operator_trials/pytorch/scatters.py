"""Cases of operators that write elements where indices say, and of those that sort."""

from __future__ import annotations

from random import Random

import torch

from support.operator_trials.pytorch.case import (
    CASES,
    FLOAT,
    TYPES,
    Case,
    any_shape,
    makes,
    shape_of_rank,
    tensor,
)
from support.operator_trials.trial import Tolerance

_SUMS = Tolerance(1e-4, 1e-5)
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
_NUMBERS = (FLOAT, *TYPES)


def _permutation(random: Random, count: int) -> list[int]:
    return random.sample(range(count), count)


def _shape(random: Random) -> list[int]:
    return any_shape(random, random.choice([0, 1, 1, 1]))


def _axis(random: Random, shape: list[int]) -> int:
    rank = max(len(shape), 1)
    return random.randrange(-rank, rank)


def _part(random: Random, shape: list[int], axis: int, is_unique: bool) -> torch.Tensor:
    """Indices along an axis for some of the elements; unique ones if PyTorch leaves a choice
    otherwise."""
    if not shape:
        return torch.zeros([], dtype=torch.int64)
    part = [random.randint(1, extent) for extent in shape]
    if not is_unique:
        part[axis] = random.randint(1, 6)
        return tensor(random, part, torch.int64, 0, shape[axis] - 1)
    places = torch.tensor(_permutation(random, shape[axis])[: part[axis]])
    around = [1] * len(shape)
    around[axis] = part[axis]
    return places.reshape(around).expand(part).contiguous()


def _updates(random: Random, index: torch.Tensor, values: torch.Tensor, axis: int) -> torch.Tensor:
    """As large as the indices, or larger."""
    shape = [extent + random.randint(0, 1) for extent in index.shape]
    return tensor(random, shape, values.dtype, *_limits(values), special=random.random() < 0.3)


def _limits(values: torch.Tensor) -> tuple[int | None, int | None]:
    """So that products stay in range."""
    return (None, None) if values.dtype in (FLOAT, torch.float64) else (0, 3)


@makes("scatter.src")
def _scatter(random: Random) -> Case:
    shape = _shape(random)
    axis, values = _axis(random, shape), tensor(random, shape, random.choice(TYPES))
    index = _part(random, shape, axis, is_unique=True)
    updates = _updates(random, index, values, axis)
    return Case(lambda x, i, v: x.scatter(axis, i, v), [values, index, updates], f"{axis}")


@makes("scatter.value")
def _scatter_value(random: Random) -> Case:
    shape = _shape(random)
    axis, values = _axis(random, shape), tensor(random, shape, random.choice(TYPES))
    index = _part(random, shape, axis, is_unique=False)
    number = random.choice([0, 1])
    return Case(lambda x, i: x.scatter(axis, i, number), [values, index], f"{axis}, {number}")


def _combining(operator: str) -> None:
    def make(random: Random) -> Case:
        shape = _shape(random)
        axis, values = _axis(random, shape), tensor(random, shape, random.choice(_NUMBERS))
        index = _part(random, shape, axis, is_unique=False)
        updates = _updates(random, index, values, axis)
        reduction = random.choice(["add", "multiply"])
        number = 1 if values.dtype == torch.bool else 2
        what = f"{axis}, {reduction}"
        if operator == "scatter_add.default":
            return Case(
                lambda x, i, v: x.scatter_add(axis, i, v), [values, index, updates], what, _SUMS
            )
        if operator == "scatter.reduce":
            return Case(
                lambda x, i, v: x.scatter(axis, i, v, reduce=reduction),
                [values, index, updates],
                what,
                _SUMS,
            )
        return Case(
            lambda x, i: x.scatter(axis, i, number, reduce=reduction), [values, index], what, _SUMS
        )

    CASES[operator] = make


for _operator in ("scatter.reduce", "scatter.value_reduce", "scatter_add.default"):
    _combining(_operator)


@makes("scatter_reduce.two")
def _scatter_reduce(random: Random) -> Case:
    shape = _shape(random)
    axis, values = _axis(random, shape), tensor(random, shape, random.choice(_NUMBERS))
    index = _part(random, shape, axis, is_unique=False)
    updates = _updates(random, index, values, axis)
    reduction, with_self = random.choice(_REDUCTIONS), random.random() < 0.5
    return Case(
        lambda x, i, v: x.scatter_reduce(axis, i, v, reduction, include_self=with_self),
        [values, index, updates],
        f"{axis}, {reduction}, include_self={with_self}",
        _SUMS,
    )


@makes("index_reduce.default")
def _index_reduce(random: Random) -> Case:
    shape = any_shape(random, 1)
    axis, values = _axis(random, shape), tensor(random, shape, random.choice(_NUMBERS))
    index = tensor(random, [random.randint(1, 5)], torch.int64, 0, shape[axis] - 1)
    shape[axis] = len(index)
    updates = tensor(random, shape, values.dtype, *_limits(values), special=random.random() < 0.3)
    reduction, with_self = random.choice(_REDUCTIONS[1:]), random.random() < 0.5
    return Case(
        lambda x, i, v: x.index_reduce(axis, i, v, reduction, include_self=with_self),
        [values, index, updates],
        f"{axis}, {reduction}, include_self={with_self}",
        _SUMS,
    )


@makes("index_put.default")
def _index_put(random: Random) -> Case:
    makes_case = random.choice([_put_by_indices, _put_by_indices, _put_under_mask, _put_by_name])
    return makes_case(random)


def _put_by_indices(random: Random) -> Case:
    """Places are given once unless they are added to: PyTorch leaves open which one remains."""
    values = tensor(random, [random.randint(2, 4) for _ in range(4)], random.choice(_NUMBERS))
    adds = random.random() < 0.5
    axes = sorted(random.sample(range(4), random.randint(1, 3)))
    count = random.randint(1, min(values.shape[axis] for axis in axes))

    def places(axis: int) -> torch.Tensor:
        extent = values.shape[axis]
        if adds:
            return tensor(random, [count], torch.int64, -extent, extent - 1)
        unique = torch.tensor(_permutation(random, extent)[:count])
        return torch.where(torch.arange(count) % 2 == 0, unique, unique - extent)

    shaped = [places(axis) for axis in axes]
    if len(axes) > 1 and random.random() < 0.5:
        shaped[0] = shaped[0][:, None]
    given: list[torch.Tensor | None] = [None] * (axes[-1] + 1)
    for axis, index in zip(axes, shaped, strict=True):
        given[axis] = index
    result = values[tuple(slice(None) if index is None else index for index in given)]
    shape = [1 if random.random() < 0.3 else extent for extent in result.shape]
    shape = shape[random.randint(0, len(shape)) :] if random.random() < 0.3 else shape
    updates = tensor(random, shape, values.dtype, special=random.random() < 0.3)

    def function(x: torch.Tensor, v: torch.Tensor, *indices: torch.Tensor) -> torch.Tensor:
        remaining = iter(indices)
        return torch.ops.aten.index_put(
            x, [None if index is None else next(remaining) for index in given], v, adds
        )

    what = f"axes {axes}, accumulate={adds}"
    return Case(function, [values, updates, *shaped], what, _SUMS)


def _put_under_mask(random: Random) -> Case:
    values = tensor(random, any_shape(random, 1), random.choice(TYPES))
    rank, begin = random.randint(1, values.dim()), 0
    if rank < values.dim():
        begin = random.randint(0, values.dim() - rank)
    mask = tensor(random, values.shape[begin : begin + rank], torch.bool)
    adds = random.random() < 0.3
    behind = values.shape[begin + rank :]
    shape = random.choice([[], [1], [*behind], [1, *behind], [*values.shape[:begin], 1, *behind]])
    updates = tensor(random, shape, values.dtype)
    given = [None] * begin

    def function(x: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.index_put(x, [*given, m], v, adds)

    return Case(function, [values, mask, updates], f"mask of axis {begin}, accumulate={adds}")


def _assigned(x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    result = x.clone()
    result[:, i] = v
    return result


def _put_by_name(random: Random) -> Case:
    """What PyTorch makes of other functions."""
    values = tensor(random, [3, 5], random.choice((FLOAT, torch.int32, torch.float64)))
    index = torch.tensor(random.sample(range(5), 2))
    updates = tensor(random, [3, 2], values.dtype)
    name, function = random.choice(
        [
            ("index_add", lambda x, i, v: x.index_add(1, i, v)),
            ("index_copy", lambda x, i, v: x.index_copy(1, i, v)),
            ("index_fill", lambda x, i, v: x.index_fill(1, i, 2) + v.sum()),
            ("assignment", _assigned),
        ]
    )
    return Case(function, [values, index, updates], name, _SUMS)


def _sorted_row(random: Random, shape: list[int]) -> torch.Tensor:
    """Equal elements and NaN are among them."""
    values = tensor(random, shape, random.choice(TYPES), special=random.random() < 0.5)
    return values // 2 if values.is_floating_point() and random.random() < 0.5 else values


def _distinct(random: Random, shape: list[int]) -> torch.Tensor:
    """Of equal elements PyTorch may take any."""
    count = torch.Size(shape).numel()
    values = torch.tensor(_permutation(random, count)).reshape(shape)
    return (values - count // 2).to(random.choice([FLOAT, torch.float64, torch.int8, torch.int64]))


@makes("sort.stable")
def _sort(random: Random) -> Case:
    shape = _shape(random)
    axis, descending = _axis(random, shape), random.random() < 0.5
    values = _sorted_row(random, shape)
    name, function = random.choice(
        [
            ("sort", lambda x: torch.sort(x, dim=axis, descending=descending, stable=True)),
            ("argsort", lambda x: torch.argsort(x, dim=axis, descending=descending, stable=True)),
        ]
    )
    return Case(function, [values], f"{name} {axis}, descending={descending}")


@makes("sort.default")
def _sort_default(random: Random) -> Case:
    shape = _shape(random)
    axis, descending = _axis(random, shape), random.random() < 0.5
    if random.random() < 0.5:
        values = _sorted_row(random, shape)
        return Case(lambda x: torch.sort(x, axis, descending)[0], [values], f"{axis}, elements")
    values = _distinct(random, shape)
    return Case(lambda x: torch.sort(x, axis, descending), [values], f"{axis}, {descending}")


def _selecting(name: str) -> None:
    function = getattr(torch, name)

    def make(random: Random) -> Case:
        shape = shape_of_rank(random, random.randint(0, 3))
        axis, keepdim = _axis(random, shape), random.random() < 0.5
        count = random.randint(1, shape[axis] if shape else 1)
        is_distinct = random.random() < 0.5
        values = _distinct(random, shape) if is_distinct else _sorted_row(random, shape)
        if values.dtype == torch.bool:
            values = values.to(torch.int32)
        arguments = {
            "topk": (count, axis, random.random() < 0.5),
            "kthvalue": (count, axis, keepdim),
            "median": (axis, keepdim),
        }[name]
        what = f"{arguments}" if is_distinct else f"{arguments}, elements"
        if is_distinct:
            return Case(lambda x: tuple(function(x, *arguments)), [values], what)
        return Case(lambda x: function(x, *arguments)[0], [values], what)

    CASES[f"{name}.{'dim' if name == 'median' else 'default'}"] = make


for _name in ("topk", "kthvalue", "median"):
    _selecting(_name)


@makes("median.default")
def _median_of_all(random: Random) -> Case:
    values = _sorted_row(random, any_shape(random))
    values = values.to(torch.int32) if values.dtype == torch.bool else values
    return Case(torch.median, [values], "all")
