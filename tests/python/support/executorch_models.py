"""Models for ExecuTorch: its own examples that need no downloads, and networks like the others."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import torch
from executorch.examples.models import MODEL_NAME_TO_MODEL
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.exir.tests.models import Emformer
from torch import nn
from torch.nn import functional

from support.vm_models.networks import basic_block, classifier, conv, inverted_block

Example: TypeAlias = tuple[nn.Module, tuple[Any, ...]]


def example(name: str) -> Example:
    """A model of ExecuTorch's examples, with random weights."""
    torch.manual_seed(0)
    if name in WRITTEN:
        model, inputs = WRITTEN[name]()
    else:
        module, kind = MODEL_NAME_TO_MODEL[name]
        loader = getattr(import_module(f"executorch.examples.models.{module}"), kind)()
        model, inputs = loader.get_eager_model(), loader.get_example_inputs()
    return model.eval(), inputs


EXAMPLES = (
    "mul",
    "linear",
    "add",
    "add_mul",
    "softmax",
    "conv1d",
    "sdpa",
    "lstm",
    "deep_autoencoder",
    "ds_cnn",
    "mobilenet_v1_025",
    "resnet8",
)
"""Examples of ExecuTorch that need nothing but PyTorch."""


class Encoder(nn.Module):
    """A layer of a transformer, normalized before (ViT) or after (BERT) what is added."""

    def __init__(self, width: int, heads: int, is_first: bool) -> None:
        super().__init__()
        self.heads, self.is_first = heads, is_first
        self.joined, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.attended, self.fed = nn.LayerNorm(width), nn.LayerNorm(width)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        """Of each part of a sequence to all of it."""
        batch, length, width = x.shape
        shape = batch, length, self.heads, width // self.heads
        query, key, value = (
            part.reshape(shape).transpose(1, 2) for part in self.joined(x).chunk(3, -1)
        )
        weights = torch.softmax(query @ key.transpose(-1, -2) / shape[-1] ** 0.5, -1)
        return self.output((weights @ value).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A sequence, [1, length, width]."""
        if self.is_first:
            x = x + self.attention(self.attended(x))
            return x + self.narrow(functional.gelu(self.wide(self.fed(x))))
        x = self.attended(x + self.attention(x))
        return self.fed(x + self.narrow(functional.relu(self.wide(x))))


class Patches(nn.Module):
    """Squares of an image as a sequence."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.squares = nn.Conv2d(3, width, 16, 16)
        self.places = nn.Parameter(torch.randn(1, 196, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An image, [1, 3, 224, 224]."""
        return self.squares(x).flatten(2).transpose(1, 2) + self.places


class Unet(nn.Module):
    """Down and up again, with skip connections."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([conv(3, 8, 3), conv(8, 16, 3), conv(16, 32, 3)])
        self.up = nn.ModuleList([conv(48, 16, 3), conv(24, 8, 3, last="")])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An image, [1, 3, height, width]."""
        first = self.down[0](x)
        second = self.down[1](functional.max_pool2d(first, 2))
        x = self.down[2](functional.max_pool2d(second, 2))
        x = torch.cat([functional.interpolate(x, scale_factor=2.0), second], 1)
        x = self.up[0](x)
        x = torch.cat([functional.interpolate(x, scale_factor=2.0), first], 1)
        return torch.sigmoid(self.up[1](x))


def _resnet18() -> Example:
    blocks = [
        basic_block(old, new, stride)
        for old, new, stride in (
            *((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1)),
            *((128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)),
        )
    ]
    stem = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, classifier(512, 10)), (torch.randn(1, 3, 64, 64),)


def _mobilenet_v2() -> Example:
    blocks = [
        inverted_block(old, new, stride)
        for old, new, stride in ((16, 24, 2), (24, 24, 1), (24, 32, 2), (32, 32, 1), (32, 64, 2))
    ]
    stem = conv(3, 16, 3, 2, last="relu6")
    head = [conv(64, 128, last="relu6"), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(stem, *blocks, *head), (torch.randn(1, 3, 96, 96),)


def _vit() -> Example:
    layers = [Encoder(192, 3, True) for _ in range(2)]
    return nn.Sequential(Patches(192), *layers), (torch.randn(1, 3, 224, 224),)


def _bert() -> Example:
    layers = [Encoder(128, 4, False) for _ in range(2)]
    inputs = (torch.randint(0, 1000, (1, 128)),)
    return nn.Sequential(nn.Embedding(1000, 128), nn.LayerNorm(128), *layers), inputs


def _llama(use_kv_cache: bool) -> Example:
    arguments = ModelArgs(
        dim=64,
        n_layers=2,
        n_heads=4,
        n_kv_heads=2,
        vocab_size=128,
        hidden_dim=160,
        max_seq_len=128,
        max_context_len=128,
        use_kv_cache=use_kv_cache,
        enable_dynamic_shape=False,
        generate_full_logits=not use_kv_cache,
    )
    model = construct_transformer(arguments)
    if use_kv_cache:
        return model, (torch.tensor([[3]]), {"attn_options": {"input_pos": torch.tensor([0])}})
    return model, (torch.randint(0, 128, (1, 128)),)


def _emformer() -> Example:
    model = Emformer()
    return model, model.get_random_inputs()


WRITTEN: dict[str, Callable[[], Example]] = {
    "llama (2 layers of 64)": lambda: _llama(False),
    "llama, KV cache": lambda: _llama(True),
    "emformer (tests)": _emformer,
    "like resnet18": _resnet18,
    "like mobilenet v2": _mobilenet_v2,
    "like deit_tiny": _vit,
    "like mobilebert": _bert,
    "like a U-Net": lambda: (Unet(), (torch.randn(1, 3, 64, 64),)),
}
"""Others: of its examples with parameters of our own, of its tests, and networks of the families
that its examples take from torchvision and transformers."""

MODELS = (*EXAMPLES, *WRITTEN)
