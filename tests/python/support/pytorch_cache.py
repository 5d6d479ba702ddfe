"""A small transformer of PyTorch that keeps keys and values: `prefill` and `decode`."""

from __future__ import annotations

from support.lazy import TorchModule
from support.pytorch_models import exported, nn, torch

POSITIONS = 64
TOKENS = 8
WIDTH = 16
HEADS = 2
VOCABULARY = 24


class Cache(TorchModule):
    """Keys and values of all positions."""

    def __init__(self) -> None:
        super().__init__()
        shape = (1, HEADS, POSITIONS, WIDTH // HEADS)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, positions, keys, values):
        self.keys[:, :, positions] = keys
        self.values[:, :, positions] = values
        return self.keys, self.values


class Layer(TorchModule):
    """Attention over all positions so far, and a perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.perceptron = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x, positions, mask):
        count = x.shape[1]
        parts = self.projection(self.before(x)).chunk(3, -1)
        split = [p.view(1, count, HEADS, WIDTH // HEADS).transpose(1, 2) for p in parts]
        keys, values = self.cache(positions, split[1], split[2])
        mixed = nn.functional.scaled_dot_product_attention(split[0], keys, values, attn_mask=mask)
        x = x + self.output(mixed.transpose(1, 2).reshape(1, count, WIDTH))
        return x + self.perceptron(self.between(x))


class CachedTransformer(TorchModule):
    """Takes tokens and their positions, and gives the logits of what follows the last of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        mask = torch.ones(POSITIONS, POSITIONS).tril() == 1
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, tokens, positions):
        x = self.tokens(tokens) + self.positions(positions)
        mask = self.mask[positions]
        for layer in self.layers:
            x = layer(x, positions, mask)
        return self.head(self.norm(x[:, -1]))


def exported_step(module: nn.Module, count: int) -> bytes:
    """The content of a `.pt2` file of the module for so many tokens at once."""
    tokens = torch.zeros(1, count, dtype=torch.int64)
    return exported(module, tokens, torch.arange(count))
