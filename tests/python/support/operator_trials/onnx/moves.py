"""Operators that only move elements, or make them from none."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import (
    Varied,
    graph_trial,
    has_attribute,
    node_trial,
    opset_of,
)
from support.operator_trials.onnx.samples import (
    axis_of,
    broadcast_of,
    constant,
    either,
    int64,
    shape_of,
    type_of,
    values,
)
from support.operator_trials.trial import Generator, Trial

helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")


def _data(random: Random, operator: str, opset: int, shape: list[int]) -> Varied:
    return values(type_of(random, operator, opset), shape)


def reshape(random: Random) -> Trial:
    opset = opset_of(random, "Reshape")
    shape = shape_of(random, 1)
    target = [*shape]
    random.shuffle(target)
    if len(target) > 1 and random.random() < 0.5:
        target = [target[0] * target[1], *target[2:]]
    target += [1] * random.randint(0, 1)
    for index, extent in enumerate(target):
        if index < len(shape) and shape[index] == extent and random.random() < 0.3:
            target[index] = 0
    if random.random() < 0.5:
        target[random.randrange(len(target))] = -1
    allows = None
    if opset >= 14 and 0 not in target:
        allows = random.choice([None, 0, 1])
    x = _data(random, "Reshape", opset, shape)
    return node_trial(random, "Reshape", [x, int64(*target)], opset, allowzero=allows)


def flatten(random: Random) -> Trial:
    opset = opset_of(random, "Flatten")
    shape = shape_of(random, 1)
    least = -len(shape) if opset >= 11 else 0
    axis = random.choice([None, random.randint(least, len(shape))])
    return node_trial(random, "Flatten", [_data(random, "Flatten", opset, shape)], opset, axis=axis)


def squeeze(random: Random) -> Trial:
    opset = opset_of(random, "Squeeze")
    shape = shape_of(random, 1, 3)
    count = random.randint(1, 2)
    ones = sorted(random.sample(range(len(shape) + count), count))
    for axis in ones:
        shape.insert(axis, 1)
    given: list[int] | None = [a - len(shape) * (opset >= 11) * random.randint(0, 1) for a in ones]
    if random.random() < 0.2:
        given = None
    x = _data(random, "Squeeze", opset, shape)
    if opset < 13:
        return node_trial(random, "Squeeze", [x], opset, axes=given)
    return node_trial(random, "Squeeze", [x, *([int64(*given)] if given else [])], opset)


def unsqueeze(random: Random) -> Trial:
    opset = opset_of(random, "Unsqueeze")
    shape, count = shape_of(random, 0, 3), random.randint(1, 2)
    axes = random.sample(range(len(shape) + count), count)
    if opset >= 11:
        axes = [a - (len(shape) + count) * random.randint(0, 1) for a in axes]
    x = _data(random, "Unsqueeze", opset, shape)
    if opset < 13:
        return node_trial(random, "Unsqueeze", [x], opset, axes=axes)
    return node_trial(random, "Unsqueeze", [x, int64(*axes)], opset)


def transpose(random: Random) -> Trial:
    opset = opset_of(random, "Transpose")
    shape = shape_of(random, 1, 5, 4)
    perm = random.choice([None, random.sample(range(len(shape)), len(shape))])
    x = _data(random, "Transpose", opset, shape)
    return node_trial(random, "Transpose", [x], opset, perm=perm)


def expand(random: Random) -> Trial:
    opset = opset_of(random, "Expand", 8)
    shape = shape_of(random)
    source, target = broadcast_of(random, shape), broadcast_of(random, shape)
    x = _data(random, "Expand", opset, source)
    return node_trial(random, "Expand", [x, int64(*target)], opset)


def tile(random: Random) -> Trial:
    opset = opset_of(random, "Tile")
    shape = shape_of(random, 1, 4, 4)
    x = _data(random, "Tile", opset, shape)
    return node_trial(random, "Tile", [x, int64(*(random.randint(1, 3) for _ in shape))], opset)


def concat(random: Random) -> Trial:
    opset = opset_of(random, "Concat")
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape)) if opset >= 11 else random.randrange(len(shape))
    dtype, operands = type_of(random, "Concat", opset), []
    for _ in range(random.randint(1, 4)):
        part = [*shape]
        part[axis] = random.randint(1, 5)
        operands.append(either(random, values(dtype, part), 0.2))
    return node_trial(random, "Concat", operands, opset, axis=axis)


def split(random: Random) -> Trial:
    opset = opset_of(random, "Split")
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape)) if opset >= 11 else random.randrange(len(shape))
    count = random.randint(1, 4)
    sizes = [random.randint(1, 4) for _ in range(count)]
    is_even = random.random() < 0.4
    if is_even:
        sizes = [sizes[0]] * count
    if opset >= 18 and is_even and count > 1 and sizes[0] > 1:
        sizes[-1] = random.randint(1, sizes[0])
    shape[axis] = sum(sizes)
    x = _data(random, "Split", opset, shape)
    asked_axis = None if axis == 0 and random.random() < 0.5 else axis
    if is_even:
        # One less than this and ONNX would give other sizes.
        is_whole = -(-shape[axis] // count) == sizes[0]
        number = count if opset >= 18 else None
        if is_whole:
            return node_trial(
                random, "Split", [x], opset, count, axis=asked_axis, num_outputs=number
            )
    if opset < 13:
        return node_trial(random, "Split", [x], opset, count, axis=asked_axis, split=sizes)
    return node_trial(random, "Split", [x, int64(*sizes)], opset, count, axis=asked_axis)


def slice_(random: Random) -> Trial:
    opset = opset_of(random, "Slice")
    shape = shape_of(random, 1, 4, 7)
    axes = random.sample(range(len(shape)), random.randint(1, len(shape)))
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = shape[axis]
        step = random.choice([1, 1, 2, 3, -1, -2]) if opset >= 10 else 1
        first, last = random.randrange(extent), random.randrange(extent)
        first, last = (min(first, last), max(first, last))
        if step > 0:
            start, end = first, random.choice([last + 1, last + 1, 2**31 - 1, 2**63 - 1, 99])
        else:
            start, end = last, random.choice([first - 1, -(2**31), -99])
            end = -extent - 1 if end == -1 else end
        # What is counted from the end means the same element.
        start = start - extent if random.random() < 0.3 else start
        if step > 0 and end < extent and random.random() < 0.3:
            end -= extent
        starts.append(start)
        ends.append(end)
        steps.append(step)
    leaves_axes_out = sorted(axes) == axes == list(range(len(shape))) and random.random() < 0.7
    given = [axis - len(shape) if random.random() < 0.3 else axis for axis in axes]
    x = _data(random, "Slice", opset, shape)
    if opset < 10:
        asked = None if leaves_axes_out else axes
        return node_trial(random, "Slice", [x], opset, starts=starts, ends=ends, axes=asked)
    asked_axes = None if leaves_axes_out else int64(*given)
    asked_steps = None if all(s == 1 for s in steps) and random.random() < 0.5 else int64(*steps)
    operands: list[Any] = [x, int64(*starts), int64(*ends), asked_axes, asked_steps]
    while operands[-1] is None:
        operands.pop()
    return node_trial(random, "Slice", operands, opset)


def pad(random: Random) -> Trial:
    opset = opset_of(random, "Pad")
    shape = shape_of(random, 1, 4, 5)
    modes = ["constant", "reflect", "edge"] + (["wrap"] if opset >= 19 else [])
    mode = random.choice(modes)
    rank = len(shape)
    axes = random.sample(range(rank), random.randint(1, rank)) if opset >= 18 else None
    if random.random() < 0.5:
        axes = None
    padded = axes or list(range(rank))
    least = -1 if mode == "constant" and random.random() < 0.3 else 0

    def width(axis: int) -> int:
        most = shape[axis] - 1 if mode in ("reflect", "wrap") else 3
        return random.randint(least if shape[axis] > 2 else 0, min(most, 3))

    pads = [width(a) for a in padded] + [width(a) for a in padded]
    dtype = type_of(random, "Pad", opset)
    x = values(dtype, shape)
    value = constant(random, dtype, [])
    asked_mode = None if mode == "constant" and random.random() < 0.5 else mode
    if opset < 11:
        fill = float(value) if random.random() < 0.5 else None
        return node_trial(random, "Pad", [x], opset, mode=asked_mode, pads=pads, value=fill)
    has_value = mode == "constant" and random.random() < 0.5
    operands: list[Any] = [x, int64(*pads), value if has_value else None]
    if axes is not None:
        operands.append(int64(*(a - rank if random.random() < 0.3 else a for a in axes)))
    while operands[-1] is None:
        operands.pop()
    return node_trial(random, "Pad", operands, opset, mode=asked_mode)


def identity(random: Random) -> Trial:
    opset = opset_of(random, "Identity")
    return node_trial(
        random, "Identity", [_data(random, "Identity", opset, shape_of(random))], opset
    )


def dropout(random: Random) -> Trial:
    """Of inference, or with a ratio of 0: nothing is dropped, and the mask is all true."""
    opset = opset_of(random, "Dropout")
    x = values("float32", shape_of(random))
    asked = random.choice([1, 1, 2]) if opset >= 10 else 1
    ratio = random.choice([None, 0.3])
    if opset < 12:
        return node_trial(random, "Dropout", [x], opset, asked, ratio=ratio)
    operands = [x] if ratio is None else [x, np.float32(ratio).reshape(())]
    if ratio is not None and random.random() < 0.5:
        is_training = random.random() < 0.5
        if is_training:
            operands[1] = np.float32(0).reshape(())
        operands.append(np.array(is_training))
    return node_trial(random, "Dropout", operands, opset, asked)


def tensor_scatter(random: Random) -> Trial:
    """A cache of two to four axes; in mode linear, all that is new goes into it."""
    opset = opset_of(random, "TensorScatter")
    extents = shape_of(random, 2, 4)
    axis, mode = random.randrange(1, len(extents)), random.choice([None, "linear", "circular"])
    count = random.randint(1, extents[axis])
    new = [*extents[:axis], count, *extents[axis + 1 :]]
    last = extents[axis] - count if mode != "circular" else 3 * extents[axis]
    dtype = type_of(random, "TensorScatter", opset)
    operands: list[Any] = [values(dtype, extents), values(dtype, new)]
    if random.random() < 0.8:
        operands.append(values("int64", extents[:1], 0, last))
    given = axis - len(extents) if random.random() < 0.3 else axis
    return node_trial(random, "TensorScatter", operands, opset, axis=given, mode=mode)


def shape(random: Random) -> Trial:
    opset = opset_of(random, "Shape")
    extents = shape_of(random, 1)
    limits: dict[str, int] = {}
    if opset >= 15:
        for name in ("start", "end"):
            if random.random() < 0.5:
                limits[name] = axis_of(random, len(extents))
    return node_trial(random, "Shape", [_data(random, "Shape", opset, extents)], opset, **limits)


def size(random: Random) -> Trial:
    opset = opset_of(random, "Size")
    return node_trial(random, "Size", [_data(random, "Size", opset, shape_of(random))], opset)


def depth_to_space(random: Random) -> Trial:
    opset = opset_of(random, "DepthToSpace")
    block = random.randint(1, 3)
    batch, depth, height, width = (random.randint(1, 3) for _ in range(4))
    x = _data(random, "DepthToSpace", opset, [batch, depth * block * block, height, width])
    mode = random.choice([None, "DCR", "CRD"]) if opset >= 11 else None
    return node_trial(random, "DepthToSpace", [x], opset, blocksize=block, mode=mode)


def space_to_depth(random: Random) -> Trial:
    opset = opset_of(random, "SpaceToDepth")
    block = random.randint(1, 3)
    batch, depth, height, width = (random.randint(1, 3) for _ in range(4))
    x = _data(random, "SpaceToDepth", opset, [batch, depth, height * block, width * block])
    mode = random.choice(["DCR", "CRD"]) if has_attribute("SpaceToDepth", opset, "mode") else None
    return node_trial(random, "SpaceToDepth", [x], opset, blocksize=block, mode=mode)


def constant_(random: Random) -> Trial:
    """Added to an input, since a model that only has constants is none."""
    opset = opset_of(random, "Constant")
    extents = shape_of(random, 1)
    value = constant(random, "float32", extents)
    forms: list[dict[str, Any]] = [{"value": numpy_helper.from_array(value)}]
    if opset >= 12:
        forms.append({"value_float": 1.5})
        forms.append({"value_floats": [0.5, -2.0, 4.0][: extents[-1] if extents[-1] < 4 else 1]})
    chosen = random.choice(forms)
    if "value_floats" in chosen:
        extents = [*extents, len(chosen["value_floats"])]
    nodes = [
        helper.make_node("Constant", [], ["c"], **chosen),
        helper.make_node("Add", ["x0", "c"], ["y"]),
    ]
    x = values("float32", extents)
    return graph_trial(random, "Constant", nodes, [x], ["y"], opset, str(list(chosen)))


def constant_of_shape(random: Random) -> Trial:
    """A mask from the shape of the input, which is multiplied with it."""
    opset = opset_of(random, "ConstantOfShape")
    extents = shape_of(random, 1)
    value = random.choice([None, numpy_helper.from_array(np.array([2.5], np.float32))])
    attributes = {} if value is None else {"value": value}
    nodes = [
        helper.make_node("ConstantOfShape", ["x1"], ["c"], **attributes),
        helper.make_node("Add", ["x0", "c"], ["y"]),
    ]
    operands = [values("float32", extents), int64(*extents)]
    return graph_trial(random, "ConstantOfShape", nodes, operands, ["y"], opset, str(attributes))


def eye_like(random: Random) -> Trial:
    opset = opset_of(random, "EyeLike")
    dtype = type_of(random, "EyeLike", opset)
    target = random.choice([None, "float32", "int32", "int64", "uint8", "bool"])
    to = None if target is None else helper.np_dtype_to_tensor_dtype(np.dtype(target))
    x = values(dtype, [random.randint(1, 6), random.randint(1, 6)])
    k = random.choice([None, random.randint(-4, 4)])
    return node_trial(random, "EyeLike", [x], opset, dtype=to, k=k)


def trilu(random: Random) -> Trial:
    opset = opset_of(random, "Trilu")
    operands: list[Any] = [_data(random, "Trilu", opset, shape_of(random, 2))]
    if random.random() < 0.6:
        operands.append(np.array(random.randint(-5, 5), np.int64))
    return node_trial(random, "Trilu", operands, opset, upper=random.choice([None, 0, 1]))


def range_(random: Random) -> Trial:
    """Of constants, added to an input, as its size must be known."""
    opset = opset_of(random, "Range")
    dtype = random.choice(["float32", "float64", "int16", "int32", "int64"])
    is_float = dtype.startswith("float")
    step = random.choice([1, 2, 3, -1, -2, 0.5 if is_float else 4])
    start = random.randint(-5, 5)
    count = random.randint(1, 9)
    limit = start + step * count - (step / 2 if is_float else (abs(step) > 1) * np.sign(step))
    operands = [np.array(v, dtype) for v in (start, limit, step)]
    nodes = [
        helper.make_node("Range", ["x0", "x1", "x2"], ["r"]),
        helper.make_node("Add", ["x3", "r"], ["y"]),
    ]
    x = values(dtype, [count], -1000, 1000)
    return graph_trial(random, "Range", nodes, [*operands, x], ["y"], opset)


GENERATORS: Mapping[str, Generator] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Expand": expand,
    "Tile": tile,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "TensorScatter": tensor_scatter,
    "Pad": pad,
    "Identity": identity,
    "Dropout": dropout,
    "Shape": shape,
    "Size": size,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Constant": constant_,
    "ConstantOfShape": constant_of_shape,
    "EyeLike": eye_like,
    "Trilu": trilu,
    "Range": range_,
}
