"""ConvertQDQToIntegers: operators between R.dequantize and R.quantize compute in integers."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext

from usmp.objects.attributes import FLOAT_OPERATORS_ATTR
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.relax.transform.compare_image_layouts import preferred_layout
from usmp.relax.transform.qdq import copies_pay, put_channels_last, use_integer_operators


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertQDQToIntegers")
class ConvertQDQToIntegers(ModulePass):
    """Replace operators between `R.dequantize` and `R.quantize` in `main` by integer operators.

        R.quantize(relu(conv2d(R.dequantize(x), R.dequantize(w)) + b))  ->  conv2d of x in integers

    What is not recognized stays in float, correct but larger and slower, and is counted in the
    attribute `float_operators` of the module: name -> how many. A result differs by at most one
    step from that of the float operators (see `use_integer_operators`). A module without both is
    returned as it is.

    Convolutions of images that have their channels first (NCHW), and what is between them, are
    computed with channels last, for which there are kernels, if few images have to be copied for
    that and the memory is within what `tir.usmp.optimize` allows (see
    `usmp.transform.ChooseSchedules`). Outputs are the same.

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
        as_it_is = use_integer_operators(mod)
        if as_it_is is mod:
            return mod
        channels_last = put_channels_last(mod)
        if channels_last is mod:
            return as_it_is
        channels_last = use_integer_operators(channels_last)
        # A float convolution would add up in another order, and some have no form for that.
        if _has_float_convolutions(channels_last) or not copies_pay(as_it_is, channels_last):
            return as_it_is
        if not self.to_main:
            return channels_last
        options = planning_options(context.config)
        return preferred_layout(as_it_is, channels_last, self.to_main, options)


def _has_float_convolutions(mod: IRModule) -> bool:
    return any(
        str(name).startswith("conv") for name in (mod.attrs or {}).get(FLOAT_OPERATORS_ATTR, {})
    )
