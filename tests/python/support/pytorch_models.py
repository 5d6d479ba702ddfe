"""PyTorch models made here, float and quantized by PT2E, as files and as what computes them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from support.lazy import TorchModule, lazy

torch = lazy("torch")
nn = lazy("torch.nn")


class Cnn(TorchModule):
    """Convolution, batch normalization, depthwise convolution, Relu6, pooling, classifier."""

    example = (1, 3, 16, 16)

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.ReLU6(),
            nn.Conv2d(8, 16, 1),
            nn.MaxPool2d(2),
            nn.AvgPool2d(2),
        )
        self.classifier = nn.Linear(16 * 4, 10)

    def forward(self, image):
        return torch.softmax(self.classifier(self.features(image).flatten(1)), 1)


class Residual(TorchModule):
    """A small ResNet."""

    example = (1, 3, 16, 16)

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.branch = nn.Sequential(
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)
        )
        self.shortcut = nn.Conv2d(8, 16, 1, stride=2)
        self.classifier = nn.Linear(16, 10)

    def forward(self, image):
        x = self.stem(image)
        x = torch.relu(self.branch(x) + self.shortcut(x))
        return self.classifier(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Mobile(TorchModule):
    """An inverted residual of MobileNetV2."""

    example = (1, 3, 16, 16)

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU6())
        self.block = nn.Sequential(
            nn.Conv2d(8, 24, 1),
            nn.ReLU6(),
            nn.Conv2d(24, 24, 3, padding=1, groups=24),
            nn.ReLU6(),
            nn.Conv2d(24, 8, 1),
        )
        self.classifier = nn.Linear(8 * 16, 10)

    def forward(self, image):
        x = self.stem(image)
        x = nn.functional.avg_pool2d(x + self.block(x), 2)
        return self.classifier(x.flatten(1))


class Perceptron(TorchModule):
    """Three layers."""

    example = (1, 20)

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4)
        )

    def forward(self, features):
        return self.layers(features)


class Recurrent(TorchModule):
    """An LSTM or a GRU, and a classifier of its last step."""

    example = (1, 6, 8)

    def __init__(self, kind: type, **options) -> None:
        super().__init__()
        self.recurrent = kind(8, 12, batch_first=True, **options)
        self.classifier = nn.Linear(24 if options.get("bidirectional") else 12, 5)

    def forward(self, steps):
        y, _ = self.recurrent(steps)
        return self.classifier(y[:, -1])


class Transformer(TorchModule):
    """Two encoder layers, the first with a causal mask of minus infinity."""

    example = (1, 6, 16)

    def __init__(self) -> None:
        super().__init__()
        options = {"dim_feedforward": 32, "batch_first": True, "dropout": 0.0}
        self.first = nn.TransformerEncoderLayer(16, 2, activation="relu", **options)
        self.second = nn.TransformerEncoderLayer(16, 4, activation="gelu", **options)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(6))

    def forward(self, tokens):
        return self.second(self.first(tokens, src_mask=self.mask)).mean(1)


class Function(TorchModule):
    """A module that is one function."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    """The module with the same random weights every time, not in training."""
    torch.manual_seed(0)
    return make().eval()


def example_of(module: nn.Module, seed: int = 0):
    """A random input."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(module.example, generator=generator)


def exported(module: nn.Module, *inputs, **options) -> bytes:
    """The content of a `.pt2` file."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(module, inputs, **options), file)
    return file.getvalue()


def quantized(module: nn.Module, is_per_channel: bool = True):
    """The module after PT2E with the XNNPACK quantizer: int8, calibrated on random inputs."""
    pytest.importorskip("torchao", reason="make test installs it; by hand: pip install torchao")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.testing.pt2e._xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    config = get_symmetric_quantization_config(is_per_channel=is_per_channel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = torch.export.export(module, (example_of(module),)).module()
        prepared = prepare_pt2e(graph, XNNPACKQuantizer().set_global(config))
        for seed in range(8):
            prepared(example_of(module, seed))
        return convert_pt2e(prepared)


def run(module: nn.Module, x) -> np.ndarray:
    """The first output."""
    with torch.no_grad():
        return module(x).numpy()
