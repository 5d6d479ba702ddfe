"""ConvertImageLayout: float convolutions of images compute with channels last."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes.module_attributes import SIZE_BOUNDS
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.passes import ModulePass
from usmp.relax.transform.image_layouts import float_channels_last


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertImageLayout")
class ConvertImageLayout(ModulePass):
    """Convert float NCHW convolutions in `main`, and operators between them, to NHWC.

        relu(conv2d(x, w, NCHW))  ->  relu(conv2d(permute_dims(x), permute_dims(w), NHWC))

    With channels last, an output pixel can overwrite its input pixel, and images can be computed
    row by row. A build takes this form if its memory is within the limit of `tir.usmp.optimize`
    (`usmp.relax.stages.FloatLayoutStage`). Results differ in their last bits, because sums are
    computed in another order. Quantized modules are left to `ConvertQDQToIntegers`; modules with
    symbolic sizes stay as they are.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    reads = (
        *SIZE_BOUNDS,
        CONTROL_FLOW_ATTR,
    )

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Rewrite `main`."""
        return float_channels_last(mod) or mod
