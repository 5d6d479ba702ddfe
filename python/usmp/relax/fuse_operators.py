"""From imported Relax operators to fused TIR PrimFuncs."""

from __future__ import annotations

import tvm
from tvm import relax

FuseOperators = tvm.transform.Sequential(
    [
        relax.transform.DecomposeOpsForInference(),
        relax.transform.CanonicalizeBindings(),
        relax.transform.LegalizeOps(),
        # A reshape between operators becomes a view; it copies nothing.
        relax.transform.RewriteDataflowReshape(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        relax.transform.DeadCodeElimination(),
    ],
    name="usmp.FuseOperators",
)
"""Legalise, fold constants, fuse element-wise operators into their producers."""
