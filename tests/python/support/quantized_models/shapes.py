"""Operators that move elements: pad, join, cut, turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.tflite_builder import options

from .model import (
    Constant,
    QuantizedModel,
    Spec,
    int32,
    models,
    one_operator,
    random_constant,
    scalar,
)

X = Spec((1, 4, 5, 3), 0.05, -7)
X16 = Spec((1, 4, 5, 3), 0.0003, 0, "int16")
LOWEST = Spec((1, 4, 5, 3), 0.05, -128)


def pad(x: Spec, paddings: Sequence[tuple[int, int]]) -> bytes:
    """One PAD with what stands for zero."""
    return one_operator("PAD", [x, _paddings(paddings)], [_padded(x, paddings)])


def pad_v2(x: Spec, paddings: Sequence[tuple[int, int]], value: int) -> bytes:
    """One PADV2 with a number of its own."""
    constant = Constant(np.array([value], x.dtype), x.quantization)
    return one_operator("PADV2", [x, _paddings(paddings), constant], [_padded(x, paddings)])


def mirror_pad(x: Spec, paddings: Sequence[tuple[int, int]], mode: str) -> bytes:
    """One MIRROR_PAD."""
    table = options("MirrorPadOptions", mode=["REFLECT", "SYMMETRIC"].index(mode))
    return one_operator("MIRROR_PAD", [x, _paddings(paddings)], [_padded(x, paddings)], table)


def _paddings(paddings: Sequence[tuple[int, int]]) -> Constant:
    return Constant(np.array(paddings, np.int32))


def _padded(x: Spec, paddings: Sequence[tuple[int, int]]) -> Spec:
    return x(*np.pad(np.empty(x.shape, np.int8), paddings).shape)


def concatenation(axis: int, *inputs: Spec | Constant) -> bytes:
    """One CONCATENATION."""
    shapes = [value.shape if isinstance(value, Spec) else value.data.shape for value in inputs]
    joined = np.concatenate([np.empty(shape, np.int8) for shape in shapes], axis)
    x = next(value for value in inputs if isinstance(value, Spec))
    table = options("ConcatenationOptions", axis=axis)
    return one_operator("CONCATENATION", list(inputs), [x(*joined.shape)], table)


def split(x: Spec, axis: int, parts: int) -> bytes:
    """One SPLIT into equal parts."""
    outputs = [x(*part.shape) for part in np.split(np.empty(x.shape, np.int8), parts, axis)]
    return one_operator(
        "SPLIT", [scalar(axis), x], outputs, options("SplitOptions", num_splits=parts)
    )


def split_v(x: Spec, axis: int, *sizes: int) -> bytes:
    """One SPLIT_V into parts of those sizes."""
    parts = np.split(np.empty(x.shape, np.int8), np.cumsum(sizes)[:-1], axis)
    table = options("SplitVOptions", num_splits=len(sizes))
    inputs = [x, int32(*sizes), scalar(axis)]
    return one_operator("SPLIT_V", inputs, [x(*part.shape) for part in parts], table)


def slice_(x: Spec, begin: Sequence[int], size: Sequence[int]) -> bytes:
    """One SLICE; a size of -1 is the rest."""
    extents = zip(x.shape, begin, size, strict=True)
    y = x(*(extent - first if count < 0 else count for extent, first, count in extents))
    return one_operator("SLICE", [x, int32(*begin), int32(*size)], [y])


def strided_slice(x: Spec, key: tuple[slice | int, ...]) -> bytes:
    """One STRIDED_SLICE, as NumPy would take `key`: an absent bound becomes a bit of a mask."""
    bounds = [part if isinstance(part, slice) else slice(part, part + 1) for part in key]
    begin = [part.start or 0 for part in bounds]
    end = [part.stop or 0 for part in bounds]
    strides = [part.step or 1 for part in bounds]
    table = options(
        "StridedSliceOptions",
        begin_mask=_mask(part.start is None for part in bounds),
        end_mask=_mask(part.stop is None for part in bounds),
        shrink_axis_mask=_mask(isinstance(part, int) for part in key),
    )
    y = x(*np.empty(x.shape, np.int8)[key].shape)
    return one_operator(
        "STRIDED_SLICE", [x, int32(*begin), int32(*end), int32(*strides)], [y], table
    )


def _mask(bits: Sequence[bool]) -> int:
    return sum(bit << index for index, bit in enumerate(bits))


def reshape(x: Spec, shape: tuple[int, ...], as_input: bool) -> bytes:
    """One RESHAPE; the shape is a second input or only an option."""
    y = x(*np.empty(x.shape, np.int8).reshape(shape).shape)
    table = options("ReshapeOptions", new_shape=list(shape))
    return one_operator("RESHAPE", [x, int32(*shape)] if as_input else [x], [y], table)


def transpose(x: Spec, *order: int) -> bytes:
    """One TRANSPOSE."""
    return one_operator("TRANSPOSE", [x, int32(*order)], [x(*(x.shape[axis] for axis in order))])


def pack(x: Spec, count: int, axis: int) -> bytes:
    """One PACK of `count` inputs."""
    y = np.stack([np.empty(x.shape, np.int8)] * count, axis)
    table = options("PackOptions", values_count=count, axis=axis)
    return one_operator("PACK", [x] * count, [x(*y.shape)], table)


def unpack(x: Spec, axis: int) -> bytes:
    """One UNPACK."""
    count = x.shape[axis]
    y = np.empty(x.shape, np.int8).take(0, axis)
    table = options("UnpackOptions", num=count, axis=axis)
    return one_operator("UNPACK", [x], [x(*y.shape)] * count, table)


def gather(x: Spec, axis: int, positions: Sequence[int] | int) -> bytes:
    """One GATHER with constant positions."""
    indices = np.array(positions, np.int32)
    y = np.empty(x.shape, np.int8).take(indices, axis)
    table = options("GatherOptions", axis=axis)
    return one_operator("GATHER", [x, Constant(indices)], [x(*y.shape)], table)


def expand_dims(x: Spec, axis: int) -> bytes:
    """One EXPAND_DIMS."""
    y = x(*np.expand_dims(np.empty(x.shape, np.int8), axis).shape)
    return one_operator("EXPAND_DIMS", [x, int32(axis)], [y], options("ExpandDimsOptions"))


def squeeze(x: Spec, *axes: int) -> bytes:
    """One SQUEEZE; without axes, of all that have one element."""
    y = x(*np.squeeze(np.empty(x.shape, np.int8), axes or None).shape)
    return one_operator("SQUEEZE", [x], [y], options("SqueezeOptions", squeeze_dims=list(axes)))


def depth_and_space(code: str, x: Spec, block: int) -> bytes:
    """One DEPTH_TO_SPACE or SPACE_TO_DEPTH."""
    batch, height, width, depth = x.shape
    if code == "SPACE_TO_DEPTH":
        y = x(batch, height // block, width // block, depth * block * block)
        return one_operator(code, [x], [y], options("SpaceToDepthOptions", block_size=block))
    y = x(batch, height * block, width * block, depth // (block * block))
    return one_operator(code, [x], [y], options("DepthToSpaceOptions", block_size=block))


def space_to_batch(x: Spec, block: tuple[int, int], paddings: Sequence[tuple[int, int]]) -> bytes:
    """One SPACE_TO_BATCH_ND of height and width."""
    batch, height, width, depth = x.shape
    extents = [(e + sum(p)) // b for e, p, b in zip((height, width), paddings, block, strict=True)]
    y = x(batch * block[0] * block[1], *extents, depth)
    return one_operator("SPACE_TO_BATCH_ND", [x, int32(*block), _paddings(paddings)], [y])


def batch_to_space(x: Spec, block: tuple[int, int], crops: Sequence[tuple[int, int]]) -> bytes:
    """One BATCH_TO_SPACE_ND of height and width."""
    batch, height, width, depth = x.shape
    extents = [e * b - sum(c) for e, c, b in zip((height, width), crops, block, strict=True)]
    y = x(batch // (block[0] * block[1]), *extents, depth)
    return one_operator("BATCH_TO_SPACE_ND", [x, int32(*block), _paddings(crops)], [y])


IMAGE = [(0, 0), (1, 2), (2, 1), (0, 0)]
EVERYWHERE = [(1, 0), (0, 2), (1, 1), (2, 3)]
PADS = {
    "image": (X, IMAGE),
    "everywhere": (X, EVERYWHERE),
    "nothing": (X, [(0, 0)] * 4),
    "before": (X, [(0, 0), (2, 0), (0, 0), (0, 0)]),
    "channels": (X, [(0, 0), (0, 0), (0, 0), (0, 5)]),
    "lowest_zero_point": (LOWEST, IMAGE),
    "highest_zero_point": (Spec((1, 4, 5, 3), 0.05, 127), IMAGE),
    "matrix": (Spec((3, 5), 0.1, 5), [(1, 2), (0, 3)]),
    "vector": (Spec((7,), 0.1, 5), [(2, 3)]),
    "int16": (X16, IMAGE),
}
PADS_V2 = {
    "image": (X, IMAGE, 99),
    "lowest": (X, EVERYWHERE, -128),
    "highest": (LOWEST, IMAGE, 127),
    "zero_point": (X, IMAGE, -7),
    "matrix": (Spec((3, 5), 0.1, 5), [(1, 2), (0, 3)], -50),
}
MIRRORS = {
    "reflect": (X, IMAGE, "REFLECT"),
    "symmetric": (X, [(0, 0), (4, 2), (3, 5), (1, 3)], "SYMMETRIC"),
    "reflect_matrix": (Spec((3, 5), 0.1, 5), [(2, 1), (0, 4)], "REFLECT"),
}
CONCATENATIONS = {
    "channels": (3, X, X(1, 4, 5, 7)),
    "negative_axis": (-1, X, X, X(1, 4, 5, 1)),
    "height": (1, X, X(1, 2, 5, 3)),
    "width": (2, X(1, 4, 2, 3), X),
    "batches": (0, X, X(2, 4, 5, 3)),
    "one_input": (1, X),
    "five_inputs": (3, X, X, X, X(1, 4, 5, 1), X),
    "matrices": (1, X(4, 3), X(4, 6)),
    "vectors": (0, X(3), X(6), X(1)),
    "constant_last": (3, X, random_constant(X(1, 4, 5, 2))),
    "constant_first": (1, random_constant(X(1, 2, 5, 3)), X),
    "int16": (3, X16, X16(1, 4, 5, 2)),
}
SPLITS = {
    "channels": (X(1, 4, 5, 6), 3, 2),
    "negative_axis": (X(1, 4, 5, 6), -1, 3),
    "height": (X, 1, 4),
    "width_two_batches": (X(2, 3, 4, 2), 2, 2),
    "batches": (X(4, 3), 0, 2),
    "one_part": (X, 1, 1),
    "int16": (X16, 1, 2),
}
SPLITS_V = {
    "channels": (X(1, 4, 5, 6), 3, 1, 5),
    "three_parts": (X(1, 4, 5, 6), -1, 2, 1, 3),
    "height": (X(1, 7, 3, 2), 1, 3, 4),
    "matrix": (X(6, 3), 0, 1, 2, 3),
    "int16": (X16, 2, 2, 3),
}
SLICES = {
    "image": (X, (0, 1, 2, 0), (1, 2, 2, 3)),
    "rest": (X, (0, 1, 0, 1), (-1, -1, -1, -1)),
    "one_element": (X, (0, 3, 4, 2), (1, 1, 1, 1)),
    "everything": (X, (0, 0, 0, 0), (1, 4, 5, 3)),
    "matrix": (X(6, 7), (2, 3), (3, -1)),
    "vector": (X(9), (4,), (3,)),
    "five_axes": (X(2, 3, 2, 4, 3), (0, 1, 0, 2, 1), (2, 2, 1, 2, 2)),
    "int16": (X16, (0, 1, 2, 0), (1, 2, 2, 3)),
}
WHOLE = slice(None)
STRIDED_SLICES = {
    "stream": (X(1, 5, 1, 8), (WHOLE, slice(3, None), WHOLE, WHOLE)),
    "bounds": (X, (slice(0, 1), slice(1, 3), slice(0, 4), slice(1, 2))),
    "negative_begin": (X, (WHOLE, slice(-2, None), WHOLE, WHOLE)),
    "negative_end": (X, (WHOLE, slice(0, -1), slice(1, -2), WHOLE)),
    "stride_2": (X(1, 7, 8, 3), (WHOLE, slice(None, None, 2), slice(1, None, 2), WHOLE)),
    "stride_3_bounds": (X(1, 9, 8, 3), (WHOLE, slice(1, 8, 3), slice(0, 7, 2), WHOLE)),
    "backwards": (X, (WHOLE, slice(None, None, -1), WHOLE, WHOLE)),
    "backwards_by_2": (X, (WHOLE, WHOLE, slice(4, 0, -2), slice(None, None, -1))),
    "shrink_first": (X(3, 4, 5), (1, WHOLE, WHOLE)),
    "shrink_two": (X, (0, WHOLE, 2, WHOLE)),
    "shrink_last_matrix": (X(4, 6), (WHOLE, 3)),
    "shrink_all_but_one": (X, (0, 3, 2, WHOLE)),
    "vector": (X(11), (slice(2, 9, 2),)),
    "beyond_the_end": (X(1, 5, 2), (WHOLE, slice(2, 100), WHOLE)),
    "fewer_than_axes": (X(6, 3), (slice(1, 4), WHOLE)),
    "int16": (X16, (WHOLE, slice(1, 3), slice(None, None, 2), WHOLE)),
}
RESHAPES = {
    "flatten": (X, (1, 60), True),
    "unknown_extent": (X, (-1, 12), True),
    "by_option": (X, (4, 15), False),
    "unknown_by_option": (X, (5, -1), False),
    "same": (X, (1, 4, 5, 3), True),
    "more_axes": (X(6, 10), (2, 3, 1, 2, 5), True),
    "vector": (X, (60,), True),
    "int16": (X16, (3, 20), True),
}
TRANSPOSES = {
    "matrix": (X(5, 7), 1, 0),
    "channels_first": (X, 0, 3, 1, 2),
    "channels_last": (X, 0, 2, 3, 1),
    "reversed": (X(2, 3, 4, 5), 3, 2, 1, 0),
    "three_axes": (X(3, 4, 5), 2, 0, 1),
    "swap_last": (X(2, 3, 4, 5), 0, 1, 3, 2),
    "identity": (X, 0, 1, 2, 3),
    "five_axes": (X(2, 1, 3, 2, 4), 4, 2, 0, 3, 1),
    "int16": (X16, 0, 3, 1, 2),
}
PACKS = {
    "first": (X(3, 4), 2, 0),
    "middle": (X(3, 4), 3, 1),
    "last": (X(3, 4), 2, -1),
    "vectors": (X(5), 4, 0),
    "one": (X(3, 4), 1, 0),
    "int16": (X16, 2, 0),
}
UNPACKS = {
    "first": (X(3, 4), 0),
    "last": (X(3, 4), -1),
    "middle": (X(2, 3, 4), 1),
    "vector": (X(3), 0),
    "image_channels": (X, 3),
    "int16": (X16(2, 3), 0),
}
GATHERS = {
    "rows": (X(5, 4), 0, [3, 0, 3]),
    "columns": (X(5, 4), 1, [2, 1]),
    "negative_axis": (X(2, 3, 4), -1, [0, 3, 1]),
    "matrix_of_positions": (X(5, 4), 0, [[0, 1], [4, 2]]),
    "one": (X(5, 4), 0, 2),
    "image_channels": (X, 3, [2, 0]),
}
EXPANSIONS = {
    "first": (X(3, 4), 0),
    "last": (X(3, 4), -1),
    "middle": (X(3, 4), 1),
    "int16": (X16(3, 4), 2),
}
SQUEEZES = {
    "all": (X(1, 4, 1, 3),),
    "one": (X(1, 4, 1, 3), 2),
    "negative": (X(1, 4, 3, 1), -1),
    "two": (X(1, 1, 4, 1), 0, 1),
}
SPACES = {
    "depth_to_space_2": ("DEPTH_TO_SPACE", X(1, 3, 2, 8), 2),
    "depth_to_space_3": ("DEPTH_TO_SPACE", X(2, 2, 1, 9), 3),
    "space_to_depth_2": ("SPACE_TO_DEPTH", X(1, 4, 6, 3), 2),
    "space_to_depth_3": ("SPACE_TO_DEPTH", X(1, 3, 6, 1), 3),
}
SPACE_TO_BATCH = {"plain": (X(1, 4, 6, 3), (2, 2), [(0, 0), (0, 0)])}
# tflite-micro pads with what its memory happens to hold.
SPACE_TO_BATCH_PADDED = {
    "padded": (X(1, 5, 7, 3), (2, 3), [(1, 2), (0, 2)]),
    "lowest_zero_point": (LOWEST, (2, 2), [(1, 1), (0, 1)]),
}
BATCH_TO_SPACE = {
    "plain": (X(4, 2, 3, 3), (2, 2), [(0, 0), (0, 0)]),
    "cropped": (X(6, 3, 2, 2), (3, 2), [(2, 1), (0, 1)]),
}

MODELS: list[QuantizedModel] = [
    *models("pad", pad, PADS),
    *models("padv2", pad_v2, PADS_V2),
    *models("mirror_pad", mirror_pad, MIRRORS),
    *models("concatenation", concatenation, CONCATENATIONS),
    *models("split", split, SPLITS),
    *models("split_v", split_v, SPLITS_V),
    *models("slice", slice_, SLICES),
    *models("strided_slice", strided_slice, STRIDED_SLICES),
    *models("reshape", reshape, RESHAPES),
    *models("transpose", transpose, TRANSPOSES),
    *models("pack", pack, PACKS),
    *models("unpack", unpack, UNPACKS),
    *models("gather", gather, GATHERS),
    *models("expand_dims", expand_dims, EXPANSIONS),
    *models("squeeze", squeeze, SQUEEZES),
    *models("space", depth_and_space, SPACES),
    *models("space_to_batch_nd", space_to_batch, SPACE_TO_BATCH),
    *models("space_to_batch_nd", space_to_batch, SPACE_TO_BATCH_PADDED, "litert"),
    *models("batch_to_space_nd", batch_to_space, BATCH_TO_SPACE),
]
