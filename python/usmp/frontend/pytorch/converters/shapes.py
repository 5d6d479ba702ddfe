"""Operators that move elements, or give a tensor another shape or type."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts, dtype_of, rank_of
from usmp.ops.emit import shape_of
from usmp.ops.overwrite import overwritten_slice


@converts("alias.default", "clone.default")
def _same(operator: Operator) -> Expr:
    return operator["self"]


@converts("_to_copy.default")
def _to_copy(operator: Operator) -> Expr:
    return cast(operator["self"], operator.dtype)


@converts("copy.default")
def _copy(operator: Operator) -> Expr:
    """`src` in the type and shape of `self`."""
    source = operator.emit(cast(operator["src"], operator.dtype))
    shape = shape_of(operator["self"])
    return source if shape_of(source) == shape else relax.op.broadcast_to(source, shape)


@converts("view.default")
def _view(operator: Operator) -> Expr:
    data, shape = operator["self"], [int(extent) for extent in operator["size"]]
    return data if list(shape_of(data)) == shape else relax.op.reshape(data, shape)


@converts("expand.default")
def _expand(operator: Operator) -> Expr:
    data, sizes = operator["self"], list(operator["size"])
    new = len(sizes) - rank_of(data)
    shape = [
        shape_of(data)[axis - new] if size == -1 else int(size) for axis, size in enumerate(sizes)
    ]
    return data if list(shape_of(data)) == shape else relax.op.broadcast_to(data, shape)


@converts("permute.default")
def _permute(operator: Operator) -> Expr:
    data = operator["self"]
    return relax.op.permute_dims(data, [axis % rank_of(data) for axis in operator["dims"]])


@converts("unsqueeze.default")
def _unsqueeze(operator: Operator) -> Expr:
    return relax.op.expand_dims(operator["self"], operator["dim"])


@converts("squeeze.dims")
def _squeeze(operator: Operator) -> Expr:
    """Axes of more than one element stay."""
    data = operator["self"]
    shape = shape_of(data)
    axes = [axis % len(shape) for axis in operator["dim"] if shape]
    single = [axis for axis in axes if shape[axis] == 1]
    return relax.op.squeeze(data, single) if single else data


@converts("cat.default")
def _cat(operator: Operator) -> Expr:
    """The old form of an empty tensor, of one axis, is left out, as in PyTorch."""
    tensors = [t for t in operator["tensors"] if shape_of(t) != (0,)]
    parts = [operator.emit(cast(tensor, operator.dtype)) for tensor in tensors]
    return parts[0] if len(parts) == 1 else relax.op.concat(parts, operator["dim"])


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
    """Widths come in pairs, the last axis first; negative ones cut."""
    data, widths = operator["self"], list(operator["pad"])
    rank = rank_of(data)
    pairs = [(0, 0)] * rank
    for i in range(len(widths) // 2):
        pairs[rank - 1 - i] = (widths[2 * i], widths[2 * i + 1])
    data = _cut(operator, data, pairs)
    flat = [max(width, 0) for pair in pairs for width in pair]
    if not any(flat):
        return data
    value = operator.get("value", 0)
    return relax.op.nn.pad(data, flat, "constant", cast_number(value, dtype_of(data)))


def cast_number(value: float, dtype: str) -> float:
    """A number as a type holds it: integers and booleans without a fraction."""
    return float(value) if dtype.startswith(("float", "bfloat")) else int(value)


def _cut(operator: Operator, data: Expr, pairs: list[tuple[int, int]]) -> Expr:
    axes = [axis for axis, pair in enumerate(pairs) if min(pair) < 0]
    if not axes:
        return data
    begins = [max(-pairs[axis][0], 0) for axis in axes]
    ends = [shape_of(data)[axis] + min(pairs[axis][1], 0) for axis in axes]
    return operator.emit(relax.op.strided_slice(data, axes, begins, ends))


@converts("slice.Tensor")
def _slice(operator: Operator) -> Expr:
    data = operator["self"]
    axis = operator["dim"] % rank_of(data)
    begin, end = _bounds(operator, shape_of(data)[axis])
    if (begin, end, operator["step"]) == (0, shape_of(data)[axis], 1):
        return data
    return relax.op.strided_slice(data, [axis], [begin], [end], [operator["step"]])


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
    """Where a slice begins and ends, inside the axis."""
    begin, end, _ = slice(operator["start"], operator["end"]).indices(extent)
    return begin, max(begin, end)


@converts("select.int")
def _select(operator: Operator) -> Expr:
    data = operator["self"]
    axis = operator["dim"] % rank_of(data)
    index = int(operator["index"]) % shape_of(data)[axis]
    return relax.op.take(data, relax.const(index, "int64"), axis)
