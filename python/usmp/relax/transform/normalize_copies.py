"""NormalizeCopies: operators that only copy elements become slices and concats."""

from __future__ import annotations

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GenericConst, IRModule

from usmp.ops.emit import extents_of
from usmp.ops.views import AxisRange, axis_of, parts_of, sliced
from usmp.passes import ModulePass
from usmp.relax.replace_main import with_main_body
from usmp.relax.static_shapes import main_function
from usmp.tir.op_names import op_name


@tvm.transform.module_pass(opt_level=0, name="usmp.NormalizeCopies")
class NormalizeCopies(ModulePass):
    """Rewrite operators that only copy elements into slices and concats, which can become views.

    In `main`, an `R.take` of constant, equally spaced indices becomes a slice, and so does each
    part of an `R.split`. An `R.stack` becomes a concat, and an `R.nn.dropout` its input. Indices
    must be nonnegative (see `NormalizeTakeIndices`).

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        return _normalize_copies(mod)


def _normalize_copies(mod: IRModule) -> IRModule:
    main = main_function(mod)
    values = {
        binding.var: getattr(binding, "value", None)
        for block in main.body.blocks
        for binding in block.bindings
    }

    def item_of(item: relax.TupleGetItem) -> relax.Expr:
        value = values.get(item.tuple_value)
        if value is not None and op_name(value) == "relax.split":
            parts = parts_of(value)
            return item if parts is None else sliced(value.args[0], parts[item.index])
        if value is not None and op_name(value) == "relax.nn.dropout" and item.index == 0:
            return value.args[0]
        return item

    body = tvm_ffi.structural_map(main.body, [(Call, _normalized), (relax.TupleGetItem, item_of)])
    if body.same_as(main.body):
        return mod
    # Splits and dropouts may have no readers any more.
    return relax.transform.DeadCodeElimination()(with_main_body(mod, body))


def _normalized(call: Call) -> relax.Expr:
    if op_name(call) == "relax.take":
        return _slice_of(call)
    if op_name(call) == "relax.stack" and isinstance(call.args[0], relax.Tuple):
        return _join_of(call)
    return call


def _slice_of(take: Call) -> relax.Expr:
    """Return a take of constant indices as a slice, if they are equally spaced."""
    data, indices = take.args
    if not isinstance(indices, GenericConst):
        return take
    shape, values = extents_of(data), indices.value.numpy()
    axis = axis_of(take)
    places = values.reshape(-1).astype(np.int64)
    steps = np.unique(np.diff(places)) if places.size > 1 else np.array([1])
    if not places.size or steps.size != 1 or steps[0] == 0:
        return take
    if not isinstance(shape[axis], int) or places.min() < 0 or places.max() >= shape[axis]:
        return take
    part = sliced(data, {axis: AxisRange(int(places[0]), places.size, int(steps[0]))})
    return relax.op.reshape(part, [*shape[:axis], *values.shape, *shape[axis + 1 :]])


def _join_of(stack: Call) -> relax.Expr:
    parts = list(stack.args[0].fields)
    axis = 0 if stack.attrs.axis is None else int(stack.attrs.axis)
    axis += len(extents_of(parts[0])) + 1 if axis < 0 else 0
    return relax.op.concat([relax.op.expand_dims(part, axis) for part in parts], axis)
