"""LegalizeOperators: Relax operators become PrimFuncs, except possible views."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.ops.real.clamps import LEGALIZE_CLAMPS
from usmp.ops.real.extremes import LEGALIZE_EXTREMES
from usmp.ops.real.gather import GATHER_OPERATORS
from usmp.ops.real.scatter import SCATTER_OPERATORS
from usmp.ops.real.zeros import LEGALIZE_ZEROS
from usmp.ops.views import PARTS, RESHAPES, ViewKind, names_of, part_offsets
from usmp.passes import ModulePass
from usmp.tir.nodes import fields_of
from usmp.tir.op_names import op_name

_PLACES = names_of(ViewKind.RESHAPE, ViewKind.SLICE, ViewKind.SPLIT)
"""Operators whose results are views of a contiguous argument."""


def _as_reshape(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Rewrite an operator that only changes the shape to a reshape, which `LowerMain` supports."""
    return relax.op.reshape(call.args[0], list(call.ty.shape))


def _keep_contiguous(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Keep slices and concats along the outermost axis, which `LowerMain` makes views. Legalize a
    concat of only constants and inputs, so that it is fused into its readers."""
    inputs = fields_of(call.args[0])
    is_useful = call.op.name != "relax.concat" or any(_is_computed(builder, e) for e in inputs)
    if is_useful and part_offsets(call) is not None:
        return call
    return call.op.get_attr("FLegalize")(builder, call)


def _is_computed(builder: relax.BlockBuilder, expr: relax.Expr) -> bool:
    """Return whether an operator computes the tensor, or the tensor that it is a view of."""
    if not isinstance(expr, tvm.ir.Var):
        return False
    bound = builder.lookup_binding(expr)
    if isinstance(bound, relax.TupleGetItem):
        return _is_computed(builder, bound.tuple_value)
    if op_name(bound) in _PLACES:
        return _is_computed(builder, bound.args[0])
    return bound is not None


_LEGALIZE = relax.transform.LegalizeOps(
    {
        **{name: _as_reshape for name in RESHAPES if name != "relax.reshape"},
        **{name: _keep_contiguous for name in PARTS},
        **LEGALIZE_CLAMPS,
        **LEGALIZE_EXTREMES,
        **LEGALIZE_ZEROS,
        **GATHER_OPERATORS,
        **SCATTER_OPERATORS,
    },
    skip_ops=["relax.reshape"],
)


@tvm.transform.module_pass(opt_level=0, name="usmp.LegalizeOperators")
class LegalizeOperators(ModulePass):
    """Run TVM's LegalizeOps, except on possible views and operators of `usmp.ops.real`.

    An operator that only changes the shape becomes an `R.reshape`, which copies nothing. Slices,
    splits and concats along the outermost axis stay, so that `LowerMain` can make them views.
    Clamps propagate NaN, minima and maxima may be infinite, and gathers and scatters check indices
    (`usmp.ops.real`).

    Raises
    ------
    UnsupportedModelError
        an operator of `usmp.ops` refuses a call.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Legalize the operators of Relax functions."""
        return _LEGALIZE(mod)
