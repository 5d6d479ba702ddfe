"""FuseOperators: imported Relax operators become fused PrimFuncs."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.passes import KeepSpans, ModulePass, apply_passes
from usmp.relax.legalize_errors import apply_to_operators
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.check_calls import check_prim_func
from usmp.relax.transform.fold_constants import FoldConstants
from usmp.relax.transform.fusion.describe_operators import DescribeOperators
from usmp.relax.transform.fusion.fuse_recorded_operators import FuseRecordedOperators
from usmp.relax.transform.fusion.fuse_slices import FuseSlices
from usmp.relax.transform.fusion.fuse_tables import FuseTables
from usmp.relax.transform.fusion.fuse_window_slices import FuseWindowSlices
from usmp.relax.transform.fusion.keep_in_place_operators import KeepInPlaceOperators
from usmp.relax.transform.fusion.legalize_operators import LegalizeOperators
from usmp.relax.transform.fusion.push_slice_through_concat import PushSliceThroughConcat

_LEGALIZING: list[Pass] = [
    KeepSpans(relax.transform.DecomposeOpsForInference()),
    relax.transform.CanonicalizeBindings(),
    # Before legalization, while slices and concats are still operators.
    PushSliceThroughConcat(),
    LegalizeOperators(),
    # So that reshapes become views, without a copy.
    relax.transform.RewriteDataflowReshape(),
    # Before AnnotateTIROpPattern, which keeps patterns that are already set.
    KeepInPlaceOperators(),
    relax.transform.AnnotateTIROpPattern(),
    FuseSlices(),
    # Again, for the slices that were just legalized.
    relax.transform.AnnotateTIROpPattern(),
    FoldConstants(),
    # Because TVM marks table lookups as opaque.
    FuseTables(),
]
_AFTER_FUSION: list[Pass] = [
    # After fusion, because now each copy is one operator.
    FuseWindowSlices(),
    relax.transform.DeadCodeElimination(),
    # Before lowering, while tensors have shapes.
    DescribeOperators(),
]


@tvm.transform.module_pass(opt_level=0, name="usmp.LegalizeForFusion")
class LegalizeForFusion(ModulePass):
    """Legalize operators, fold constants, and mark the PrimFuncs that FuseOps may fuse.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`; an operator cannot be legalized; the message has the operator, its
        result and the reason.
    """

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Apply the passes."""
        main_function(mod)
        return apply_to_operators(
            Sequential(_LEGALIZING, name="usmp.LegalizeForFusion.passes"), mod
        )


@tvm.transform.module_pass(opt_level=0, name="usmp.FinishFusion")
class FinishFusion(ModulePass):
    """Fuse slices of windows, remove dead code, and describe the fused PrimFuncs.

    Raises
    ------
    UnsupportedModelError
        an operator calls TVM's runtime.
    """

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Apply the passes."""
        fused = apply_to_operators(Sequential(_AFTER_FUSION, name="usmp.FinishFusion.passes"), mod)
        for variable, func in fused.functions.items():
            if isinstance(func, tirx.PrimFunc):
                # TVM legalizes sorts to packed calls; only sorts of constants were folded.
                check_prim_func(func, str(variable.name_hint), "compute it by other operators")
        return fused


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseOperators")
class FuseOperators(ModulePass):
    """Legalize, fold constants, fuse element-wise operators into their producers.

    Afterwards the Relax `main` calls only PrimFuncs, reshapes, and slices, splits and concats along
    the outermost axis, which `LowerMain` supports.

    Raises
    ------
    UnsupportedModelError
        as `LegalizeForFusion` and `FinishFusion` raise it.
    """

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Apply the passes."""
        passes = [LegalizeForFusion(), FuseRecordedOperators(), FinishFusion()]
        return apply_passes(Sequential(passes, name="usmp.FuseOperators.passes"), mod)
