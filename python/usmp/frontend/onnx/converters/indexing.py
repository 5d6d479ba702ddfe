"""Converters of ONNX gathers and scatters.

TVM's importer emits code that wraps negative indices, although its operators wrap them again. These
converters check constant indices, and pass computed indices unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import constant, extents_of, shape_of
from usmp.ops.real.indices import counted_from_start, outside


def gather(node: OnnxNode) -> Expr | None:
    """Convert `Gather` to `R.take`."""
    data, indices = node.required(0), node.required(1)
    axis = int(node.attributes.get("axis", 0))
    if isinstance(data, relax.ShapeExpr):
        check_indices(indices, [len(data.values)], [0])
        if isinstance(indices, GenericConst) and not indices.value.numpy().ndim:
            return None
        data = node.builder.emit(relax.op.shape_to_tensor(data))
    if isinstance(indices, relax.ShapeExpr):
        indices = node.builder.emit(relax.op.shape_to_tensor(indices))
    indices = _checked(indices, shape_of(data), [axis])
    if isinstance(indices, GenericConst):
        if isinstance(data, GenericConst):
            return None
        # relax.const narrows the indices to 32 bits.
        indices = relax.const(indices.value.numpy())
    return relax.op.take(data, indices, axis, mode="fast")


def gather_elements(node: OnnxNode) -> Expr:
    """Convert `GatherElements` to `R.gather_elements`."""
    data, indices = node.required(0), node.required(1)
    axis = int(node.attributes.get("axis", 0))
    indices = _checked(indices, shape_of(data), [axis])
    return relax.op.gather_elements(data, indices, axis)


def gather_nd(node: OnnxNode) -> Expr:
    """Convert `GatherND` to `R.gather_nd`."""
    data, indices = node.required(0), node.required(1)
    batches = int(node.attributes.get("batch_dims", 0))
    depth = shape_of(indices)[-1]
    indices = _checked(indices, shape_of(data), range(batches, batches + depth))
    return relax.op.gather_nd(data, indices, batches)


def scatter_elements(node: OnnxNode) -> OnnxNode:
    """Return `Scatter` or `ScatterElements` with checked indices for TVM's converter."""
    data, _, *updates = node.inputs
    axis = int(node.attributes.get("axis", 0))
    checked = _checked(node.required(1), shape_of(node.required(0)), [axis])
    return replace(node, inputs=[data, checked, *updates])


def scatter_nd(node: OnnxNode) -> Expr:
    """Convert `ScatterND` to `R.scatter_nd`."""
    data, indices, updates = (node.required(index) for index in range(3))
    indices = _checked(indices, shape_of(data), range(shape_of(indices)[-1]))
    reduction = node.text("reduction", "none")
    return relax.op.scatter_nd(
        data, indices, updates, "update" if reduction == "none" else reduction
    )


def embed(node: OnnxNode) -> None:
    """Check the indices of `EmbedLayerNormalization` into word, position and segment tables."""
    for index, table in ((0, 2), (1, 4), (8, 3)):
        ids, rows = node.input(index), node.input(table)
        if ids is not None and rows is not None:
            check_indices(ids, shape_of(rows), [0])


def _checked(indices: Expr, shape: Sequence[int], axes: Sequence[int]) -> Expr:
    """Check indices, and wrap negative constant indices.

    TVM folds operators on constants without wrapping.
    """
    check_indices(indices, shape, axes)
    if not isinstance(indices, GenericConst):
        return indices
    extents = [shape[axis] for axis in axes]
    return constant(counted_from_start(indices.value.numpy(), extents))


def check_indices(
    indices: Expr, shape: Sequence[int], axes: Sequence[int], *, from_end: bool = True
) -> None:
    """Check that constant indices are in range, and that computed indices index no empty axis.

    Parameters
    ----------
    indices
        a tensor; with several indexed axes, its last axis has one position for each of them.
    shape
        the shape of the tensor that is read or written.
    axes
        the indexed axes of that tensor, in the order of the positions.
    from_end
        whether negative indices count from the end.

    Raises
    ------
    NotSupported
        an index is outside of its axis.
    """
    axes = [axis % len(shape) for axis in axes]
    extents = [shape[axis] for axis in axes]
    if not isinstance(indices, GenericConst):
        if 0 in extents and 0 not in extents_of(indices):
            raise NotSupported(f"axis {axes[extents.index(0)]} has no elements to lead an index to")
        return
    reason = outside(indices.value.numpy(), extents, axes, from_end=from_end)
    if reason is not None:
        raise NotSupported(reason)
