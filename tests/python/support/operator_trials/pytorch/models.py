"""Cases of layers that are made of many operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import torch
from torch import nn
from torch.nn import functional as F

from support.operator_trials.pytorch.case import Case, makes, tensor
from support.operator_trials.trial import Tolerance

_SUMS = Tolerance(1e-4, 1e-4)


def _seeded(random: Random) -> None:
    torch.manual_seed(random.getrandbits(32))


@makes("recurrent layers")
def _unrolled(random: Random) -> Case:
    """PyTorch decomposes those that are not of float32."""
    name = random.choice(list(_RECURRENT))
    return _recurrent(name, random, torch.float64)


def _recurrent(name: str, random: Random, dtype: torch.dtype = torch.float32) -> Case:
    """Layers of one kind, with random initial states half of the time."""
    _seeded(random)
    kind, fixed = _RECURRENT[name]
    layers, both = random.randint(1, 2), random.random() < 0.4
    features, units = random.randint(1, 4), random.randint(1, 5)
    options = {
        "num_layers": layers,
        "bidirectional": both,
        "batch_first": random.random() < 0.5,
        "bias": random.random() < 0.7,
    }
    layer = kind(features, units, dtype=dtype, **options, **fixed).eval()
    extents = [random.randint(1, 3), random.randint(1, 4)]
    batch = extents[0] if options["batch_first"] else extents[1]
    inputs = [tensor(random, [*extents, features], dtype)]
    states = 2 if kind is nn.LSTM else 1
    if random.random() < 0.5:
        shape = [layers * (2 if both else 1), batch, units]
        inputs += [tensor(random, shape, dtype, -1, 1) for _ in range(states)]
    results = random.choice([None, 0, 1])
    case = _Recurrent(layer, results)
    return Case(case, inputs, f"{name} {options}, results {results}", _SUMS)


class _Recurrent(nn.Module):
    """A layer, all of whose results are returned, or one of them."""

    def __init__(self, layer: nn.Module, result: int | None) -> None:
        super().__init__()
        self.layer, self.result = layer, result

    def forward(self, data: torch.Tensor, *states: torch.Tensor) -> object:
        given = [] if not states else [states if len(states) > 1 else states[0]]
        results = self.layer(data, *given)
        return results if self.result is None else results[self.result]


_RECURRENT: dict[str, tuple[type[nn.Module], dict[str, str]]] = {
    "lstm.input": (nn.LSTM, {}),
    "gru.input": (nn.GRU, {}),
    "rnn_tanh.input": (nn.RNN, {}),
    "rnn_relu.input": (nn.RNN, {"nonlinearity": "relu"}),
}
for _name in _RECURRENT:
    makes(_name)(partial(_recurrent, _name))


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
