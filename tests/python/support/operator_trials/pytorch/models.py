"""Cases of layers that are made of many operators."""

from __future__ import annotations

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
