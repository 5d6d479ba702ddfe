"""Converters of operators that move elements, or change a tensor's shape or type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts, rank_of
from usmp.frontend.size_arithmetic import int64, is_number, number, strided_slice
from usmp.ops.emit import dtype_of, extents_of, shape_of
from usmp.ops.overwrite import overwritten_slice
from usmp.ops.real.padding import pad


@converts("alias.default", "clone.default")
def _same(operator: Operator) -> Expr:
    return operator["self"]


@converts("_to_copy.default")
def _to_copy(operator: Operator) -> Expr:
    return cast(operator["self"], operator.dtype)


@converts("copy.default")
def _copy(operator: Operator) -> Expr:
    """Convert `copy`: `src` in the type and shape of `self`."""
    source = operator.emit(cast(operator["src"], operator.dtype))
    return _broadcast(operator, source, extents_of(operator["self"]))


@converts("view.default")
def _view(operator: Operator) -> Expr:
    data = operator["self"]
    own = extents_of(data)
    shape = operator.arithmetic.reshaped(own, [number(extent) for extent in operator["size"]])
    return data if _is_shape(operator, own, shape) else relax.op.reshape(data, _extents(shape))


@converts("expand.default")
def _expand(operator: Operator) -> Expr:
    data, sizes = operator["self"], list(operator["size"])
    new = len(sizes) - rank_of(data)
    shape = [
        extents_of(data)[axis - new] if is_number(size, -1) else number(size)
        for axis, size in enumerate(sizes)
    ]
    return _broadcast(operator, data, shape)


def _broadcast(operator: Operator, data: Expr, shape: Sequence[Any]) -> Expr:
    own = extents_of(data)
    extents = operator.arithmetic.broadcast(own, shape)
    if _is_shape(operator, own, extents):
        return data
    return relax.op.broadcast_to(data, _extents(extents))


def _is_shape(operator: Operator, shape: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(shape) == len(other) and all(map(operator.arithmetic.are_equal, shape, other))


def _extents(shape: Sequence[Any]) -> list[Expr]:
    """Return extents as int64, because Relax makes numbers int32 even beside int64 extents."""
    return [int64(extent) for extent in shape]


@converts("permute.default")
def _permute(operator: Operator) -> Expr:
    data = operator["self"]
    return relax.op.permute_dims(data, [axis % rank_of(data) for axis in operator["dims"]])


@converts("unsqueeze.default")
def _unsqueeze(operator: Operator) -> Expr:
    return relax.op.expand_dims(operator["self"], operator["dim"])


@converts("squeeze.dims")
def _squeeze(operator: Operator) -> Expr:
    """Convert `squeeze`; axes of more than one element stay."""
    data = operator["self"]
    shape = extents_of(data)
    axes = [axis % len(shape) for axis in operator["dim"] if shape]
    single = [axis for axis in axes if is_number(shape[axis], 1)]
    return relax.op.squeeze(data, single) if single else data


@converts("cat.default")
def _cat(operator: Operator) -> Expr:
    """Convert `cat`; as in PyTorch, empty vectors are ignored whatever the rank."""
    tensors = [t for t in operator["tensors"] if not _is_empty(t)]
    parts = [operator.emit(cast(tensor, operator.dtype)) for tensor in tensors]
    return parts[0] if len(parts) == 1 else relax.op.concat(parts, operator["dim"])


def _is_empty(tensor: Expr) -> bool:
    extents = extents_of(tensor)
    return len(extents) == 1 and is_number(extents[0], 0)


@converts("split_with_sizes.default")
def _split(operator: Operator) -> list[Expr]:
    data, sizes = operator["self"], operator["split_sizes"]
    if len(sizes) == 1:
        return [data]
    cuts = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    parts = operator.emit(relax.op.split(data, cuts, operator["dim"]))
    return [relax.TupleGetItem(parts, i) for i in range(len(sizes))]


@converts("repeat.default")
def _repeat(operator: Operator) -> Expr:
    return relax.op.tile(operator["self"], list(operator["repeats"]))


@converts("flip.default")
def _flip(operator: Operator) -> Expr:
    data = operator["self"]
    for axis in operator["dims"]:
        data = operator.emit(relax.op.flip(data, axis % rank_of(data)))
    return data


@converts("constant_pad_nd.default")
def _pad(operator: Operator) -> Expr:
    """Convert `constant_pad_nd`; pairs of widths begin at the last axis, negative widths crop."""
    data, widths = operator["self"], list(operator["pad"])
    rank = rank_of(data)
    pairs = [(0, 0)] * rank
    for i in range(len(widths) // 2):
        pairs[rank - 1 - i] = (widths[2 * i], widths[2 * i + 1])
    value = cast_number(operator.get("value", 0), dtype_of(data))
    return pad(operator.builder, data, pairs, value)


def cast_number(value: float, dtype: str) -> float:
    """Return a number as a float or, for types of integers and booleans, as an int."""
    return float(value) if dtype.startswith(("float", "bfloat")) else int(value)


@converts("slice.Tensor")
def _slice(operator: Operator) -> Expr:
    data = operator["self"]
    axis = operator["dim"] % rank_of(data)
    extent = extents_of(data)[axis]
    limits = [operator[name] for name in ("start", "end", "step")]
    if isinstance(extent, int) and all(limit is None or isinstance(limit, int) for limit in limits):
        begin, end = _bounds(operator, extent)
        if (begin, end, operator["step"]) == (0, extent, 1):
            return data
        return relax.op.strided_slice(data, [axis], [begin], [end], [operator["step"]])
    start, end, step = limits
    start, end = (0 if start is None else start), (extent if end is None else end)
    cut = operator.arithmetic.cut(extent, number(start), number(end), int(step))
    if is_number(cut[0], 0) and step == 1 and operator.arithmetic.are_equal(cut[1], extent):
        return data
    return strided_slice(data, {axis: cut})


@converts("slice_scatter.default")
def _slice_scatter(operator: Operator) -> Expr:
    data = operator["self"]
    axis = operator["dim"] % rank_of(data)
    begin, end = _bounds(operator, shape_of(data)[axis])
    source = operator.emit(cast(operator["src"], operator.dtype))
    if operator.is_state(data):
        if (begin, operator["step"], shape_of(source)) == (0, 1, shape_of(data)):
            return source
        return overwritten_slice(operator.builder, data, source, axis, begin, operator["step"])
    bounds = (relax.prim_value(value) for value in (begin, end, operator["step"]))
    return relax.op.slice_scatter(data, source, *bounds, axis=axis)


def _bounds(operator: Operator, extent: int) -> tuple[int, int]:
    """Return the begin and end of a slice, clamped to the axis."""
    begin, end, _ = slice(operator["start"], operator["end"]).indices(extent)
    return begin, max(begin, end)


@converts("select.int")
def _select(operator: Operator) -> Expr:
    data = operator["self"]
    axis = operator["dim"] % rank_of(data)
    extent, index = extents_of(data)[axis], number(operator["index"])
    if isinstance(extent, int) and isinstance(index, int):
        if not -extent <= index < extent:
            raise operator.refusal(
                f"is not supported: index {index} is outside of axis {axis}, which has {extent} "
                "elements"
            )
        return relax.op.take(data, relax.const(index % extent, "int64"), axis)
    begin = operator.arithmetic.position(index, extent)
    end = operator.arithmetic.simplified(begin + 1)
    return relax.op.squeeze(operator.emit(strided_slice(data, {axis: (begin, end, 1)})), [axis])
