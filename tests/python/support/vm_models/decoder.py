"""A transformer decoder with TVM's own key-value cache, by `relax.frontend.nn`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op

WIDTH, HEADS, LAYERS, WORDS, LONGEST = 128, 4, 4, 256, 128
HEAD = WIDTH // HEADS


class Attention(nn.Module):
    """Attention to all tokens so far, which the cache has."""

    def __init__(self) -> None:
        self.joined = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.keys = nn.KVCache(LONGEST, [HEADS, HEAD])
        self.values = nn.KVCache(LONGEST, [HEADS, HEAD])

    def forward(self, x: nn.Tensor, mask: nn.Tensor, total: tirx.Var) -> nn.Tensor:
        """x is [1, length, width]; mask is 0 or -inf, [1, 1, length, total]."""
        length = x.shape[1]
        query, key, value = op.split(self.joined(x), 3, axis=-1)
        self.keys.append(op.reshape(key, (length, HEADS, HEAD)))
        self.values.append(op.reshape(value, (length, HEADS, HEAD)))

        def heads(each: nn.Tensor, size: Any) -> nn.Tensor:
            return op.permute_dims(op.reshape(each, (1, size, HEADS, HEAD)), [0, 2, 1, 3])

        query = heads(query, length)
        key, value = (heads(each.view(total), total) for each in (self.keys, self.values))
        scores = op.matmul(query, op.permute_dims(key, [0, 1, 3, 2])) * HEAD**-0.5
        mixed = op.matmul(op.softmax(scores + mask, axis=-1), value)
        joined = op.reshape(op.permute_dims(mixed, [0, 2, 1, 3]), (1, length, WIDTH))
        return self.output(joined)


class Block(nn.Module):
    """Attention and a gated feed-forward network, each of what is normalized."""

    def __init__(self) -> None:
        self.attention = Attention()
        self.before, self.between = (nn.RMSNorm(WIDTH, -1, bias=False) for _ in range(2))
        self.wide = nn.Linear(WIDTH, 8 * WIDTH, bias=False)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: nn.Tensor, mask: nn.Tensor, total: tirx.Var) -> nn.Tensor:
        """Of the shape of x."""
        x = x + self.attention(self.before(x), mask, total)
        gate, value = op.split(self.wide(self.between(x)), 2, axis=-1)
        return x + self.narrow(op.silu(gate) * value)


class Decoder(nn.Module):
    """From tokens to the scores of the next one."""

    def __init__(self) -> None:
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.last = nn.RMSNorm(WIDTH, -1, bias=False)
        self.scores = nn.Linear(WIDTH, WORDS, bias=False)

    def prefill(self, tokens: nn.Tensor, mask: nn.Tensor, total_len: tirx.Var) -> nn.Tensor:
        """Many tokens at once."""
        return self._scores(tokens, mask, total_len)

    def decode(self, tokens: nn.Tensor, mask: nn.Tensor, total_len: tirx.Var) -> nn.Tensor:
        """One more."""
        return self._scores(tokens, mask, total_len)

    def _scores(self, tokens: nn.Tensor, mask: nn.Tensor, total: tirx.Var) -> nn.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, mask, total)
        return self.scores(self.last(x))


def decoder() -> tvm.IRModule:
    """`_initialize_effect`, `prefill` and `decode`; weights are constants, lengths have bounds."""

    def inputs(length: Any) -> dict[str, Any]:
        return {
            "tokens": nn.spec.Tensor([1, length], "int32"),
            "mask": nn.spec.Tensor([1, 1, length, "total_len"], "float32"),
            "total_len": int,
            "$": {"param_mode": "plain", "effect_mode": "packed"},
        }

    mod, parameters = Decoder().export_tvm({"prefill": inputs("length"), "decode": inputs(1)})
    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(each.shape) / 8).astype("float32")
        for name, each in parameters
    }
    for name in ("prefill", "decode"):
        mod = relax.transform.BindParams(name, weights)(mod)
        bounds = {"length": LONGEST, "total_len": LONGEST}
        mod[name] = mod[name].with_attr("tir_var_upper_bound", bounds)
    return mod


def mask(length: int, total: int) -> np.ndarray:
    """What the last `length` of `total` tokens may attend to: themselves and those before."""
    hidden = np.arange(total) > np.arange(total - length, total)[:, None]
    return np.where(hidden, np.float32(-np.inf), np.float32(0))[None, None]


def run(machine: relax.VirtualMachine) -> list[np.ndarray]:
    """Scores of a prefill of 48 tokens and of four steps after it."""
    tokens = np.random.default_rng(1).integers(0, WORDS, (1, 52)).astype("int32")
    cache, results, total = machine["_initialize_effect"](), [], 0
    for name, length in (("prefill", 48), *[("decode", 1)] * 4):
        arguments = tokens[:, total : total + length], mask(length, total + length)
        total += length
        scores, cache = machine[name](
            *map(tvm.runtime.tensor, arguments), tvm_ffi.Shape([total]), cache
        )
        results.append(scores.numpy())
    return results
