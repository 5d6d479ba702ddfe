"""Kernels, and chains of functions behind them, which compilers fuse into one loop.

A graph has a branch for each chain: a kernel that reads the input of the model, then the functions.
The result of each is an output, so that one program compares many chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TypeAlias

from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.trial import Trial
from support.quantized_models.chain import Chain
from support.quantized_models.model import PADDINGS, Constant, Spec, int32
from support.quantized_models.weights import Weights, weights_and_bias
from support.quantized_models.windows import Window
from support.tflite_builder import options

ChainStep: TypeAlias = Callable[[Draw, Chain, int], int]
"""Appends operators to a value; their result."""

_LIMITS = (-128, 127, 0, -1)
_CURVES = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
_OPTIONS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}
_POINT = Window((1, 1))


@dataclass(frozen=True)
class Branch:
    """The name of a kernel, and those of the functions behind it."""

    kernel: str
    functions: tuple[str, ...]

    def __str__(self) -> str:
        return "-".join((self.kernel, *self.functions))


def chains_model(draw: Draw, image: tuple[int, ...], branches: Sequence[Branch]) -> bytes:
    """A model of as many branches, whose outputs come in their order."""
    chain, outputs = Chain(), []
    x = chain.input(_spec(draw, image))
    for branch in branches:
        value = KERNELS[branch.kernel](draw, chain, x)
        for function in branch.functions:
            value = FUNCTIONS[function](draw, chain, value)
        outputs.append(value)
    return chain.finish(*outputs)


def chains_trial(random: Random, image: tuple[int, ...], branches: Sequence[Branch]) -> Trial:
    """The model of some branches, random and extreme inputs, and what references compute."""
    content = chains_model(Draw(random), image, branches)
    description = f"{list(image)} {' '.join(map(str, branches))}"
    return trial("chains", content, description, Model([], []), random)


def random_chains(random: Random, branches: int = 4, most: int = 3) -> Trial:
    """Chains of one to `most` functions behind kernels."""
    draw = Draw(random)
    channels = draw.choice((4, 8, 16, 2 * draw.number(1, 10)))
    image = (draw.choice((1, 1, 2)), draw.number(1, 7), draw.number(1, 7), channels)
    drawn = [
        Branch(
            draw.choice(list(KERNELS)),
            tuple(draw.choice(list(FUNCTIONS)) for _ in range(draw.number(1, most))),
        )
        for _ in range(branches)
    ]
    return chains_trial(random, image, drawn)


def _spec(draw: Draw, shape: tuple[int, ...]) -> Spec:
    zero_point = draw.choice(_LIMITS) if draw.flag(0.3) else draw.number(-128, 127)
    return Spec(tuple(shape), draw.scale(1e-2, 0.2), zero_point)


def _function(code: str, draw: Draw, chain: Chain, x: int) -> int:
    """A function without options, to a scale of its own or any."""
    spec = chain.specs[x]
    y = Spec(spec.shape, *_CURVES[code]) if code in _CURVES else _spec(draw, spec.shape)
    return chain.apply(code, [x], y)


def _clamp(code: str, draw: Draw, chain: Chain, x: int) -> int:
    """A function that only limits elements."""
    return chain.apply(code, [x], chain.specs[x])


def _leaky(draw: Draw, chain: Chain, x: int) -> int:
    y = _spec(draw, chain.specs[x].shape)
    return chain.apply("LEAKY_RELU", [x], y, options("LeakyReluOptions", alpha=draw.scale(0.1, 1)))


def _prelu(draw: Draw, chain: Chain, x: int) -> int:
    shape = chain.specs[x].shape
    slopes = draw.constant(_spec(draw, (1,) * (len(shape) - 2) + shape[-1:]))
    return chain.apply("PRELU", [x, slopes], _spec(draw, shape))


def _widened(draw: Draw, chain: Chain, x: int) -> int:
    """To 16 bits and back."""
    shape = chain.specs[x].shape
    wide = chain.apply("QUANTIZE", [x], Spec(shape, draw.scale(1e-4, 1e-2), 0, "int16"))
    return chain.apply("QUANTIZE", [wide], _spec(draw, shape))


def _extreme(code: str, draw: Draw, chain: Chain, x: int) -> int:
    """The greater or lesser of an element and another."""
    spec = chain.specs[x]
    fits = chain.specs[min(chain.specs)] == spec
    return chain.apply(
        code, [x, _other(draw, chain, spec, fits)], spec, options("MaximumMinimumOptions")
    )


def _combined(code: str, draw: Draw, chain: Chain, x: int) -> int:
    """A sum, difference or product with other elements."""
    shape = chain.specs[x].shape
    fits = chain.specs[min(chain.specs)].shape == shape
    operands = [x, _other(draw, chain, _spec(draw, shape), fits)]
    activation = options(_OPTIONS[code], fused_activation_function=draw.choice((0, 0, 1, 3)))
    return chain.apply(code, operands[:: draw.choice((1, -1))], _spec(draw, shape), activation)


def _other(draw: Draw, chain: Chain, spec: Spec, fits: bool) -> int | Constant:
    """The input of the model if it fits, or a constant for all pixels or each."""
    if fits and draw.flag():
        return min(chain.specs)
    return draw.constant(spec if draw.flag() else spec(spec.shape[-1]))


FUNCTIONS: Mapping[str, ChainStep] = {
    **{
        code: partial(_function, code)
        for code in ("LOGISTIC", "TANH", "HARD_SWISH", "QUANTIZE", "RELU", "ABS")
    },
    **{f"{code}_CLAMP": partial(_clamp, code) for code in ("RELU", "RELU6")},
    **{code: partial(_extreme, code) for code in ("MAXIMUM", "MINIMUM")},
    **{code: partial(_combined, code) for code in _OPTIONS},
    "LEAKY_RELU": _leaky,
    "PRELU": _prelu,
    "QUANTIZE_INT16": _widened,
}
"""What is fused behind kernels."""


def _convolve(
    draw: Draw, chain: Chain, x: int, window: Window = _POINT, channels: int = 0, groups: int = 1
) -> int:
    """A convolution to so many channels; to any number if that is 0."""
    spec = chain.specs[x]
    batch, height, width, depth = spec.shape
    groups = groups if depth % groups == 0 else 1
    channels = channels or groups * draw.number(1, 9)
    shape = (channels, *window.kernel, depth // groups)
    y = _spec(draw, (batch, *window.output(height, width), channels))
    taps = math.prod(shape[1:])
    constants = weights_and_bias(draw.generator, Weights(), shape, 0, taps, spec, y)
    table = options("Conv2DOptions", **_moved(window, draw.choice((0, 0, 1, 3))))
    return chain.apply("CONV_2D", [x, *constants], y, table)


def _depthwise(draw: Draw, chain: Chain, x: int, multiplier: int = 1) -> int:
    window = Window(draw.choice(((3, 3), (3, 3), (1, 3), (5, 2))))
    scale = draw.scale(1e-2, 0.2)
    zero_point = draw.number(-128, 127)
    return chain.conv(x, multiplier, window, scale, zero_point, code="DEPTHWISE_CONV_2D")


def _transpose(draw: Draw, chain: Chain, x: int) -> int:
    spec, channels = chain.specs[x], draw.number(1, 5)
    y = _spec(draw, (spec.shape[0], 2 * spec.shape[1], 2 * spec.shape[2], channels))
    shape = (channels, 2, 2, spec.shape[3])
    constants = weights_and_bias(draw.generator, Weights(), shape, 0, spec.shape[3], spec, y)
    table = options("TransposeConvOptions", padding=0, stride_h=2, stride_w=2)
    weights, bias = constants
    return chain.apply("TRANSPOSE_CONV", [int32(*y.shape), weights, x, bias], y, table)


def _dense(draw: Draw, chain: Chain, x: int) -> int:
    """Of each pixel."""
    *outer, depth = chain.specs[x].shape
    return chain.fully_connected(
        chain.reshape(x, math.prod(outer), depth), draw.number(1, 9), draw.scale(1e-2, 0.2)
    )


def _pool(code: str, draw: Draw, chain: Chain, x: int) -> int:
    padding = draw.choice(list(PADDINGS))
    kernel = [min(draw.number(1, 3), extent) for extent in chain.specs[x].shape[1:3]]
    return chain.pool(code, x, Window((kernel[0], kernel[1]), padding=padding))


def _mean(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    axes = draw.choice(((1, 2), (1, 2), (1,), (2,), (3,)))
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(spec.shape))
    table = options("ReducerOptions", keep_dims=True)
    code = draw.choice(("MEAN", "SUM"))
    return chain.apply(code, [x, int32(*axes)], _spec(draw, shape), table)


def _moved(window: Window, activation: int) -> dict[str, int]:
    return {
        "padding": PADDINGS[window.padding],
        "stride_h": window.stride[0],
        "stride_w": window.stride[1],
        "dilation_h_factor": window.dilation[0],
        "dilation_w_factor": window.dilation[1],
        "fused_activation_function": activation,
    }


KERNELS: Mapping[str, ChainStep] = {
    "conv_1x1": _convolve,
    "conv_same_channels": lambda d, c, x: _convolve(d, c, x, Window(), c.specs[x].shape[3]),
    "conv": lambda d, c, x: _convolve(d, c, x, Window(stride=d.choice(((1, 1), (2, 2))))),
    "conv_dilated": lambda d, c, x: _convolve(d, c, x, Window((2, 2), (1, 1), (2, 2)), 8),
    "conv_groups": lambda d, c, x: _convolve(d, c, x, Window(), groups=2),
    "depthwise": _depthwise,
    "depthwise_multiplier": partial(_depthwise, multiplier=2),
    "transposed": _transpose,
    "dense": _dense,
    "average_pool": partial(_pool, "AVERAGE_POOL_2D"),
    "max_pool": partial(_pool, "MAX_POOL_2D"),
    "mean": _mean,
    "add": partial(_combined, "ADD"),
    "mul": partial(_combined, "MUL"),
    "maximum": partial(_extreme, "MAXIMUM"),
    "look_up": _leaky,
    "requantize": partial(_function, "QUANTIZE"),
}
"""What is computed by a kernel on some core."""
