"""Well-known networks for images in PyTorch, in their published shapes, with random weights."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv(
    inputs: int, outputs: int, size: int = 1, stride: int = 1, groups: int = 1, last: str = "relu"
) -> nn.Sequential:
    """Convolution, batch normalization, activation: `relu`, `relu6` or none."""
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    if last:
        layers.append(nn.ReLU6() if last == "relu6" else nn.ReLU())
    return nn.Sequential(*layers)


class Residual(nn.Module):
    """The sum of a path and its input, which is projected where shapes differ."""

    def __init__(self, path: nn.Module, shortcut: nn.Module | None = None, last: bool = True):
        super().__init__()
        self.path, self.shortcut, self.last = path, shortcut or nn.Identity(), last

    def forward(self, x: Tensor) -> Tensor:
        y = self.path(x) + self.shortcut(x)
        return functional.relu(y) if self.last else y


class Concatenated(nn.Module):
    """Paths from one input, joined by channels."""

    def __init__(self, *paths: nn.Module):
        super().__init__()
        self.paths = nn.ModuleList(paths)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([path(x) for path in self.paths], 1)


def classifier(features: int, classes: int = 1000) -> nn.Sequential:
    """Global average and a dense layer."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, classes))


def basic_block(inputs: int, outputs: int, stride: int = 1) -> Residual:
    """The block of ResNet-18."""
    path = nn.Sequential(conv(inputs, outputs, 3, stride), conv(outputs, outputs, 3, last=""))
    return Residual(path, _projection(inputs, outputs, stride))


def bottleneck_block(inputs: int, width: int, stride: int = 1) -> Residual:
    """The block of ResNet-50, of four times as many channels as it is wide."""
    outputs = 4 * width
    path = nn.Sequential(
        conv(inputs, width), conv(width, width, 3, stride), conv(width, outputs, last="")
    )
    return Residual(path, _projection(inputs, outputs, stride))


def _projection(inputs: int, outputs: int, stride: int) -> nn.Module | None:
    changes = stride != 1 or inputs != outputs
    return conv(inputs, outputs, 1, stride, last="") if changes else None


def inverted_block(inputs: int, outputs: int, stride: int = 1, expansion: int = 6) -> nn.Module:
    """The block of MobileNetV2."""
    wide = inputs * expansion
    expand = [conv(inputs, wide, last="relu6")] if expansion > 1 else []
    path = nn.Sequential(
        *expand,
        conv(wide, wide, 3, stride, groups=wide, last="relu6"),
        conv(wide, outputs, last=""),
    )
    return Residual(path, last=False) if stride == 1 and inputs == outputs else path


def resnet(layers: tuple[int, int, int, int], bottleneck: bool) -> nn.Sequential:
    """ResNet: `resnet((2, 2, 2, 2), False)` has 18 layers, `resnet((3, 4, 6, 3), True)` 50."""
    parts = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, number in enumerate(layers):
        width = 64 << stage
        for block in range(number):
            stride = 2 if stage and not block else 1
            parts.append((bottleneck_block if bottleneck else basic_block)(inputs, width, stride))
            inputs = 4 * width if bottleneck else width
    return nn.Sequential(*parts, classifier(inputs))


def mobilenet_v1() -> nn.Sequential:
    """MobileNet, width 1."""
    widths = [32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]
    parts = [conv(3, 32, 3, 2)]
    for inputs, outputs in pairwise(widths):
        stride = 2 if outputs > inputs and outputs != 64 else 1
        parts += [conv(inputs, inputs, 3, stride, groups=inputs), conv(inputs, outputs)]
    return nn.Sequential(*parts, classifier(widths[-1]))


def mobilenet_v2() -> nn.Sequential:
    """MobileNetV2, width 1."""
    parts: list[nn.Module] = [conv(3, 32, 3, 2, last="relu6")]
    inputs = 32
    for expansion, outputs, number, first in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for block in range(number):
            parts.append(inverted_block(inputs, outputs, 1 if block else first, expansion))
            inputs = outputs
    return nn.Sequential(*parts, conv(inputs, 1280, last="relu6"), classifier(1280))


def inception() -> nn.Sequential:
    """GoogLeNet with batch normalization: four paths a module, joined by channels."""

    def module(inputs: int, one: int, *other: int) -> Concatenated:
        narrow3, three, narrow5, five, pooled = other
        return Concatenated(
            conv(inputs, one),
            nn.Sequential(conv(inputs, narrow3), conv(narrow3, three, 3)),
            nn.Sequential(conv(inputs, narrow5), conv(narrow5, five, 5)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inputs, pooled)),
        )

    return nn.Sequential(
        conv(3, 64, 7, 2),
        nn.MaxPool2d(3, 2, 1),
        conv(64, 64),
        conv(64, 192, 3),
        nn.MaxPool2d(3, 2, 1),
        module(192, 64, 96, 128, 16, 32, 32),
        module(256, 128, 128, 192, 32, 96, 64),
        nn.MaxPool2d(3, 2, 1),
        module(480, 192, 96, 208, 16, 48, 64),
        module(512, 160, 112, 224, 24, 64, 64),
        module(512, 128, 128, 256, 24, 64, 64),
        module(512, 112, 144, 288, 32, 64, 64),
        module(528, 256, 160, 320, 32, 128, 128),
        nn.MaxPool2d(3, 2, 1),
        module(832, 256, 160, 320, 32, 128, 128),
        module(832, 384, 192, 384, 48, 128, 128),
        classifier(1024),
    )


def densenet(layers: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32) -> nn.Sequential:
    """DenseNet, 121 layers if not told otherwise."""

    def normalized(inputs: int, outputs: int, size: int) -> nn.Sequential:
        convolution = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
        return nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(), convolution)

    width = 2 * growth
    parts = [conv(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)]
    for stage, number in enumerate(layers):
        for _ in range(number):
            path = nn.Sequential(
                normalized(width, 4 * growth, 1), normalized(4 * growth, growth, 3)
            )
            parts.append(Concatenated(nn.Identity(), path))
            width += growth
        if stage + 1 < len(layers):
            parts += [normalized(width, width // 2, 1), nn.AvgPool2d(2)]
            width //= 2
    return nn.Sequential(*parts, nn.BatchNorm2d(width), nn.ReLU(), classifier(width))


def squeezenet() -> nn.Sequential:
    """SqueezeNet 1.1."""

    def plain(inputs: int, outputs: int, size: int = 1) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(inputs, outputs, size, padding=size // 2), nn.ReLU())

    def fire(inputs: int, narrow: int, wide: int) -> nn.Sequential:
        return nn.Sequential(
            plain(inputs, narrow), Concatenated(plain(narrow, wide), plain(narrow, wide, 3))
        )

    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2),
        fire(64, 16, 64),
        fire(128, 16, 64),
        nn.MaxPool2d(3, 2),
        fire(128, 32, 128),
        fire(256, 32, 128),
        nn.MaxPool2d(3, 2),
        fire(256, 48, 192),
        fire(384, 48, 192),
        fire(384, 64, 256),
        fire(512, 64, 256),
        plain(512, 1000),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


class UNet(nn.Module):
    """U-Net of four levels: each level of the way up is joined with that of the way down."""

    def __init__(self, width: int = 32, depth: int = 4):
        super().__init__()

        def level(inputs: int, outputs: int) -> nn.Sequential:
            return nn.Sequential(conv(inputs, outputs, 3), conv(outputs, outputs, 3))

        widths = [width << i for i in range(depth + 1)]
        self.down = nn.ModuleList(map(level, [3, *widths], widths))
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(2 * each, each, 2, 2) for each in reversed(widths[:-1])
        )
        self.up = nn.ModuleList(level(2 * each, each) for each in reversed(widths[:-1]))
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        joined: list[Tensor] = []
        for number, level in enumerate(self.down):
            x = level(functional.max_pool2d(x, 2) if number else x)
            joined.append(x)
        joined.pop()
        for grow, level in zip(self.grow, self.up, strict=True):
            x = level(torch.cat([joined.pop(), grow(x)], 1))
        return self.last(x)


class Lstm(nn.Module):
    """LSTM of two layers, its steps unrolled: the result is the last state of the last layer."""

    def __init__(self, inputs: int = 64, width: int = 128, layers: int = 2):
        super().__init__()
        sizes = [inputs, *[width] * layers]
        self.cells = nn.ModuleList(nn.LSTMCell(size, width) for size in sizes[:-1])
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        zeros = x.new_zeros(x.shape[0], self.width)
        states = [(zeros, zeros)] * len(self.cells)
        for value in x.unbind(1):
            for number, cell in enumerate(self.cells):
                states[number] = self.step(cell, value, *states[number])
                value = states[number][0]
        return states[-1][0]

    @staticmethod
    def step(
        cell: nn.LSTMCell, x: Tensor, hidden: Tensor, content: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One step in plain operators, since the importer knows no cell."""
        gates = functional.linear(x, cell.weight_ih, cell.bias_ih) + functional.linear(
            hidden, cell.weight_hh, cell.bias_hh
        )
        into, forget, new, out = gates.chunk(4, 1)
        content = torch.sigmoid(forget) * content + torch.sigmoid(into) * torch.tanh(new)
        return torch.sigmoid(out) * torch.tanh(content), content
