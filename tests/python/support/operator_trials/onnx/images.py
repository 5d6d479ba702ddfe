"""Operators that compute new places of pixels."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from support.operator_trials.onnx.one_node import Operand, Varied, node_trial, opset_of
from support.operator_trials.onnx.samples import int64, type_of, values
from support.operator_trials.trial import Generator, Tolerance, Trial

LOOSE = Tolerance(1e-4, 1e-4)


_RESIZED = ("float32", "int32", "int8", "uint8")
"""The types for which onnxruntime has a kernel of Resize."""


def _pixels(dtype: str, shape: list[int]) -> Varied:
    # ONNX's evaluator, which is the reference for some types, counts in floats.
    limits = (None, None) if dtype in ("float32", "float64", "bool") else (-99, 99)
    return values(dtype, shape, *limits)


def resize(random: Random) -> Trial:
    """Of the last two axes of four, the last of three, or of all."""
    opset = opset_of(random, "Resize")
    mode = random.choice(["nearest", "linear", "cubic"] if opset >= 11 else ["nearest", "linear"])
    dims = random.choice([1, 2, 2, 2, 3]) if mode != "cubic" else 2
    shape = [
        random.randint(1, 2),
        random.randint(1, 3),
        *(random.randint(2, 6) for _ in range(dims)),
    ]
    factors = [random.choice([0.5, 0.7, 1.0, 1.5, 2.0, 2.0, 2.3, 3.0]) for _ in range(dims)]
    scales = np.array([1, 1, *factors], np.float32)
    sizes = int64(
        *shape[:2], *(max(1, int(e * f)) for e, f in zip(shape[2:], factors, strict=True))
    )
    dtype = "float32" if mode != "nearest" else type_of(random, "Resize", opset)
    if opset < 11:
        x = _pixels(dtype, shape)
        return node_trial(random, "Resize", [x, scales], opset, mode=mode, tolerance=LOOSE)
    attributes: dict[str, Any] = {"mode": mode}
    places = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", None]
    if opset >= 19:
        places.append("half_pixel_symmetric")
    if random.random() < 0.1:
        places.append("tf_crop_and_resize")
    attributes["coordinate_transformation_mode"] = random.choice(places)
    if attributes["coordinate_transformation_mode"] == "align_corners" and dtype not in _RESIZED:
        # The evaluator goes by the product of extent and scale, where it is no integer.
        dtype = "int32"
    x = _pixels(dtype, shape)
    roi: Operand = None
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = np.array([0] * 2 + [0.1] * dims + [1] * 2 + [0.8] * dims, np.float32)
        attributes["extrapolation_value"] = random.choice([None, 1.5])
    if mode == "nearest":
        rounding = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", None]
        attributes["nearest_mode"] = random.choice(rounding)
    if mode == "cubic":
        attributes["cubic_coeff_a"] = random.choice([None, -0.5])
        attributes["exclude_outside"] = random.choice([None, 0, 1])
    if opset >= 18 and mode != "nearest" and random.random() < 0.4:
        attributes["antialias"] = 1
    by_scales = random.random() < 0.6
    if opset >= 18 and random.random() < 0.3:
        axes = list(range(2, 2 + dims))
        attributes["axes"] = [a - len(shape) * random.randint(0, 1) for a in axes]
        scales, sizes = scales[2:], sizes[2:]
        if isinstance(roi, np.ndarray):
            roi = np.array([0.1] * dims + [0.8] * dims, np.float32)
        if not by_scales and random.random() < 0.6:
            policies = ["stretch", "not_larger", "not_smaller"]
            attributes["keep_aspect_ratio_policy"] = random.choice(policies)
            # onnxruntime finds other sizes for axes that are counted from the end.
            attributes["axes"] = axes
    if opset < 13 and roi is None:
        roi = np.array([], np.float32)
    if by_scales:
        operands: list[Operand] = [x, roi, scales]
    else:
        empty = None if opset >= 13 else np.array([], np.float32)
        operands = [x, roi, empty, sizes]
    # onnxruntime does not crop axes that keep their size, if the mode is cubic.
    by_evaluator = mode == "cubic" and "tf_crop_and_resize" in attributes.values()
    return node_trial(
        random,
        "Resize",
        operands,
        opset,
        tolerance=LOOSE,
        by_evaluator=by_evaluator,
        **attributes,
    )


def upsample(random: Random) -> Trial:
    opset = random.choice([7, 8, 9])
    mode = random.choice([None, "nearest", "linear"])
    shape = [random.randint(1, 2), random.randint(1, 3), random.randint(2, 6), random.randint(2, 6)]
    scales = [1.0, 1.0, *(random.choice([1.0, 1.5, 2.0, 2.6, 3.0]) for _ in range(2))]
    x = values("float32", shape)
    if opset < 9:
        return node_trial(random, "Upsample", [x], opset, mode=mode, scales=scales, tolerance=LOOSE)
    operands = [x, np.array(scales, np.float32)]
    return node_trial(random, "Upsample", operands, opset, mode=mode, tolerance=LOOSE)


def _boxes(random: Random, shape: list[int], count: int) -> Varied:
    """Regions of an image, some a bit outside: left, top, right, bottom."""
    low, high = random.choice([(0, 1), (-0.3, 1.3)])

    def sample(generator: np.random.Generator) -> np.ndarray:
        height, width = shape[2:]
        corners = generator.uniform(low, high, (count, 2, 2)) * np.array([width, height])
        corners = np.sort(corners, axis=1)
        return corners.reshape(count, 4).astype(np.float32)

    return Varied(sample)


def roi_align(random: Random) -> Trial:
    opset = opset_of(random, "RoiAlign")
    shape = [random.randint(1, 2), random.randint(1, 3), random.randint(3, 7), random.randint(3, 7)]
    count = random.randint(1, 4)
    operands = [
        values("float32", shape),
        _boxes(random, shape, count),
        values("int64", [count], 0, shape[0] - 1),
    ]
    places = [None, "half_pixel", "output_half_pixel"] if opset >= 16 else [None]
    return node_trial(
        random,
        "RoiAlign",
        operands,
        opset,
        tolerance=LOOSE,
        mode=random.choice([None, "avg", "max"]),
        output_height=random.choice([None, random.randint(1, 3)]),
        output_width=random.choice([None, random.randint(1, 3)]),
        sampling_ratio=random.choice([None, 0, 1, 2]),
        spatial_scale=random.choice([None, 0.5]),
        coordinate_transformation_mode=random.choice(places),
    )


def max_roi_pool(random: Random) -> Trial:
    opset = opset_of(random, "MaxRoiPool")
    shape = [random.randint(1, 2), random.randint(1, 3), random.randint(3, 7), random.randint(3, 7)]
    count = random.randint(1, 4)
    boxes = _boxes(random, shape, count)

    def sample(generator: np.random.Generator) -> np.ndarray:
        batch = generator.integers(0, shape[0], (count, 1)).astype(np.float32)
        return np.concatenate([batch, np.floor(boxes.sample(generator))], axis=1)

    return node_trial(
        random,
        "MaxRoiPool",
        [values("float32", shape), Varied(sample)],
        opset,
        tolerance=LOOSE,
        pooled_shape=[random.randint(1, 3), random.randint(1, 3)],
        spatial_scale=random.choice([None, 0.5]),
    )


def grid_sample(random: Random) -> Trial:
    opset = opset_of(random, "GridSample")
    dims = 3 if opset >= 20 and random.random() < 0.3 else 2
    batch = random.randint(1, 2)
    shape = [batch, random.randint(1, 3), *(random.randint(2, 5) for _ in range(dims))]
    grid = [batch, *(random.randint(1, 5) for _ in range(dims)), dims]
    modes = ["bilinear", "nearest", "bicubic"] if opset < 20 else ["linear", "nearest", "cubic"]
    if dims == 3:
        modes = modes[:2]
    return node_trial(
        random,
        "GridSample",
        [values("float32", shape), values("float32", grid, -1.3, 1.3)],
        opset,
        tolerance=LOOSE,
        mode=random.choice([None, *modes]),
        padding_mode=random.choice([None, "zeros", "border", "reflection"]),
        align_corners=random.choice([None, 0, 1]),
    )


def affine_grid(random: Random) -> Trial:
    opset = opset_of(random, "AffineGrid")
    dims = random.choice([2, 2, 3])
    batch = random.randint(1, 2)
    size = int64(batch, random.randint(1, 3), *(random.randint(2, 5) for _ in range(dims)))
    theta = values("float32", [batch, dims, dims + 1])
    return node_trial(
        random, "AffineGrid", [theta, size], opset, align_corners=random.choice([None, 0, 1])
    )


def max_unpool(random: Random) -> Trial:
    opset = opset_of(random, "MaxUnpool")
    kernel = [2, 2]
    batch, channels, height, width = 1, random.randint(1, 2), random.randint(1, 3), 2
    shape = [batch, channels, height, width]

    def sample(generator: np.random.Generator) -> np.ndarray:
        count = int(np.prod(shape))
        return generator.permutation(count * 4)[:count].reshape(shape).astype(np.int64)

    return node_trial(
        random,
        "MaxUnpool",
        [values("float32", shape), Varied(sample)],
        opset,
        kernel_shape=kernel,
        strides=[2, 2],
    )


def non_max_suppression(random: Random) -> Trial:
    opset = opset_of(random, "NonMaxSuppression")
    count = random.randint(1, 6)

    def sample(generator: np.random.Generator) -> np.ndarray:
        return np.sort(generator.random((1, count, 2, 2)), 2).reshape(1, count, 4).astype("float32")

    scores = values("float32", [1, 1, count], 0, 1)
    operands = [Varied(sample), scores, int64(3), np.array([0.5], np.float32)]
    return node_trial(random, "NonMaxSuppression", operands, opset)


GENERATORS: Mapping[str, Generator] = {
    "Resize": resize,
    "Upsample": upsample,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "MaxUnpool": max_unpool,
    "NonMaxSuppression": non_max_suppression,
}
