"""Cases of convolutions, pooling, normalization and images of another size."""

from __future__ import annotations

from random import Random
from typing import Any

import torch
from torch.nn import functional as F

from support.operator_trials.pytorch.case import FLOAT, Case, described, makes, tensor
from support.operator_trials.trial import Tolerance

_SUMS = Tolerance(1e-4, 1e-4)


def _numbers(random: Random, rank: int, low: int, high: int) -> Any:
    """One number for all axes, or one for each."""
    if random.random() < 0.3:
        return random.randint(low, high)
    return tuple(random.randint(low, high) for _ in range(rank))


@makes("convolution.default")
def _convolution(random: Random) -> Case:
    if random.random() < 0.4:
        return _transposed(random)
    rank = random.choice([1, 2, 2, 3])
    groups = random.choice([1, 1, 2, 3])
    channels, filters = groups * random.randint(1, 2), groups * random.randint(1, 2)
    kernel = [random.randint(1, 3) for _ in range(rank)]
    arguments: dict[str, Any] = {
        "stride": _numbers(random, rank, 1, 2),
        "padding": _numbers(random, rank, 0, 2),
        "dilation": _numbers(random, rank, 1, 2),
        "groups": groups,
    }
    if random.random() < 0.2:
        arguments |= {"padding": "same", "stride": 1}
    data = tensor(random, [random.randint(1, 2), channels, *(random.randint(5, 7),) * rank])
    data = data[0] if random.random() < 0.2 else data
    weight = tensor(random, [filters, channels // groups, *kernel])
    bias = tensor(random, [filters])
    function = getattr(F, f"conv{rank}d")
    what = f"conv{rank}d {kernel}, {described(arguments)}"
    if random.random() < 0.5:
        return Case(lambda x, w: function(x, w, None, **arguments), [data, weight], what, _SUMS)
    return Case(lambda x, w, b: function(x, w, b, **arguments), [data, weight, bias], what, _SUMS)


def _transposed(random: Random) -> Case:
    rank = random.choice([1, 2, 2])
    groups = random.choice([1, 1, 2])
    channels, filters = groups * random.randint(1, 2), random.randint(1, 2)
    kernel = [random.randint(1, 4) for _ in range(rank)]
    stride = random.randint(1, 3)
    arguments: dict[str, Any] = {
        "stride": stride,
        "padding": tuple(random.randint(0, (k - 1) // 2) for k in kernel),
        "output_padding": random.randint(0, stride - 1),
        "groups": groups,
    }
    data = tensor(random, [1, channels, *(random.randint(3, 5) for _ in range(rank))])
    data = data[0] if random.random() < 0.2 else data
    weight, bias = tensor(random, [channels, filters, *kernel]), tensor(random, [filters * groups])
    function = getattr(F, f"conv_transpose{rank}d")
    what = f"conv_transpose{rank}d {kernel}, {described(arguments)}"
    return Case(lambda x, w, b: function(x, w, b, **arguments), [data, weight, bias], what, _SUMS)


def _pool(random: Random, rank: int) -> tuple[torch.Tensor, list[int], dict[str, Any]]:
    kernel = [random.randint(1, 4) for _ in range(rank)]
    arguments = {
        "stride": random.choice([None, _numbers(random, rank, 1, 3)]),
        "padding": tuple(random.randint(0, k // 2) for k in kernel),
        "ceil_mode": random.random() < 0.5,
    }
    data = tensor(random, [random.randint(1, 2), 2, *(random.randint(5, 9) for _ in range(rank))])
    return (data[0] if random.random() < 0.2 else data), kernel, arguments


def _average(random: Random, rank: int) -> Case:
    data, kernel, arguments = _pool(random, rank)
    arguments |= {"count_include_pad": random.random() < 0.5}
    if rank > 1:
        arguments |= {"divisor_override": random.choice([None, None, 3])}
    function = getattr(F, f"avg_pool{rank}d")
    what = f"{kernel}, {described(arguments)}"
    return Case(lambda x: function(x, kernel, **arguments), [data], what, _SUMS)


@makes("avg_pool2d.default")
def _avg_pool2d(random: Random) -> Case:
    return _average(random, random.choice([1, 2, 2]))


@makes("avg_pool3d.default")
def _avg_pool3d(random: Random) -> Case:
    return _average(random, 3)


def _maximum(random: Random, rank: int) -> Case:
    data, kernel, arguments = _pool(random, rank)
    arguments |= {"dilation": random.choice([1, 1, 2])}
    function = getattr(F, f"max_pool{rank}d")
    what = f"{kernel}, {described(arguments)}"
    return Case(lambda x: function(x, kernel, **arguments), [data], what)


@makes("max_pool2d_with_indices.default")
def _max_pool2d(random: Random) -> Case:
    return _maximum(random, random.choice([1, 2, 2]))


@makes("max_pool3d_with_indices.default")
def _max_pool3d(random: Random) -> Case:
    return _maximum(random, 3)


def _adaptive(random: Random, rank: int) -> Case:
    data, _, _ = _pool(random, rank)
    size = [random.choice([1, 2, 3, 5]) for _ in range(rank)]
    function = getattr(F, f"adaptive_avg_pool{rank}d")
    return Case(lambda x: function(x, size), [data], f"{size}", _SUMS)


@makes("_adaptive_avg_pool2d.default")
def _adaptive_avg_pool2d(random: Random) -> Case:
    return _adaptive(random, random.choice([1, 2, 2]))


@makes("_adaptive_avg_pool3d.default")
def _adaptive_avg_pool3d(random: Random) -> Case:
    return _adaptive(random, 3)


def _adaptive_maximum(random: Random, rank: int) -> Case:
    data, _, _ = _pool(random, rank)
    size = [random.choice([1, 2, 3, 5, 7]) for _ in range(rank)]
    function = getattr(F, f"adaptive_max_pool{rank}d")
    return Case(lambda x: function(x, size), [data], f"{size}")


@makes("adaptive_max_pool2d.default")
def _adaptive_max_pool2d(random: Random) -> Case:
    return _adaptive_maximum(random, random.choice([1, 2, 2]))


@makes("adaptive_max_pool3d.default")
def _adaptive_max_pool3d(random: Random) -> Case:
    return _adaptive_maximum(random, 3)


def _image(random: Random) -> torch.Tensor:
    rank = random.choice([1, 2, 2, 3])
    shape = [random.randint(1, 3), 2 * random.randint(1, 2)]
    return tensor(random, [*shape, *(random.randint(2, 5) for _ in range(rank))])


def _parameters(random: Random, count: int) -> list[torch.Tensor | None]:
    return [tensor(random, [count]) if random.random() < 0.6 else None for _ in range(2)]


@makes("_native_batch_norm_legit_no_training.default")
def _batch_norm(random: Random) -> Case:
    data = _image(random)
    channels = data.shape[1]
    mean, variance = tensor(random, [channels]), tensor(random, [channels]).abs() + 0.1
    weight, bias = _parameters(random, channels)
    eps = random.choice([1e-5, 1e-2])
    return Case(
        lambda x: F.batch_norm(x, mean, variance, weight, bias, eps=eps),
        [data],
        f"weight={weight is not None}, bias={bias is not None}, eps={eps}",
        _SUMS,
    )


@makes("_native_batch_norm_legit.no_stats")
def _instance_norm(random: Random) -> Case:
    data = _image(random)
    weight, bias = _parameters(random, data.shape[1])
    eps = random.choice([1e-5, 1e-2])
    what = f"weight={weight is not None}, bias={bias is not None}, eps={eps}"
    if random.random() < 0.3:
        return Case(lambda x: F.batch_norm(x, None, None, training=True), [data], "batch", _SUMS)
    return Case(
        lambda x: F.instance_norm(x, weight=weight, bias=bias, eps=eps), [data], what, _SUMS
    )


@makes("native_layer_norm.default")
def _layer_norm(random: Random) -> Case:
    data = _image(random)
    shape = list(data.shape[-random.randint(1, data.dim() - 1) :])
    weight, bias = (tensor(random, shape) if random.random() < 0.6 else None for _ in range(2))
    eps = random.choice([1e-5, 1e-2])
    return Case(
        lambda x: F.layer_norm(x, shape, weight, bias, eps),
        [data],
        f"{shape}, weight={weight is not None}, bias={bias is not None}, eps={eps}",
        _SUMS,
    )


@makes("native_group_norm.default")
def _group_norm(random: Random) -> Case:
    data = _image(random)
    groups = random.choice([1, 2, data.shape[1]])
    weight, bias = _parameters(random, data.shape[1])
    return Case(
        lambda x: F.group_norm(x, groups, weight, bias),
        [data],
        f"{groups}, weight={weight is not None}, bias={bias is not None}",
        _SUMS,
    )


def _resized(random: Random, mode: str, rank: int = 2) -> Case:
    shape = [random.randint(1, 2), random.randint(1, 2), *(random.randint(2, 7),) * rank]
    if random.random() < 0.6:
        shape[2:] = [random.randint(1, 7) for _ in range(rank)]
    nearest = (FLOAT, FLOAT, torch.uint8, torch.float64)
    dtype = random.choice(nearest) if mode.startswith("nearest") else FLOAT
    data = tensor(random, shape, dtype)
    arguments: dict[str, Any] = {"mode": mode}
    if random.random() < 0.5:
        arguments["size"] = [random.randint(1, 13) for _ in range(rank)]
    else:
        factors = [f for f in (0.34, 0.5, 0.7, 1, 1.1, 1.5, 1.7, 2, 3) if f * min(shape[2:]) >= 1]
        arguments["scale_factor"] = tuple(float(random.choice(factors)) for _ in range(rank))
        if random.random() < 0.3:
            arguments["scale_factor"] = arguments["scale_factor"][0]
        arguments["recompute_scale_factor"] = random.choice([None, False, True])
    if mode in ("linear", "bilinear", "bicubic", "trilinear"):
        arguments["align_corners"] = random.choice([None, False, True])
    what = described(arguments)
    return Case(lambda x: F.interpolate(x, **arguments), [data], what, _SUMS)


@makes("upsample_nearest2d.vec")
def _nearest(random: Random) -> Case:
    return _resized(random, "nearest")


@makes("upsample_linear1d.vec")
def _linear(random: Random) -> Case:
    return _resized(random, "linear", 1)


@makes("upsample_bilinear2d.vec")
def _bilinear(random: Random) -> Case:
    return _resized(random, "bilinear")


@makes("upsample_trilinear3d.vec")
def _trilinear(random: Random) -> Case:
    return _resized(random, "trilinear", 3)


@makes("upsample_bicubic2d.vec")
def _bicubic(random: Random) -> Case:
    return _resized(random, "bicubic")


@makes("other interpolation")
def _others(random: Random) -> Case:
    mode, rank = random.choice(
        [
            ("nearest", 1),
            ("nearest", 3),
            ("area", 2),
            ("nearest-exact", 2),
            ("nearest-exact", 1),
        ]
    )
    return _resized(random, mode, rank)
