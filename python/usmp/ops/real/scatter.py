"""Operators that write elements at indices: scatter, index_put and similar ones.

TVM writes outside of the tensor if an index leads there, and addresses the tensor with the strides
of the indices. Here an update is addressed by its coordinates, and skipped if they are outside of
the tensor; see `usmp.ops.real.indices`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm import relax, tirx
from tvm.ir import GenericConst

from usmp.ops.emit import OPAQUE, shape_of
from usmp.ops.real.indices import broadcast_element, outside
from usmp.ops.statements import Local, call_in_place, call_statements, fill, loops
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import sequence

Combination = Callable[[tirx.Expr, tirx.Expr], tirx.Expr]
"""Maps the old element and the update to the new element."""

REDUCTIONS: dict[str, Combination] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": lambda old, new: tirx.min(old, new),
    "max": lambda old, new: tirx.max(old, new),
}

Position = Sequence[tirx.Var]
Coordinates = Callable[[list[tirx.Buffer], Position], list[tirx.Expr]]
"""Maps the buffers of the indices and the position of an update to coordinates in the result.
Variables and constants are assumed to be inside; other coordinates are checked at runtime."""


def along_axis(axis: int) -> Coordinates:
    """Return the coordinates of updates whose index replaces one coordinate of their position.

    Parameters
    ----------
    axis
        axis of the replaced coordinate.
    """

    def coordinates(buffers: list[tirx.Buffer], place: Position) -> list[tirx.Expr]:
        return [*place[:axis], buffers[0][tuple(place)], *place[axis + 1 :]]

    return coordinates


def slices_along(axis: int) -> Coordinates:
    """Return the coordinates of whole slices along an axis."""

    def coordinates(buffers: list[tirx.Buffer], place: Position) -> list[tirx.Expr]:
        return [*place[:axis], buffers[0][place[axis]], *place[axis + 1 :]]

    return coordinates


def at_positions(indices: Sequence[int]) -> Coordinates:
    """Return the coordinates of slices whose indices are positions on the first axes.

    Parameters
    ----------
    indices
        [..., n]: the shape of the indices, whose last axis is a position on n axes.
    """
    *outer, depth = indices

    def coordinates(buffers: list[tirx.Buffer], place: Position) -> list[tirx.Expr]:
        first = [buffers[0][(*place[: len(outer)], component)] for component in range(depth)]
        return [*first, *place[len(outer) :]]

    return coordinates


def scatter_elements(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Rewrite `R.scatter_elements`: an index replaces one coordinate of its update's position."""
    data, indices, updates = call.args
    axis = int(call.attrs.axis) % len(shape_of(data))
    _check_constant(call, indices, [axis])
    # In ONNX the updates may be larger than the indices; updates without an index are not used.
    extents = shape_of(indices)
    return _legalized(builder, call, [indices], updates, extents, along_axis(axis))


def scatter_nd(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Rewrite `R.scatter_nd`: the innermost axis of the indices holds the outer coordinates."""
    _, indices, updates = call.args
    shape = shape_of(indices)
    _check_constant(call, indices, range(shape[-1]))
    extents = shape_of(updates)
    return _legalized(builder, call, [indices], updates, extents, at_positions(shape))


def index_put(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Rewrite `R.index_put`: a tensor of indices for each axis, broadcast together with values."""
    data, indices, values = call.args
    fields = [indices]
    if isinstance(indices.ty, tvm.ir.TupleType):
        fields = [relax.TupleGetItem(indices, index) for index in range(len(indices.ty.fields))]
        fields = [builder.normalize(field) for field in fields]
    if len(fields) != len(shape_of(data)):
        raise UnsupportedModelError(
            f"index_put with {len(fields)} tensors of indices for a tensor of shape "
            f"{list(shape_of(data))}; give one for each axis"
        )
    for axis, field in enumerate(fields):
        _check_constant(call, field, [axis])
    extents = _broadcast([shape_of(field) for field in fields])

    def coordinates(buffers: list[tirx.Buffer], place: Position) -> list[tirx.Expr]:
        return [broadcast_element(buffer, place) for buffer in buffers]

    return _legalized(builder, call, fields, values, extents, coordinates)


def _check_constant(call: relax.Call, indices: relax.Expr, axes: Sequence[int]) -> None:
    """Refuse constant indices outside of some axes of the first argument."""
    if isinstance(indices, GenericConst):
        shape = shape_of(call.args[0])
        reason = outside(indices.value.numpy(), [shape[axis] for axis in axes], axes)
        if reason is not None:
            raise UnsupportedModelError(f"{call.op.name.removeprefix('relax.')}: {reason}")


SCATTER_OPERATORS = {
    "relax.scatter_elements": scatter_elements,
    "relax.scatter_nd": scatter_nd,
    "relax.index_put": index_put,
}
"""Relax operator -> its legalization."""


def _legalized(
    builder: relax.BlockBuilder,
    call: relax.Call,
    indices: Sequence[relax.Expr],
    updates: relax.Expr,
    extents: Sequence[int],
    coordinates: Coordinates,
) -> relax.Expr:
    """Return the call that replaces a Relax operator.

    Raises
    ------
    UnsupportedModelError
        the reduction is unknown.
    """
    name = call.op.name.removeprefix("relax.")
    reduction = _reduction(call)
    if reduction not in REDUCTIONS:
        known = ", ".join(REDUCTIONS)
        raise UnsupportedModelError(f"{name} with reduction {reduction}; supported: {known}")
    tensors = [call.args[0], *indices, updates]
    return scattered(builder, name, tensors, extents, coordinates, REDUCTIONS[reduction])


def scattered(
    builder: relax.BlockBuilder,
    name: str,
    tensors: Sequence[relax.Expr],
    extents: Sequence[int],
    coordinates: Coordinates,
    combine: Combination,
) -> relax.Expr:
    """Return a call of a PrimFunc that copies a tensor and writes updates into it, in order.

    Parameters
    ----------
    tensors
        the tensor to copy, the indices, and the updates.
    extents
        extents of the loops over the updates; the updates are broadcast to these extents.
    coordinates
        maps an iteration to the coordinates of its update.
    """
    data, *indices, _ = tensors
    names = ["data", *(f"indices{index}" for index in range(len(indices))), "updates", "output"]
    types = [tensor.ty for tensor in [*tensors, data]]
    buffers = [
        tirx.decl_buffer([int(extent) for extent in ty.shape], str(ty.dtype), buffer)
        for buffer, ty in zip(names, types, strict=True)
    ]
    source, *others, output = buffers
    written = _written(output, others, extents, coordinates, combine)
    body = sequence([_copy(source, output), written])
    func = tirx.PrimFunc(buffers, body).with_attr("op_pattern", OPAQUE)
    variable = builder.add_func(func, name)
    return relax.call_tir(variable, tensors, out_ty=data.ty)


def scattered_to_constant(
    builder: relax.BlockBuilder,
    name: str,
    tensors: Sequence[relax.Expr],
    result: relax.TensorType,
    coordinates: Coordinates,
    combine: Combination,
    *,
    initial: tirx.Expr | None = None,
    from_end: bool = True,
) -> relax.Expr:
    """Append a call of a PrimFunc that fills a tensor and writes updates into it, in their order.

    Parameters
    ----------
    tensors
        the indices, and the updates.
    result
        type of the result.
    coordinates
        maps an iteration to the coordinates of its update.
    initial
        the element everywhere before any update; 0 by default.
    from_end
        whether a negative index counts from the end of its axis.
    """
    first = tirx.const(0, str(result.dtype)) if initial is None else initial

    def body(*buffers: tirx.Buffer) -> tirx.Stmt:
        *inputs, output = buffers
        extents = shape_of(tensors[-1])
        written = _written(output, inputs, extents, coordinates, combine, from_end=from_end)
        return sequence([fill(output, first), written])

    names = [*(f"indices{index}" for index in range(len(tensors) - 1)), "updates"]
    arguments = list(zip(names, tensors, strict=True))
    return call_statements(builder, name, body, arguments, [("output", result)])[0]


def scattered_in_place(
    builder: relax.BlockBuilder,
    name: str,
    tensors: Sequence[relax.Expr],
    extents: Sequence[int],
    coordinates: Coordinates,
    combine: Combination,
) -> relax.Expr:
    """Append a call of a PrimFunc that writes updates into the first tensor, in place."""

    def body(data: tirx.Buffer, *others: tirx.Buffer) -> tirx.Stmt:
        return _written(data, others, extents, coordinates, combine)

    names = ["data", *(f"indices{index}" for index in range(len(tensors) - 2)), "updates"]
    arguments = list(zip(names, tensors, strict=True))
    (result,) = call_in_place(builder, name, body, arguments, [0])
    return result


def _written(
    output: tirx.Buffer,
    others: Sequence[tirx.Buffer],
    extents: Sequence[int],
    coordinates: Coordinates,
    combine: Combination,
    *,
    from_end: bool = True,
) -> tirx.Stmt:
    """Return loops that write updates into `output`; `others` are the indices, then the updates."""
    *indices, updates = others

    def write(place: tuple[tirx.Var, ...]) -> tirx.Stmt:
        update = broadcast_element(updates, place)
        return _write(output, coordinates(indices, place), update, combine, from_end)

    return loops(extents, write)


def _reduction(call: relax.Call) -> str:
    if call.op.name == "relax.index_put":
        return "add" if call.attrs.accumulate else "update"
    return str(call.attrs.reduction)


def _write(
    output: tirx.Buffer,
    coordinates: Sequence[tirx.Expr],
    update: tirx.Expr,
    combine: Combination,
    from_end: bool,
) -> tirx.Stmt:
    """Return a statement that writes an element if its coordinates are inside of the tensor."""
    declared: list[tirx.Stmt] = []
    place: list[tirx.Expr] = []
    conditions: list[tirx.Expr] = []
    for axis, (coordinate, extent) in enumerate(zip(coordinates, output.shape, strict=True)):
        if isinstance(coordinate, tirx.Var | tirx.IntImm):
            place.append(coordinate)
            continue
        index = Local.of(f"index{axis}", "int64")
        declared += index.declared(tirx.Cast("int64", coordinate))
        length = tirx.IntImm("int64", int(extent))
        if from_end and str(coordinate.ty.dtype).startswith("int"):
            negative = index.get() < tirx.IntImm("int64", 0)
            declared.append(tirx.IfThenElse(negative, index.add(length), None))
        conditions += [tirx.IntImm("int64", 0) <= index.get(), index.get() < length]
        place.append(tirx.Cast("int32", index.get()))
    store = tirx.BufferStore(output, combine(output[tuple(place)], update), place)
    if not conditions:
        return store
    return sequence([*declared, tirx.IfThenElse(tirx.all(*conditions), store, None)])


def _copy(source: tirx.Buffer, target: tirx.Buffer) -> tirx.Stmt:
    def element(place: tuple[tirx.Var, ...]) -> tirx.Stmt:
        return tirx.BufferStore(target, source[place], list(place))

    return loops([int(extent) for extent in source.shape], element)


def _broadcast(shapes: Sequence[Sequence[int]]) -> list[int]:
    rank = max(len(shape) for shape in shapes)
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    return [max(extents) if 0 not in extents else 0 for extents in zip(*padded, strict=True)]
