"""Cases of layers that are made of many operators."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
from torch import nn
from torch.nn import functional as F

from support.operator_trials.pytorch.case import Case, makes, tensor
from support.operator_trials.trial import Tolerance

_SUMS = Tolerance(1e-4, 1e-4)


def _seeded(random: Random) -> None:
    torch.manual_seed(random.getrandbits(32))


class _Layer(nn.Module):
    """A layer that returns a nested tuple, as tensors in one."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *inputs: torch.Tensor) -> object:
        return self.layer(*inputs)


@makes("recurrent layers")
def _recurrent(random: Random) -> Case:
    _seeded(random)
    kind = random.choice([nn.LSTM, nn.GRU, nn.RNN])
    options = {
        "num_layers": random.randint(1, 2),
        "bidirectional": random.random() < 0.4,
        "batch_first": random.random() < 0.5,
        "bias": random.random() < 0.7,
    }
    layer = kind(3, 4, **options).eval()
    data = tensor(random, [2, 3, 3])
    return Case(_Layer(layer), [data], f"{kind.__name__} {options}", _SUMS)


class _Keeping(nn.Module):
    """A function in a module that keeps something: attention is not decomposed there."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("runs", torch.zeros(1))

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        self.runs.add_(1)
        return self.function(*inputs)


@makes("scaled_dot_product_attention.default")
def _attention_that_is_kept(random: Random) -> Case:
    heads, groups = random.choice([(1, 1), (2, 1), (2, 2)])
    dtype = random.choice([torch.float32, torch.float32, torch.float64])
    lead = random.choice([(), (1,), (3,)])
    queries, keys, depth, width = (random.randint(1, 5) for _ in range(4))
    q = tensor(random, [*lead, heads * groups, queries, depth], dtype)
    k, v = (tensor(random, [*lead, heads, keys, n], dtype) for n in (depth, width))
    options = {"scale": random.choice([None, 0.3]), "enable_gqa": groups > 1}
    inputs = [q, k, v]
    kind = random.choice(["plain", "causal", "mask", "numbers", "infinities"])
    if kind == "causal":
        options["is_causal"] = True
    elif kind != "plain":
        around = random.choice([(), (1,), (heads * groups,)])
        mask = tensor(random, [*around, random.choice([1, queries]), keys], torch.bool)
        numbers = tensor(random, list(mask.shape), dtype)
        if kind == "infinities":
            numbers = numbers.masked_fill(~mask, -torch.inf)
        inputs.append(mask if kind == "mask" else numbers)
    return Case(
        _Keeping(lambda *given: F.scaled_dot_product_attention(*given, **options)),
        inputs,
        f"{kind}, {groups} heads a group, {options}",
        _SUMS,
    )


@makes("attention")
def _attention(random: Random) -> Case:
    q, k, v = (tensor(random, [1, 2, n, 4]) for n in (3, 5, 5))
    scale = random.choice([None, 0.3])
    name = random.choice(["plain", "causal", "float mask", "mask"])
    if name == "causal":
        return Case(
            lambda a, b, c: F.scaled_dot_product_attention(a, b, c, is_causal=True, scale=scale),
            [k, v, v + 1],
            f"causal, scale={scale}",
            _SUMS,
        )
    mask = tensor(random, [3, 5], torch.bool) if name == "mask" else tensor(random, [3, 5])
    if name == "plain":
        return Case(
            lambda a, b, c: F.scaled_dot_product_attention(a, b, c, scale=scale),
            [q, k, v],
            f"scale={scale}",
            _SUMS,
        )
    return Case(
        lambda a, b, c, m: F.scaled_dot_product_attention(a, b, c, m, scale=scale),
        [q, k, v, mask],
        f"{name}, scale={scale}",
        _SUMS,
    )


@makes("transformer layers")
def _transformer(random: Random) -> Case:
    _seeded(random)
    layer: nn.Module = random.choice(
        [
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
            nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True),
        ]
    )
    return Case(layer.eval(), [tensor(random, [1, 5, 8])], "encoder layer", _SUMS)


@makes("losses")
def _losses(random: Random) -> Case:
    values = tensor(random, [4, 3])
    classes = tensor(random, [4], torch.int64, 0, 2)
    reduction = random.choice(["mean", "sum", "none"])
    return Case(
        lambda x, c: F.cross_entropy(x, c, reduction=reduction, ignore_index=1),
        [values, classes],
        f"cross_entropy {reduction}",
        _SUMS,
    )
