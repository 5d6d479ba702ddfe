"""From imported Relax operators to fused TIR PrimFuncs."""

from __future__ import annotations

import tvm
from tvm import relax

from usmp.relax.in_place_operators import keep_in_place_operators

_VIEWS = ("relax.squeeze", "relax.expand_dims", "relax.flatten")


def _as_reshape(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """An operator that only changes the shape, as a reshape, which `lower_main` knows."""
    return relax.op.reshape(call.args[0], [int(extent) for extent in call.ty.shape])


FuseOperators = tvm.transform.Sequential(
    [
        relax.transform.DecomposeOpsForInference(),
        relax.transform.CanonicalizeBindings(),
        # A reshape becomes a view; it copies nothing.
        relax.transform.LegalizeOps(
            {name: _as_reshape for name in _VIEWS}, skip_ops=["relax.reshape"]
        ),
        relax.transform.RewriteDataflowReshape(),
        tvm.transform.module_pass(
            keep_in_place_operators, opt_level=0, name="usmp.KeepInPlaceOperators"
        ),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        relax.transform.DeadCodeElimination(),
    ],
    name="usmp.FuseOperators",
)
"""Legalise, fold constants, fuse element-wise operators into their producers."""
