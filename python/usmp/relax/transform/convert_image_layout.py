"""ConvertImageLayout: float convolutions of images compute with the channels last."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext

from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import symbolic_sizes_of
from usmp.relax.transform.compare_image_layouts import preferred_layout
from usmp.relax.transform.qdq import is_quantized, put_channels_last


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertImageLayout")
class ConvertImageLayout(ModulePass):
    """Compute float convolutions of images with channels first (NCHW), and what is between them, in
    `main` with channels last (NHWC), if that takes no more memory.

        relu(conv2d(x, w, NCHW))  ->  relu(conv2d(permute_dims(x), permute_dims(w), NHWC))

    An output pixel with its channels last can lie over the input pixel that it is made of, and rows
    of images are made one after the other. The memory is within what `tir.usmp.optimize` allows
    (see `usmp.transform.ChooseSchedules`). Sums are added up in another order, so that results
    differ in their last bits. Quantized modules are left to `ConvertQDQToIntegers`, and those with
    symbolic sizes stay as they are.

    Parameters
    ----------
    to_main
        passes from the result to `__tvm_main__`, by which the memory with channels first and last
        is compared; without them it is not.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        options that the planner refuses.
    """

    def __init__(self, to_main: Sequence[Pass] = ()) -> None:
        self.to_main = list(to_main)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Rewrite `main`."""
        main = main_function(mod)
        if is_quantized(main) or symbolic_sizes_of(main):
            return mod
        channels_last = put_channels_last(mod, of_floats=True)
        if channels_last is mod or not self.to_main:
            return channels_last
        return preferred_layout(mod, channels_last, self.to_main, planning_options(context.config))
