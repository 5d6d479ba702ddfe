"""Cases of reductions, running sums and products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch.nn import functional as F

from support.operator_trials.pytorch.case import (
    CASES,
    FLOAT,
    INTEGERS,
    TYPES,
    Case,
    any_shape,
    makes,
    shape_of_rank,
    tensor,
)
from support.operator_trials.trial import Tolerance

_SUMS = Tolerance(1e-4, 1e-5)


def _axes(random: Random, rank: int) -> list[int]:
    """Some axes, from the front or from the end."""
    chosen = random.sample(range(rank), random.randint(1, rank))
    return [axis - rank if random.random() < 0.5 else axis for axis in chosen]


def _axis(random: Random, rank: int) -> int:
    return random.randrange(-rank, rank)


@makes("sum.dim_IntList")
def _sum(random: Random) -> Case:
    shape, dtype = any_shape(random, 1), random.choice(TYPES)
    axes, keepdim = _axes(random, len(shape)), random.random() < 0.5
    result = random.choice([None, FLOAT, torch.int32])
    result = None if dtype == FLOAT else result
    values = tensor(random, shape, dtype)
    if random.random() < 0.2:
        return Case(torch.sum, [values], "all", _SUMS)
    what = f"{axes}, keepdim={keepdim}, dtype={result}"
    return Case(lambda x: torch.sum(x, axes, keepdim, dtype=result), [values], what, _SUMS)


@makes("mean.dim")
def _mean(random: Random) -> Case:
    shape, dtype = any_shape(random, 1), random.choice(TYPES)
    axes, keepdim = _axes(random, len(shape)), random.random() < 0.5
    result = None if dtype == FLOAT else FLOAT
    what = f"{axes}, keepdim={keepdim}"
    values = tensor(random, shape, dtype)
    return Case(lambda x: torch.mean(x, axes, keepdim, dtype=result), [values], what, _SUMS)


@makes("mean.default")
def _mean_of_all(random: Random) -> Case:
    return Case(torch.mean, [tensor(random, any_shape(random))], "mean", _SUMS)


@makes("prod.default")
def _prod(random: Random) -> Case:
    dtype = random.choice((FLOAT, *INTEGERS, torch.bool))
    values = tensor(random, any_shape(random, 0, 2), dtype, -3 if dtype != torch.uint8 else 0, 3)
    return Case(torch.prod, [values], "prod", _SUMS)


@makes("prod.dim_int")
def _prod_dim(random: Random) -> Case:
    shape, dtype = any_shape(random, 1), random.choice((FLOAT, *INTEGERS, torch.bool))
    axis, keepdim = _axis(random, len(shape)), random.random() < 0.5
    values = tensor(random, shape, dtype, -3 if dtype != torch.uint8 else 0, 3)
    return Case(lambda x: torch.prod(x, axis, keepdim), [values], f"{axis}, {keepdim}", _SUMS)


def _any(random: Random, function: Callable[[torch.Tensor], Any], what: str) -> Case:
    values = tensor(random, any_shape(random, 1), random.choice(TYPES))
    return Case(function, [values.to(torch.bool) if values.dtype == torch.uint8 else values], what)


@makes("any.default")
def _any_of_all(random: Random) -> Case:
    return _any(random, random.choice([torch.any, lambda x: torch.any(x > 100)]), "any")


@makes("any.dim")
def _any_dim(random: Random) -> Case:
    keepdim = random.random() < 0.5
    return _any(random, lambda x: torch.any(x, -1, keepdim), f"-1, keepdim={keepdim}")


@makes("any.dims")
def _all(random: Random) -> Case:
    keepdim = random.random() < 0.5
    name, function = random.choice(
        [
            ("all", lambda x: torch.all(x, 0, keepdim)),
            ("all of all", lambda x: torch.all(x)),
            ("any", lambda x: torch.any(x, (0, -1) if x.dim() > 1 else (0,), keepdim)),
        ]
    )
    return _any(random, function, f"{name}, keepdim={keepdim}")


@makes("var.correction")
def _var(random: Random) -> Case:
    shape = any_shape(random, 1)
    axes, keepdim = _axes(random, len(shape)), random.random() < 0.5
    correction = random.choice([0, 1, 2, 0.5])
    name = random.choice(["var", "std"])
    function = getattr(torch, name)
    return Case(
        lambda x: function(x, axes, correction=correction, keepdim=keepdim),
        [tensor(random, shape)],
        f"{name} {axes}, correction={correction}, keepdim={keepdim}",
        _SUMS,
    )


@makes("var_mean.correction")
def _var_mean(random: Random) -> Case:
    shape = any_shape(random, 1)
    axes, keepdim = _axes(random, len(shape)), random.random() < 0.5
    return Case(
        lambda x: torch.var_mean(x, axes, correction=0, keepdim=keepdim),
        [tensor(random, shape)],
        f"{axes}, keepdim={keepdim}",
        _SUMS,
    )


@makes("linalg_vector_norm.default")
def _norm(random: Random) -> Case:
    shape = any_shape(random, 1)
    axes, keepdim = _axes(random, len(shape)), random.random() < 0.5
    order = random.choice([0, 1, 2, 3, 0.5, 2.5, math.inf, -math.inf])
    return Case(
        lambda x: torch.linalg.vector_norm(x, order, axes, keepdim),
        [tensor(random, shape)],
        f"ord={order}, {axes}, keepdim={keepdim}",
        _SUMS,
    )


def _of_all(name: str) -> None:
    function = getattr(torch, name)

    def make(random: Random) -> Case:
        shape, dtype = any_shape(random), random.choice(TYPES)
        return Case(function, [tensor(random, shape, dtype, special=random.random() < 0.3)], name)

    CASES[f"{name}.default"] = make


def _of_axes(name: str, overload: str, several: bool) -> None:
    function = getattr(torch, name)

    def make(random: Random) -> Case:
        shape, dtype = any_shape(random, 1), random.choice(TYPES)
        keepdim = random.random() < 0.5
        rank = len(shape)
        axes = tuple(_axes(random, rank)) if several else _axis(random, rank)
        values = tensor(random, shape, dtype, special=random.random() < 0.4)
        if random.random() < 0.3 and dtype != torch.bool:
            values = values // 4 if dtype.is_floating_point else (values // 300).to(dtype)
        what = f"{name} {axes}, keepdim={keepdim}"
        return Case(lambda x: tuple_of(function(x, axes, keepdim=keepdim)), [values], what)

    CASES[f"{name}.{overload}"] = make


def tuple_of(result: Any) -> Any:
    """Named tuples as plain ones."""
    return tuple(result) if isinstance(result, tuple) else result


_of_all("max")
_of_all("min")
_of_axes("amax", "default", several=True)
_of_axes("amin", "default", several=True)
_of_axes("max", "dim", several=False)
_of_axes("min", "dim", several=False)


def _places(name: str) -> None:
    function = getattr(torch, name)

    def make(random: Random) -> Case:
        shape, dtype = any_shape(random, 1), random.choice((FLOAT, FLOAT, *INTEGERS))
        axis = random.choice([None, _axis(random, len(shape))])
        keepdim = random.random() < 0.5
        values = tensor(random, shape, dtype, special=random.random() < 0.4)
        if random.random() < 0.5 and dtype.is_floating_point:
            values = values // 4
        what = f"{name} {axis}, keepdim={keepdim}"
        return Case(lambda x: function(x, axis, keepdim), [values], what)

    CASES[f"{name}.default"] = make


_places("argmax")
_places("argmin")


def _running(name: str) -> None:
    function = getattr(torch, name)

    def make(random: Random) -> Case:
        shape, dtype = any_shape(random), random.choice(TYPES)
        axis = _axis(random, len(shape)) if shape else 0
        result = random.choice([None, None, FLOAT, torch.int32])
        result = None if dtype == FLOAT else result
        low = None if name == "cumsum" or dtype in (torch.bool, FLOAT) else 0
        values = tensor(random, shape, dtype, low, None if low is None else 3)
        what = f"{name} {axis}, dtype={result}"
        return Case(lambda x: function(x, axis, dtype=result), [values], what, _SUMS)

    CASES[f"{name}.default"] = make


_running("cumsum")
_running("cumprod")


@makes("logcumsumexp.default")
def _logcumsumexp(random: Random) -> Case:
    shape, dtype = any_shape(random), random.choice((FLOAT, FLOAT, torch.float64))
    axis = _axis(random, len(shape)) if shape else 0
    values = tensor(random, shape, dtype, special=random.random() < 0.4) * random.choice((1, 40))
    return Case(lambda x: torch.logcumsumexp(x, axis), [values], f"{axis}", _SUMS)


def _running_extreme(name: str) -> None:
    function = getattr(torch, name)

    def make(random: Random) -> Case:
        shape, dtype = any_shape(random), random.choice(TYPES)
        axis = _axis(random, len(shape)) if shape else 0
        values = tensor(random, shape, dtype, special=random.random() < 0.4)
        if random.random() < 0.5 and dtype.is_floating_point:
            values = values // 4
        return Case(lambda x: function(x, axis), [values], f"{name} {axis}")

    CASES[f"{name}.default"] = make


_running_extreme("cummax")
_running_extreme("cummin")


@makes("bucketize.Tensor")
def _bucketize(random: Random) -> Case:
    dtype = random.choice(TYPES[:-1])
    boundaries = tensor(random, [random.randint(1, 8)], dtype).sort().values
    data = tensor(random, any_shape(random), dtype, special=random.random() < 0.4)
    given = {"right": random.random() < 0.5, "out_int32": random.random() < 0.3}
    return Case(lambda x, b: torch.bucketize(x, b, **given), [data, boundaries], f"{given}")


@makes("searchsorted.Tensor")
def _searchsorted(random: Random) -> Case:
    dtype, outer = random.choice(TYPES[:-1]), any_shape(random, 0, 2)
    boundaries = tensor(random, [*outer, random.randint(1, 8)], dtype).sort().values
    data = tensor(random, [*outer, random.randint(1, 5)], dtype, special=random.random() < 0.4)
    given = {"right": random.random() < 0.5, "out_int32": random.random() < 0.3}
    if random.random() < 0.5:
        given = {"side": random.choice(["left", "right"])}
    return Case(lambda b, x: torch.searchsorted(b, x, **given), [boundaries, data], f"{given}")


@makes("mm.default")
def _mm(random: Random) -> Case:
    m, k, n = shape_of_rank(random, 3)
    dtype = random.choice((FLOAT, FLOAT, torch.int32, torch.int64))
    return Case(torch.mm, [tensor(random, [m, k], dtype), tensor(random, [k, n], dtype)], "", _SUMS)


@makes("bmm.default")
def _bmm(random: Random) -> Case:
    b, m, k, n = shape_of_rank(random, 4)
    dtype = random.choice((FLOAT, FLOAT, torch.int32, torch.int64))
    inputs = [tensor(random, [b, m, k], dtype), tensor(random, [b, k, n], dtype)]
    return Case(torch.bmm, inputs, "", _SUMS)


@makes("addmm.default")
def _addmm(random: Random) -> Case:
    m, k, n = shape_of_rank(random, 3)
    dtype = random.choice((FLOAT, FLOAT, torch.int32))
    numbers = [0, 1, 2] if dtype != FLOAT else [0, 1, 0.5, -2.0]
    alpha, beta = random.choice(numbers), random.choice(numbers)
    bias = tensor(random, random.choice([[n], [m, n], [1, n], [m, 1]]), dtype)
    inputs = [bias, tensor(random, [m, k], dtype), tensor(random, [k, n], dtype)]
    function = torch.addmm
    return Case(
        lambda x, a, b: function(x, a, b, alpha=alpha, beta=beta),
        inputs,
        f"alpha={alpha}, beta={beta}",
        _SUMS,
    )


@makes("products of matrices")
def _products(random: Random) -> Case:
    b, m, k, n = shape_of_rank(random, 4)
    x, y = tensor(random, [b, m, k]), tensor(random, [b, k, n])
    bias = tensor(random, [b, m, n])
    name, function, inputs = random.choice(
        [
            ("matmul", torch.matmul, [x, y]),
            ("matmul of a vector", torch.matmul, [x, y[0, :, 0]]),
            ("vector matmul", torch.matmul, [x[0, 0], y]),
            ("matmul broadcast", torch.matmul, [x[None], y[0]]),
            ("dot", torch.dot, [x[0, 0], y[0, :, 0]]),
            ("outer", torch.outer, [x[0, 0], y[0, 0]]),
            ("einsum", lambda p, q: torch.einsum("bmk,bkn->nmb", p, q), [x, y]),
            ("einsum trace", lambda p: torch.einsum("bii->bi", p), [tensor(random, [b, m, m])]),
            (
                "baddbmm",
                lambda z, p, q: torch.baddbmm(z, p, q, beta=0.5, alpha=-2),
                [bias, x, y],
            ),
            ("linear", F.linear, [x, y[0].T.contiguous(), bias[0, 0]]),
        ]
    )
    return Case(function, inputs, name, _SUMS)


@makes("diagonal.default")
def _diagonal(random: Random) -> Case:
    shape = any_shape(random, 2)
    a, b = random.sample(range(len(shape)), 2)
    offset = random.randint(-1, 1) if min(shape[a], shape[b]) > 1 else 0
    what = f"{offset}, {a}, {b}"
    return Case(lambda x: torch.diagonal(x, offset, a, b) * 1, [tensor(random, shape)], what)


@makes("logsumexp")
def _logsumexp(random: Random) -> Case:
    shape = any_shape(random, 1)
    axis, keepdim = _axis(random, len(shape)), random.random() < 0.5
    name, function = random.choice(
        [
            ("logsumexp", lambda x: torch.logsumexp(x, axis, keepdim)),
            ("normalize", lambda x: F.normalize(x, dim=axis)),
            ("cosine_similarity", lambda x: F.cosine_similarity(x, x + 1, dim=axis)),
            ("count_nonzero", lambda x: torch.count_nonzero(x > 1, axis)),
            ("aminmax", lambda x: tuple_of(torch.aminmax(x, dim=axis))),
            ("softmin", lambda x: F.softmin(x, dim=axis)),
        ]
    )
    return Case(function, [tensor(random, shape)], f"{name} {axis}", _SUMS)
