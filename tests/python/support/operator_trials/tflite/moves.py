"""Operators that move, repeat, cut, join or look up elements."""

from __future__ import annotations

import math

import numpy as np

from support.operator_trials.tflite.draw import Draft, Draw, Model
from support.quantized_models.model import Constant, Spec, int32, scalar
from support.tflite_builder import options


def _like(x: Spec, array: np.ndarray) -> Spec:
    return x(*array.shape)


def _empty(x: Spec) -> np.ndarray:
    return np.empty(x.shape, np.int8)


def _data(draw: Draw, low: int = 1, high: int = 5, most: int = 6) -> Spec:
    return draw.spec(draw.shape(low, high, most), draw.dtype())


def _numbers(draw: Draw, values: object) -> Constant:
    """Parameters, of int32 or int64."""
    return Constant(np.array(values, np.int64 if draw.flag(0.2) else np.int32))


def pad(draw: Draw) -> Model:
    x = _data(draw, 1, 5)
    amounts = [(draw.number(0, 2), draw.number(0, 2)) for _ in x.shape]
    y = _like(x, np.pad(_empty(x), amounts))
    return Model([x, _numbers(draw, amounts)], [y], options("PadOptions"))


def pad_v2(draw: Draw) -> Model:
    model = pad(draw)
    x = model.inputs[0]
    value = Spec(draw.choice(((), (1,))), x.scale, x.zero_point, x.dtype)
    return Model([*model.inputs, draw.constant(value)], model.outputs, options("PadV2Options"))


def mirror_pad(draw: Draw) -> Model:
    x = _data(draw, 1, 5)
    symmetric = draw.flag()
    amounts = [
        (draw.number(0, e - (not symmetric)), draw.number(0, e - (not symmetric))) for e in x.shape
    ]
    y = _like(x, np.pad(_empty(x), amounts))
    table = options("MirrorPadOptions", mode=int(symmetric))
    return Model([x, _numbers(draw, amounts)], [y], table)


def concatenation(draw: Draw) -> Model:
    x = _data(draw, 1, 4)
    axis = draw.axis(len(x.shape))
    inputs: list[Spec | Constant] = []
    total = 0
    for _ in range(draw.number(1, 4)):
        shape = list(x.shape)
        shape[axis] = draw.number(1, 4)
        total += shape[axis]
        part = x(*shape)
        inputs.append(draw.constant(part) if inputs and draw.flag(0.3) else part)
    shape = list(x.shape)
    shape[axis] = total
    activation = 0 if draw.flag(0.8) else draw.number(1, 4)
    table = options("ConcatenationOptions", axis=axis, fused_activation_function=activation)
    return Model(inputs, [x(*shape)], table)


def pack(draw: Draw) -> Model:
    x = _data(draw, 0, 4)
    count = draw.number(1, 4)
    axis = draw.number(-len(x.shape) - 1, len(x.shape))
    shape = list(x.shape)
    shape.insert(axis % (len(x.shape) + 1), count)
    table = options("PackOptions", values_count=count, axis=axis)
    return Model([x(*x.shape) for _ in range(count)], [x(*shape)], table)


def unpack(draw: Draw) -> Model:
    x = _data(draw, 1, 5, 4)
    axis = draw.axis(len(x.shape))
    y = _like(x, _empty(x).take(0, axis))
    table = options("UnpackOptions", num=x.shape[axis], axis=axis)
    return Model([x], [y(*y.shape) for _ in range(x.shape[axis])], table)


def split(draw: Draw) -> Model:
    x = _data(draw)
    axis, parts = draw.axis(len(x.shape)), draw.number(1, 3)
    shape = list(x.shape)
    part = x(*shape)
    shape[axis] *= parts
    table = options("SplitOptions", num_splits=parts)
    return Model([scalar(axis), x(*shape)], [part(*part.shape) for _ in range(parts)], table)


def split_v(draw: Draw) -> Model:
    x = _data(draw)
    axis, sizes = draw.axis(len(x.shape)), [draw.number(1, 4) for _ in range(draw.number(1, 3))]
    outputs = []
    for size in sizes:
        shape = list(x.shape)
        shape[axis] = size
        outputs.append(x(*shape))
    shape = list(x.shape)
    shape[axis] = sum(sizes)
    given = list(sizes)
    if draw.flag(0.3):
        given[draw.number(0, len(given) - 1)] = -1
    table = options("SplitVOptions", num_splits=len(sizes))
    return Model([x(*shape), int32(*given), scalar(axis)], outputs, table)


def slice_(draw: Draw) -> Model:
    x = _data(draw)
    begin = [draw.number(0, e - 1) for e in x.shape]
    rest = [extent - first for extent, first in zip(x.shape, begin, strict=True)]
    size = [draw.number(1, extent) for extent in rest]
    given = [-1 if r == s and draw.flag() else s for r, s in zip(rest, size, strict=True)]
    dtype = draw.choice((np.int32, np.int32, np.int64))
    numbers = [Constant(np.array(values, dtype)) for values in (begin, given)]
    return Model([x, *numbers], [x(*size)], options("SliceOptions"))


def strided_slice(draw: Draw) -> Model:
    x = _data(draw, 1, 5)
    key: list[slice | int] = []
    begin, end, strides, masks = [], [], [], [0, 0, 0]
    for axis, extent in enumerate(x.shape[: draw.number(1, len(x.shape))]):
        first = draw.number(-extent, extent - 1)
        step = draw.choice((1, 1, 2, 3, -1, -2))
        if draw.flag(0.2):
            key.append(first)
            masks[2] |= 1 << axis
            begin.append(first)
            end.append(first + 1)
            strides.append(1)
            continue
        low = first % extent
        last = draw.number(low + 1, extent) if step > 0 else draw.number(0, low) - 1
        is_open = (draw.flag(0.3), draw.flag(0.3) or last < 0)
        masks[0] |= is_open[0] << axis
        masks[1] |= is_open[1] << axis
        key.append(slice(None if is_open[0] else first, None if is_open[1] else last, step))
        begin.append(first)
        end.append(max(last, 0))
        strides.append(step)
    y = _like(x, _empty(x)[tuple(key)])
    table = options(
        "StridedSliceOptions", begin_mask=masks[0], end_mask=masks[1], shrink_axis_mask=masks[2]
    )
    return Model([x, int32(*begin), int32(*end), int32(*strides)], [y], table)


def reshape(draw: Draw) -> Model:
    x = _data(draw)
    extents = list(x.shape)
    draw.random.shuffle(extents)
    while len(extents) > 1 and draw.flag():
        extents[-2:] = [extents[-2] * extents[-1]]
    given = list(extents)
    if draw.flag(0.3):
        given[draw.number(0, len(given) - 1)] = -1
    table = options("ReshapeOptions", new_shape=given)
    inputs = [x, int32(*given)] if draw.flag() else [x]
    return Model(inputs, [x(*extents)], table)


def squeeze(draw: Draw) -> Model:
    x = _data(draw, 1, 4)
    shape = list(x.shape)
    places = []
    for axis in range(len(shape) + 1):
        if draw.flag(0.3):
            places.append(axis + len(places))
    for place in places:
        shape.insert(place, 1)
    if draw.flag(0.4) or not places:
        y, given = x(*(e for e in shape if e != 1)), []
    else:
        y, given = x, [p if draw.flag() else p - len(shape) for p in places]
    return Model([x(*shape)], [y], options("SqueezeOptions", squeeze_dims=given))


def expand_dims(draw: Draw) -> Model:
    x = _data(draw, 0, 4)
    axis = draw.number(-len(x.shape) - 1, len(x.shape))
    shape = list(x.shape)
    shape.insert(axis % (len(shape) + 1), 1)
    return Model([x, scalar(axis)], [x(*shape)], options("ExpandDimsOptions"))


def transpose(draw: Draw) -> Model:
    x = _data(draw, 1, 5)
    order = list(range(len(x.shape)))
    draw.random.shuffle(order)
    y = _like(x, _empty(x).transpose(order))
    return Model([x, int32(*order)], [y], options("TransposeOptions"))


def reverse_v2(draw: Draw) -> Model:
    x = _data(draw)
    axes = sorted(draw.random.sample(range(len(x.shape)), draw.number(1, len(x.shape))))
    given = [axis - len(x.shape) if draw.flag(0.3) else axis for axis in axes]
    return Model([x, int32(*given)], [x], options("ReverseV2Options"))


def reverse_sequence(draw: Draw) -> Model:
    x = _data(draw, 2, 4)
    along, batch = draw.random.sample(range(len(x.shape)), 2)
    lengths = draw.generator.integers(0, x.shape[along], x.shape[batch], np.int32, endpoint=True)
    table = options("ReverseSequenceOptions", seq_dim=along, batch_dim=batch)
    return Model([x, Constant(lengths)], [x], table)


def depth(code: str) -> Draft:
    def draft(draw: Draw) -> Model:
        block = draw.number(1, 3)
        deep = draw.spec((draw.number(1, 2), *draw.shape(2, 2, 4), draw.number(1, 3)), draw.dtype())
        batch, height, width, channels = deep.shape
        wide = deep(batch, height * block, width * block, channels)
        deep = deep(batch, height, width, channels * block * block)
        name = {"DEPTH_TO_SPACE": "DepthToSpaceOptions", "SPACE_TO_DEPTH": "SpaceToDepthOptions"}
        pair = [deep, wide] if code == "DEPTH_TO_SPACE" else [wide, deep]
        return Model(pair[:1], pair[1:], options(name[code], block_size=block))

    return draft


def batches(code: str) -> Draft:
    """SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""

    def draft(draw: Draw) -> Model:
        axes = draw.choice((1, 2, 2))
        block = [draw.number(1, 3) for _ in range(axes)]
        inner = [draw.number(1, 3) for _ in range(axes)]
        batch, channels = draw.number(1, 2), draw.number(1, 3)
        x = draw.spec((), draw.dtype())
        amounts, space = [], []
        for size, count in zip(block, inner, strict=True):
            before = draw.number(0, min(2, size * count - 1))
            after = draw.number(0, min(2, size * count - 1 - before))
            amounts.append((before, after))
            space.append(size * count - before - after)
        one = x(batch, *space, channels)
        other = x(batch * math.prod(block), *inner, channels)
        pair = [one, other] if code == "SPACE_TO_BATCH_ND" else [other, one]
        name = {
            "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
            "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
        }[code]
        inputs = [pair[0], int32(*block), Constant(np.array(amounts, np.int32))]
        # tflite-micro pads with what it finds in its memory.
        return Model(inputs, pair[1:], options(name), is_for_litert=code == "SPACE_TO_BATCH_ND")

    return draft


def tile(draw: Draw) -> Model:
    x = _data(draw, 1, 5, 4)
    counts = [draw.number(1, 3) for _ in x.shape]
    y = _like(x, np.tile(_empty(x), counts))
    return Model([x, _numbers(draw, counts)], [y], options("TileOptions"))


def broadcast_to(draw: Draw) -> Model:
    shape = draw.shape()
    x = draw.spec(
        tuple(1 if draw.flag(0.4) else e for e in shape)[draw.number(0, len(shape) - 1) :],
        draw.dtype(),
    )
    return Model([x, _numbers(draw, shape)], [x(*shape)], options("BroadcastToOptions"))


def fill(draw: Draw) -> Model:
    shape = draw.shape()
    x = draw.spec((), draw.dtype())
    return Model([_numbers(draw, shape), x], [x(*shape)], options("FillOptions"))


def shape_of(draw: Draw) -> Model:
    x = _data(draw)
    y = draw.choice(("int32", "int64"))
    table = options("ShapeOptions", out_type={"int32": 2, "int64": 4}[y])
    return Model([x], [Spec((len(x.shape),), 0, 0, y)], table)


def rank(draw: Draw) -> Model:
    return Model([_data(draw)], [Spec((), 0, 0, "int32")], options("RankOptions"))


def _indices(draw: Draw, shape: tuple[int, ...], extent: int) -> tuple[Spec | Constant, tuple]:
    dtype = draw.choice(("int32", "int32", "int64"))
    if draw.flag():
        return Constant(draw.generator.integers(0, extent, shape, dtype)), (0, extent - 1)
    return Spec(shape, 0, 0, dtype), (0, extent - 1)


def gather(draw: Draw) -> Model:
    x = _data(draw, 1, 4)
    axis = draw.axis(len(x.shape))
    # tflite-micro's batches must come first in both.
    batch = draw.number(0, axis % len(x.shape)) if draw.flag(0.3) else 0
    shape = (*x.shape[:batch], *draw.shape(0, 2, 4))
    indices, limits = _indices(draw, shape, x.shape[axis])
    at = axis % len(x.shape)
    y = x(*x.shape[:at], *shape[batch:], *x.shape[at + 1 :])
    table = options("GatherOptions", axis=axis, batch_dims=batch)
    return Model([x, indices], [y], table, {1: limits})


def gather_nd(draw: Draw) -> Model:
    x = _data(draw, 1, 4)
    depth = draw.number(1, len(x.shape))
    shape = (*draw.shape(0, 2, 3), depth)
    dtype = draw.choice(("int32", "int64"))
    columns = [draw.generator.integers(0, e, shape[:-1], dtype) for e in x.shape[:depth]]
    indices = Constant(np.stack(columns, -1))
    return Model([x, indices], [x(*shape[:-1], *x.shape[depth:])], options("GatherNdOptions"))


def embedding_lookup(draw: Draw) -> Model:
    x = draw.constant(draw.spec(draw.shape(2, 4), draw.dtype(("float32", "int8"))))
    ids, limits = _indices(draw, (draw.number(1, 5),), x.data.shape[0])
    if isinstance(ids, Constant):
        ids = Constant(ids.data.astype(np.int32))
    else:
        ids = Spec(ids.shape, 0, 0, "int32")
    y = Spec((ids.data if isinstance(ids, Constant) else np.empty(ids.shape)).shape, 0)
    y = Spec((*y.shape, *x.data.shape[1:]), 0, 0, "float32")
    return Model([ids, x], [y], limits={0: limits})


def one_hot(draw: Draw) -> Model:
    dtype = draw.dtype()
    shape, count = draw.shape(0, 4, 5), draw.number(1, 5)
    axis = draw.number(-1, len(shape))
    x = Spec(shape, 0, 0, draw.choice(("int32", "int64")))
    on, off = (draw.constant(Spec((), 0, 0, dtype)) for _ in range(2))
    extents = list(shape)
    extents.insert(axis if axis >= 0 else len(shape), count)
    y = Spec(tuple(extents), 0, 0, dtype)
    table = options("OneHotOptions", axis=axis)
    return Model([x, scalar(count), on, off], [y], table, {0: (-1, count)})


def dynamic_update_slice(draw: Draw) -> Model:
    x = _data(draw, 1, 4)
    part = x(*(draw.number(1, e) for e in x.shape))
    starts = Spec((len(x.shape),), 0, 0, "int32")
    return Model(
        [x, part, starts], [x], options("DynamicUpdateSliceOptions"), {2: (-1, max(x.shape))}
    )


def broadcast_args(draw: Draw) -> Model:
    one, other, extent = draw.number(1, 5), draw.number(1, 5), draw.number(1, 9)
    inputs = [Spec((rank,), 0, 0, "int32") for rank in (one, other)]
    limits = {0: (extent, extent), 1: (1, 1) if draw.flag() else (extent, extent)}
    return Model(inputs, [Spec((max(one, other),), 0, 0, "int32")], limits=limits)


DRAFTS: dict[str, Draft] = {
    "BATCH_TO_SPACE_ND": batches("BATCH_TO_SPACE_ND"),
    "BROADCAST_ARGS": broadcast_args,
    "BROADCAST_TO": broadcast_to,
    "CONCATENATION": concatenation,
    "DEPTH_TO_SPACE": depth("DEPTH_TO_SPACE"),
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "EXPAND_DIMS": expand_dims,
    "FILL": fill,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "MIRROR_PAD": mirror_pad,
    "ONE_HOT": one_hot,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad_v2,
    "RANK": rank,
    "RESHAPE": reshape,
    "REVERSE_SEQUENCE": reverse_sequence,
    "REVERSE_V2": reverse_v2,
    "SHAPE": shape_of,
    "SLICE": slice_,
    "SPACE_TO_BATCH_ND": batches("SPACE_TO_BATCH_ND"),
    "SPACE_TO_DEPTH": depth("SPACE_TO_DEPTH"),
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}
