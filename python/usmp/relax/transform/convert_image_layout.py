"""ConvertImageLayout: float convolutions of images compute with the channels last."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes import SIZE_BOUNDS
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.passes import ModulePass
from usmp.relax.transform.image_layouts import float_channels_last


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertImageLayout")
class ConvertImageLayout(ModulePass):
    """Compute float convolutions of images with channels first (NCHW), and what is between them, in
    `main` with channels last (NHWC).

        relu(conv2d(x, w, NCHW))  ->  relu(conv2d(permute_dims(x), permute_dims(w), NHWC))

    An output pixel with its channels last can lie over the input pixel that it is made of, and rows
    of images are made one after the other. A build takes this form if its memory is within what
    `tir.usmp.optimize` allows (`usmp.relax.stages.FloatLayoutStage`). Sums are added up in another
    order, so that results differ in their last bits. Quantized modules are left to
    `ConvertQDQToIntegers`, and those with symbolic sizes stay as they are.

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
