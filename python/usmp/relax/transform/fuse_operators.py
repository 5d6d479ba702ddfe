"""FuseOperators: from imported Relax operators to fused TIR PrimFuncs."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.passes import KeepSpans, ModulePass
from usmp.relax.legalize_errors import apply_to_operators
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.describe_operators import DescribeOperators
from usmp.relax.transform.fold_constants import FoldConstants
from usmp.relax.transform.fuse_recorded_operators import FuseRecordedOperators
from usmp.relax.transform.fuse_slices import FuseSlices
from usmp.relax.transform.fuse_tables import FuseTables
from usmp.relax.transform.fuse_window_slices import FuseWindowSlices
from usmp.relax.transform.keep_in_place_operators import KeepInPlaceOperators
from usmp.relax.transform.legalize_operators import LegalizeOperators
from usmp.relax.transform.push_slice_through_concat import PushSliceThroughConcat

_PASSES = tvm.transform.Sequential(
    [
        KeepSpans(relax.transform.DecomposeOpsForInference()),
        relax.transform.CanonicalizeBindings(),
        # While slices and joins are still operators.
        PushSliceThroughConcat(),
        LegalizeOperators(),
        # A reshape becomes a view; it copies nothing.
        relax.transform.RewriteDataflowReshape(),
        # Before patterns are found: those that are there already stay.
        KeepInPlaceOperators(),
        relax.transform.AnnotateTIROpPattern(),
        FuseSlices(),
        # Of the slices that were just legalized.
        relax.transform.AnnotateTIROpPattern(),
        FoldConstants(),
        # TVM takes tables for operators that nothing is fused with.
        FuseTables(),
        # Element-wise operators go into their producers; what is known of them stays.
        FuseRecordedOperators(),
        # Now each copy is one operator.
        FuseWindowSlices(),
        relax.transform.DeadCodeElimination(),
        # While tensors have shapes.
        DescribeOperators(),
    ],
    name="usmp.FuseOperators.passes",
)


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseOperators")
class FuseOperators(ModulePass):
    """Legalize, fold constants, fuse element-wise operators into their producers.

    Afterwards the Relax `main` only calls PrimFuncs, reshapes, and slices and concatenations along
    the outermost axis, as `LowerMain` takes it.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`; an operator that cannot be legalized: the message has the
        operator, its result and the reason.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Apply the passes, all of them in one go."""
        main_function(mod)
        return apply_to_operators(_PASSES, mod)
