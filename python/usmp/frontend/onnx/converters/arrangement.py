"""Converters of ONNX operators that move elements or compute positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tvm import relax, tirx
from tvm.ir import Expr, GenericConst

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import Converter, NotSupported, OnnxNode
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real import one_hot
from usmp.ops.real.cache_update import update_cache
from usmp.ops.real.padding import pad_with
from usmp.ops.real.running import running


def pad(node: OnnxNode) -> Expr | None:
    """Convert `Pad` to `R.nn.pad` instead of a TIR function, if widths and value are constant."""
    data, widths, value, *axes = [*node.inputs, None, None, None][:4]
    if node.text("mode", "constant") != "constant":
        return None
    if value is not None and not isinstance(value, GenericConst):
        return _pad_with_computed(node)
    if any(a is not None for a in axes):
        return None
    if data is None or not isinstance(widths, GenericConst):
        return None
    flat = [int(width) for width in widths.value.numpy()]
    if any(width < 0 for width in flat):
        return None
    rank = len(flat) // 2
    pairs = [width for pair in zip(flat[:rank], flat[rank:], strict=True) for width in pair]
    fill = value.value.numpy().item() if value is not None else 0
    return relax.op.nn.pad(data, pairs, "constant", fill)


def slice_(node: OnnxNode) -> OnnxNode:
    """Return `Slice` with all operands as inputs, and with limits clamped to the tensor, because
    TVM misreads 2^63 - 1 as a limit."""
    inputs = [*node.inputs, None, None, None, None][:5]
    if node.opset < 10:
        for index, name in enumerate(("starts", "ends", "axes"), 1):
            if name in node.attributes:
                inputs[index] = relax.const(np.array(node.attributes[name]), "int64")
    if isinstance(node.input(0), relax.ShapeExpr):
        return replace(node, inputs=inputs)
    full = replace(node, inputs=inputs)
    names = ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (full.constant(i, f"the {n}") for i, n in enumerate(names, 1))
    if starts is None or ends is None:
        raise NotSupported("it has no starts or no ends")
    shape = shape_of(node.required(0))
    axes = np.arange(len(starts)) if axes is None else axes % len(shape)
    steps = np.ones(len(starts), np.int64) if steps is None else steps
    limits = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        extent = shape[int(axis)]
        # A step beyond the other end is equivalent to any longer step.
        by = max(min(int(step), extent + 1), -extent - 1)
        first, last, by = slice(int(start), int(end), by).indices(extent)
        # The end before the first element cannot be -1, which stands for the last element.
        limits.append((first, last if last >= 0 else -extent - 1, int(axis), by))
    columns = np.array(limits, np.int64).reshape(-1, 4).T
    return replace(node, inputs=[node.inputs[0], *map(relax.const, columns.copy())])


def cumulative(combine: Callable[[tirx.Expr, tirx.Expr], tirx.Expr], start: int) -> Converter:
    """Return the converter of `CumSum` or `CumProd` to a single pass over the elements.

    TVM's converter of `CumSum` calls a function of its runtime.
    """

    def convert(node: OnnxNode) -> Expr:
        axis = node.constant(1, "the axis")
        if axis is None:
            raise NotSupported("it has no axis")
        return running(
            node.builder,
            node.required(0),
            int(axis.item()),
            combine,
            start,
            exclusive=bool(node.attributes.get("exclusive", 0)),
            backwards=bool(node.attributes.get("reverse", 0)),
        )

    return convert


def compress(node: OnnxNode) -> Expr:
    """Convert `Compress` with a constant condition to `R.take`."""
    condition = node.constant(1, "the condition, which says how many elements there will be,")
    if condition is None:
        raise NotSupported("it has no condition")
    data, axis = node.required(0), node.attributes.get("axis")
    if axis is None:
        data, axis = node.builder.emit(relax.op.flatten(data)), 0
    indices = np.flatnonzero(condition)
    return relax.op.take(data, relax.const(indices), int(axis), mode="fast")


def one_hot_vectors(node: OnnxNode) -> Expr:
    """Convert `OneHot`; an index out of range selects no element, as ONNX defines."""
    indices, values = node.required(0), node.required(2)
    depth = node.constant(1, "the depth")
    if depth is None or depth.size != 1 or int(depth.item()) < 1:
        raise NotSupported("its depth is not a positive number")
    axis = axis_of(int(node.attributes.get("axis", -1)), len(shape_of(indices)) + 1, "its output")
    return one_hot.one_hot(node.builder, indices, values, int(depth.item()), axis)


def eye_like(node: OnnxNode) -> Expr:
    """Convert `EyeLike` to `R.eye`."""
    import onnx

    data = node.required(0)
    rows, columns = shape_of(data)
    element_type = node.attributes.get("dtype")
    dtype = dtype_of(data)
    if element_type is not None:
        dtype = str(onnx.helper.tensor_dtype_to_np_dtype(int(element_type)))
    diagonal = max(min(int(node.attributes.get("k", 0)), columns), -rows)
    return relax.op.eye(rows, columns, diagonal, dtype)


def triangle(node: OnnxNode) -> OnnxNode | None:
    """Return `Trilu` with its diagonal clamped to the matrix, because TVM counts in 32 bits."""
    diagonal = node.input(1)
    if diagonal is None:
        return None
    rows, columns = shape_of(node.required(0))[-2:]
    if isinstance(diagonal, GenericConst):
        inside = relax.const(np.clip(diagonal.value.numpy(), -rows, columns), "int64")
    else:
        below = relax.op.minimum(diagonal, relax.const(columns, "int64"))
        inside = relax.op.maximum(below, relax.const(-rows, "int64"))
    return replace(node, inputs=[node.inputs[0], inside])


def sequence_insert(node: OnnxNode) -> Expr | None:
    """Convert `SequenceInsert` at a negative position, which TVM's converter counts wrongly."""
    position = node.constant(2, "the position")
    sequence = node.required(0)
    if position is None or position.item() >= 0 or not isinstance(sequence, relax.Tuple):
        return None
    tensors: list[Expr] = list(sequence.fields)
    tensors.insert(int(position.item()), node.required(1))
    return relax.Tuple(tensors)


def split_to_sequence(node: OnnxNode) -> Expr:
    """Convert `SplitToSequence` to a tuple of parts. A scalar is the size of all parts, but the
    last part may be smaller. Without a size, parts are single slices, and `keepdims` 0 removes
    their axis."""
    data, sizes = node.required(0), node.constant(1, "the sizes of the parts")
    shape = shape_of(data)
    axis = axis_of(int(node.attributes.get("axis", 0)), len(shape))
    if sizes is None or sizes.ndim == 0:
        size = 1 if sizes is None else int(sizes)
        if size < 1:
            raise NotSupported(f"parts of {size} elements never end")
        starts = list(range(size, shape[axis], size))
    else:
        starts = [int(start) for start in np.cumsum(sizes)[:-1]]
        if int(sizes.sum()) != shape[axis]:
            raise NotSupported(f"parts of {sizes.tolist()} are not the {shape[axis]} elements")
    parts: list[Expr] = [data]
    if starts:
        split = node.builder.emit(relax.op.split(data, starts, axis))
        parts = [node.builder.emit(relax.TupleGetItem(split, i)) for i in range(len(starts) + 1)]
    if sizes is None and not node.attributes.get("keepdims", 1):
        parts = [node.builder.emit(relax.op.squeeze(part, [axis])) for part in parts]
    return relax.Tuple(parts)


def space_to_depth(node: OnnxNode) -> Expr | None:
    """Convert `SpaceToDepth` in mode CRD (channels outermost), which TVM does not have."""
    if node.text("mode", "DCR") != "CRD":
        return None
    data, block = node.required(0), int(node.attributes["blocksize"])
    batch, depth, height, width = shape_of(data)
    rows, columns = height // block, width // block
    parts = relax.op.reshape(data, (batch, depth, rows, block, columns, block))
    moved = relax.op.permute_dims(parts, [0, 1, 3, 5, 2, 4])
    return relax.op.reshape(moved, (batch, depth * block * block, rows, columns))


def with_list_of_axes(node: OnnxNode) -> OnnxNode | None:
    """Return `Squeeze` or `Unsqueeze` with a vector in place of a scalar axis."""
    axes = node.constant(1, "the axes")
    if axes is None or axes.ndim:
        return None
    return replace(node, inputs=[node.inputs[0], relax.const(axes.reshape(1))])


def _pad_with_computed(node: OnnxNode) -> Expr:
    """Convert `Pad` with a value computed at run time; negative widths crop."""
    data, value = node.required(0), node.required(2)
    widths, axes = node.constant(1, "the widths"), node.constant(3, "the axes")
    shape = shape_of(data)
    axes = np.arange(len(shape)) if axes is None else axes % len(shape)
    if widths is None or len(widths) != 2 * len(axes):
        raise NotSupported("it has not two widths for each axis")
    pairs = [(0, 0)] * len(shape)
    for axis, begin, end in zip(axes, widths, widths[len(axes) :], strict=False):
        pairs[int(axis)] = (int(begin), int(end))
    if any(extent + sum(pair) < 1 for extent, pair in zip(shape, pairs, strict=True)):
        raise NotSupported(f"nothing is left of shape {shape}")
    return pad_with(node.builder, data, pairs, value)


def tensor_scatter(node: OnnxNode) -> Expr:
    """Convert `TensorScatter`: write an update into a cache, at one position for each batch, and
    drop elements outside of the cache."""
    cache, update = node.required(0), node.required(1)
    shape, rank = shape_of(cache), len(shape_of(cache))
    axis, mode = int(node.attributes.get("axis", -2)), node.text("mode", "linear")
    axis = axis_of(axis, rank)
    if axis == 0:
        raise NotSupported("axis 0, which is the batch")
    extent, count = shape[axis], shape_of(update)[axis] if len(shape_of(update)) == rank else 0
    expected = (*shape[:axis], count, *shape[axis + 1 :])
    if shape_of(update) != expected or not 0 < count <= extent:
        raise NotSupported(
            f"an update of shape {list(shape_of(update))} does not go into a cache of shape "
            f"{list(shape)} along axis {axis}"
        )
    if dtype_of(update) != dtype_of(cache):
        raise NotSupported(f"its update is {dtype_of(update)}, and its cache {dtype_of(cache)}")
    begins = node.input(2)
    if begins is None:
        begins = relax.const(np.zeros(shape[0], np.int64), "int64")
    if shape_of(begins) != shape[:1]:
        raise NotSupported(f"its write_indices are not one for each of {shape[0]} batches")

    is_circular = mode == "circular"
    return update_cache(node.builder, cache, update, begins, axis, is_circular=is_circular)
