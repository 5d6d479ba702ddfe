"""From imported Relax operators to fused TIR PrimFuncs."""

from __future__ import annotations

import tvm
from tvm import relax

from usmp.ops.argmin_argmax import legalize_argmin_argmax
from usmp.ops.scatter import SCATTER_OPERATORS
from usmp.relax.contiguous_parts import MOVES, part_offsets
from usmp.relax.transform.fold_constants import fold_constants
from usmp.relax.transform.fuse_recorded_operators import fuse_recorded_operators
from usmp.relax.transform.fuse_slices import fuse_slices
from usmp.relax.transform.fuse_tables import fuse_tables
from usmp.relax.transform.keep_in_place_operators import keep_in_place_operators
from usmp.relax.transform.legalize_clamps import LEGALIZE_CLAMPS
from usmp.relax.transform.push_slice_through_concat import push_slice_through_concat

_PLACES = ("relax.reshape", "relax.split", "relax.strided_slice")
"""What stands in the memory of its argument, if that is contiguous."""
_VIEWS = ("relax.squeeze", "relax.expand_dims", "relax.flatten")


def _as_reshape(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """An operator that only changes the shape, as a reshape, which `lower_main` knows."""
    return relax.op.reshape(call.args[0], [int(extent) for extent in call.ty.shape])


def _keep_contiguous(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """An operator that cuts or joins the outermost axis, as it is: `lower_main` knows it, and lets
    tensors lie in one another. Only where all inputs are the caller's or constants would joining
    them be better left to the readers, into which it is fused."""
    inputs = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else [call.args[0]]
    is_useful = call.op.name != "relax.concat" or any(_is_computed(builder, e) for e in inputs)
    if is_useful and part_offsets(call) is not None:
        return call
    return call.op.get_attr("FLegalize")(builder, call)


def _is_computed(builder: relax.BlockBuilder, expr: relax.Expr) -> bool:
    """Whether an operator computes the tensor."""
    if not isinstance(expr, tvm.ir.Var):
        return False
    bound = builder.lookup_binding(expr)
    if isinstance(bound, relax.TupleGetItem):
        return _is_computed(builder, bound.tuple_value)
    if getattr(getattr(bound, "op", None), "name", None) in _PLACES:
        return _is_computed(builder, bound.args[0])
    return bound is not None


FuseOperators = tvm.transform.Sequential(
    [
        relax.transform.DecomposeOpsForInference(),
        relax.transform.CanonicalizeBindings(),
        tvm.transform.module_pass(
            push_slice_through_concat, opt_level=0, name="usmp.PushSliceThroughConcat"
        ),
        # A reshape becomes a view; it copies nothing.
        relax.transform.LegalizeOps(
            {
                **{name: _as_reshape for name in _VIEWS},
                **{name: _keep_contiguous for name in MOVES},
                **LEGALIZE_CLAMPS,
                **SCATTER_OPERATORS,
                **{name: legalize_argmin_argmax for name in ("relax.argmax", "relax.argmin")},
            },
            skip_ops=["relax.reshape"],
        ),
        relax.transform.RewriteDataflowReshape(),
        tvm.transform.module_pass(
            keep_in_place_operators, opt_level=0, name="usmp.KeepInPlaceOperators"
        ),
        relax.transform.AnnotateTIROpPattern(),
        tvm.transform.module_pass(fuse_slices, opt_level=0, name="usmp.FuseSlices"),
        relax.transform.AnnotateTIROpPattern(),
        tvm.transform.module_pass(fold_constants, opt_level=0, name="usmp.FoldConstants"),
        tvm.transform.module_pass(fuse_tables, opt_level=0, name="usmp.FuseTables"),
        tvm.transform.module_pass(
            fuse_recorded_operators, opt_level=0, name="usmp.FuseRecordedOperators"
        ),
        relax.transform.DeadCodeElimination(),
    ],
    name="usmp.FuseOperators",
)
"""Legalize, fold constants, fuse element-wise operators into their producers."""
