"""Random graphs of the int8 operators that have kernels, with shapes and numbers at the extremes.

Windows larger than the image, strides larger than the window, images of one row or column, tiles
that are cut, batches, biases and factors of any size, channels that are constant or that nothing
reads: what the proofs and the edges of kernels depend on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np

from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.tflite.windows import dilations, sliding
from support.operator_trials.trial import Trial
from support.quantized_models.chain import Chain
from support.quantized_models.fully_connected import _largest_output
from support.quantized_models.model import Constant, Spec, int32
from support.quantized_models.weights import Weights, weights_and_bias
from support.quantized_models.windows import Window
from support.tflite_builder import Quantization, options

_MOST_ELEMENTS = 4000
_MOST_TAPS = 6000
_ACTIVATIONS = (0, 0, 0, 1, 1, 2, 3)
_LIMITS = (-128, -128, 127, 127, 0, -1, 1)


def kernel_trial(random: Random) -> Trial:
    """One to six operators on int8, each on the newest tensor or an earlier one."""
    draw, chain = Draw(random), Chain()
    channels = draw.choice((draw.number(1, 17), draw.number(1, 40), 4, 8, 16, 32))
    height, width = draw.number(1, 9), draw.number(1, 9)
    if draw.flag(0.2):
        height, width = draw.choice(((1, draw.number(1, 30)), (draw.number(1, 30), 1)))
    batch = draw.choice((1, 1, 1, 2, 3))
    values = [chain.input(_spec(draw, (batch, height, width, channels)))]
    for _ in range(draw.number(1, 6)):
        x = values[-1] if draw.flag(0.8) else draw.choice(values)
        values.append(draw.choice(_STEPS)(draw, chain, x))
    read = {index for operator in chain.graph.operators for index in operator.inputs}
    outputs = [value for value in values[1:] if value not in read or draw.flag(0.1)]
    names = " ".join(
        f"{operator.code}{list(chain.specs[operator.outputs[0]].shape)}"
        for operator in chain.graph.operators
    )
    start = list(chain.specs[values[0]].shape)
    content = chain.finish(*dict.fromkeys(outputs))
    return trial("kernels", content, f"{start} {names}", Model([], []), random)


def _spec(draw: Draw, shape: tuple[int, ...]) -> Spec:
    zero_point = draw.choice(_LIMITS) if draw.flag(0.5) else draw.number(-128, 127)
    return Spec(tuple(shape), draw.scale(2e-3, 0.5), zero_point, "int8")


def _window(draw: Draw, spec: Spec, dilated: float = 0.2) -> Window:
    """Of any size: where nothing pads, it fits the image."""
    _, height, width, _ = spec.shape
    padding = draw.choice(("SAME", "SAME", "VALID"))
    most = 5 if padding == "SAME" else 9
    kernel = [draw.choice((1, 2, 3, 3, draw.number(1, most))) for _ in range(2)]
    if draw.flag(0.2):
        kernel[1] = kernel[0] = draw.choice((1, 3))
    dilation = [draw.number(1, 3), draw.number(1, 3)] if draw.flag(dilated) else [1, 1]
    if padding == "VALID":
        for side, extent in enumerate((height, width)):
            kernel[side] = min(kernel[side], extent)
            while (kernel[side] - 1) * dilation[side] >= extent:
                dilation[side] -= 1
    stride = (draw.choice((1, 1, 2, 3, 5)), draw.choice((1, 1, 2, 3, 5)))
    if draw.flag(0.4):
        stride = (1, 1)
    return Window((kernel[0], kernel[1]), stride, (dilation[0], dilation[1]), padding)


def _constants(
    draw: Draw, shape: tuple[int, ...], axis: int, taps: int, x: Spec, y: Spec
) -> list[Constant]:
    """Weights and a bias that fill the range of the output, or anything else."""
    how = Weights(
        per_channel=draw.flag(0.7),
        limit=draw.choice((None, None, 1, 3)),
        spread=draw.choice((1.0, 1.0, 0.3, 3.0)),
    )
    weights, bias = weights_and_bias(draw.generator, how, shape, axis, taps, x, y)
    assert bias is not None
    data, added, channels = weights.data.copy(), bias.data.copy(), shape[axis]
    by_channel = np.moveaxis(data, axis, 0)
    if draw.flag(0.25):
        for channel in range(channels):
            if draw.flag(0.4):
                by_channel[channel] = draw.choice((-128, -127, 127, 0))
    if draw.flag(0.25):
        for channel in range(channels):
            if draw.flag(0.4):
                by_channel[channel] = 0
    if draw.flag(0.1):
        by_channel[...] = draw.generator.choice(np.array([-128, 127], np.int8), by_channel.shape)
    if draw.flag(0.2):
        # What single precision and 24 or 30 bits hold, and just not.
        near = [2**23, 2**30, 2**31 - 1, 2**22, 2**29]
        for channel in range(channels):
            if draw.flag(0.3):
                distance = draw.number(-300000, 300000) if draw.flag() else draw.number(-300, 300)
                value = (draw.choice(near) + distance) * draw.choice((-1, 1))
                added[channel] = max(-(2**31), min(value, 2**31 - 1))
    quantization = weights.quantization
    assert quantization is not None
    if draw.flag(0.3):
        factors = [2.0 ** draw.number(-12, 12) for _ in quantization.scales]
        if draw.flag(0.5):
            factors = [2.0 ** draw.choice((-25, -8, -4, 0, 3, 8))] * len(factors)
        scales = [s * f for s, f in zip(quantization.scales, factors, strict=True)]
        if draw.flag(0.3):
            scales = [2.0 ** round(math.log2(s)) for s in scales]
        quantization = replace(quantization, scales=tuple(scales))
    scales = np.array(quantization.scales, np.float32) * np.float32(x.scale)
    of_bias = Quantization(tuple(scales.tolist()), (0,) * len(scales))
    return [Constant(data, quantization), Constant(added, of_bias)]


def _channels(draw: Draw, taps: int) -> int:
    most = max(1, min(40, _MOST_TAPS // taps))
    number = draw.choice((draw.number(1, 17), draw.number(1, 40), 4, 8, 16))
    return int(min(number, most))


def _convolve(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    at = _window(draw, spec)
    divisors = [number for number in range(2, spec.shape[3]) if spec.shape[3] % number == 0]
    groups = draw.choice(divisors) if divisors and draw.flag(0.2) else 1
    depth = spec.shape[3] // groups
    taps = depth * math.prod(at.kernel)
    channels = groups * -(-_channels(draw, taps * groups) // groups)
    y = _spec(draw, (spec.shape[0], *at.output(*spec.shape[1:3]), channels))
    constants = _constants(draw, (channels, *at.kernel, depth), 0, taps, spec, y)
    table = sliding("Conv2DOptions", at, draw.choice(_ACTIVATIONS), **dilations(at))
    return chain.apply("CONV_2D", [x, *constants], y, table)


def _depthwise(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    at = _window(draw, spec)
    multiplier = draw.choice((2, 3, 4, 8)) if draw.flag(0.2) else 1
    channels = spec.shape[3] * multiplier
    y = _spec(draw, (spec.shape[0], *at.output(*spec.shape[1:3]), channels))
    constants = _constants(draw, (1, *at.kernel, channels), 3, math.prod(at.kernel), spec, y)
    table = sliding(
        "DepthwiseConv2DOptions",
        at,
        draw.choice(_ACTIVATIONS),
        **dilations(at),
        depth_multiplier=multiplier,
    )
    return chain.apply("DEPTHWISE_CONV_2D", [x, *constants], y, table)


def _transposed(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    if spec.shape[0] != 1 or math.prod(spec.shape) > 600:
        return _convolve(draw, chain, x)
    at = replace(_window(draw, spec, 0), dilation=(1, 1))
    channels = draw.number(1, 9)
    y = _spec(draw, (1, *_largest_output(at, *spec.shape[1:3]), channels))
    taps = spec.shape[3] * math.prod(-(-at.kernel[i] // at.stride[i]) for i in (0, 1))
    weights, bias = _constants(draw, (channels, *at.kernel, spec.shape[3]), 0, taps, spec, y)
    table = sliding("TransposeConvOptions", at, 0)
    return chain.apply("TRANSPOSE_CONV", [int32(*y.shape), weights, x, bias], y, table)


def _dense(draw: Draw, chain: Chain, x: int) -> int:
    """Of each pixel or of all; its result is an image of one pixel or one row."""
    spec = chain.specs[x]
    batch = spec.shape[0]
    depth = spec.shape[3] if draw.flag() else math.prod(spec.shape[1:])
    if depth > _MOST_TAPS // 2:
        return _pool(draw, chain, x)
    rows = math.prod(spec.shape) // depth
    flat = chain.reshape(x, rows, depth)
    channels = _channels(draw, depth)
    y = _spec(draw, (rows, channels))
    constants = _constants(draw, (channels, depth), 0, depth, spec, y)
    table = options("FullyConnectedOptions", fused_activation_function=draw.choice(_ACTIVATIONS))
    out = chain.apply("FULLY_CONNECTED", [flat, *constants], y, table)
    return chain.reshape(out, batch, 1, rows // batch, channels)


def _pool(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    at = _window(draw, spec, 0)
    if draw.flag(0.2):
        at = Window(spec.shape[1:3], (1, 1), (1, 1), "VALID")
    code = draw.choice(("AVERAGE_POOL_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"))
    y = spec(spec.shape[0], *at.output(*spec.shape[1:3]), spec.shape[3])
    kernel = {"filter_height": at.kernel[0], "filter_width": at.kernel[1]}
    table = sliding("Pool2DOptions", at, draw.choice(_ACTIVATIONS), **kernel)
    return chain.apply(code, [x], y, table)


def _combine(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    alike = [index for index, other in chain.specs.items() if other.shape == spec.shape]
    shape = spec.shape if draw.flag(0.3) else (spec.shape[3],)
    constant = draw.constant(_spec(draw, shape))
    other = draw.choice(alike) if draw.flag(0.7) else constant
    code, table = draw.choice(
        (("ADD", "AddOptions"), ("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"))
    )
    operands = [x, other] if draw.flag(0.7) else [other, x]
    activation = options(table, fused_activation_function=draw.choice(_ACTIVATIONS))
    return chain.apply(code, operands, _spec(draw, spec.shape), activation)


def _activate(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    code = draw.choice(("RELU", "LOGISTIC", "TANH", "QUANTIZE", "LEAKY_RELU"))
    table = options("LeakyReluOptions", alpha=draw.scale(0.1, 1)) if code == "LEAKY_RELU" else None
    curves = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
    y = Spec(spec.shape, *curves[code]) if code in curves else _spec(draw, spec.shape)
    return chain.apply(code, [x], y, table)


def _pad(draw: Draw, chain: Chain, x: int) -> int:
    if math.prod(chain.specs[x].shape) > _MOST_ELEMENTS:
        return _pool(draw, chain, x)
    amounts = [(draw.number(0, 2), draw.number(0, 2)) for _ in range(2)]
    if draw.flag(0.7):
        return chain.pad(x, *amounts)
    spec = chain.specs[x]
    pairs = [(0, 0), *amounts, (0, draw.number(0, 1) * draw.number(0, 3))]
    y = spec(*(e + sum(pair) for e, pair in zip(spec.shape, pairs, strict=True)))
    flat = int32(*(number for pair in pairs for number in pair))
    value = Constant(np.array([draw.number(-128, 127)], np.int8), spec.quantization)
    return chain.apply("PADV2", [x, Constant(flat.data.reshape(4, 2)), value], y)


def _join(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    if math.prod(spec.shape) > _MOST_ELEMENTS:
        return _cut(draw, chain, x)
    alike = [index for index, other in chain.specs.items() if other == spec]
    axis, parts = draw.number(1, 3), [x, draw.choice(alike)]
    shape = [e * (1 + (at == axis)) for at, e in enumerate(spec.shape)]
    table = options("ConcatenationOptions", axis=axis)
    return chain.apply("CONCATENATION", parts, spec(*shape), table)


def _cut(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    begin = [0, *(draw.number(0, extent - 1) for extent in spec.shape[1:])]
    size = [draw.number(1, e - b) for e, b in zip(spec.shape, begin, strict=True)]
    size[0] = spec.shape[0]
    return chain.apply("SLICE", [x, int32(*begin), int32(*size)], spec(*size))


def _turn(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    order = draw.choice(((0, 2, 1, 3), (0, 1, 3, 2), (0, 3, 1, 2)))
    y = spec(*(spec.shape[axis] for axis in order))
    return chain.apply("TRANSPOSE", [x, int32(*order)], y, options("TransposeOptions"))


def _softmax(draw: Draw, chain: Chain, x: int) -> int:
    return chain.softmax(x)


def _mean(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    axes = draw.choice(((1,), (2,), (1, 2), (1, 2), (3,), (2, 3)))
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(spec.shape))
    table = options("ReducerOptions", keep_dims=True)
    code = draw.choice(("MEAN", "MEAN", "SUM"))
    return chain.apply(code, [x, int32(*axes)], _spec(draw, shape), table)


_STEPS: tuple[Callable[[Draw, Chain, int], int], ...] = (
    *[_convolve] * 6,
    *[_depthwise] * 6,
    *[_dense] * 3,
    *[_pool] * 3,
    *[_combine] * 4,
    *[_mean] * 2,
    _transposed,
    _activate,
    _pad,
    _join,
    _cut,
    _turn,
    _softmax,
)
