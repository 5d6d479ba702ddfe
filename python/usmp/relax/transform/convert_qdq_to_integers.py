"""ConvertQDQToIntegers: operators between R.dequantize and R.quantize compute in integers."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes.module_attributes import FLOAT_OPERATORS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.relax.transform.image_layouts import integer_layouts


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertQDQToIntegers")
class ConvertQDQToIntegers(ModulePass):
    """Replace operators between `R.dequantize` and `R.quantize` in `main` by integer operators.

        R.quantize(relu(conv2d(R.dequantize(x), R.dequantize(w)) + b))  ->  conv2d of x in integers

    Other operators stay in float: correct, but larger and slower. The attribute `float_operators`
    of the module counts them by name. Results differ by at most one quantization step from those of
    the float operators (see `use_integer_operators`). A module without `R.quantize` and
    `R.dequantize` is returned as it is.

    NCHW convolutions, and operators between them, are converted to NHWC, for which there are
    kernels, if few images have to be copied. A build takes this form if its memory is within the
    limit of `tir.usmp.optimize` (`usmp.relax.stages.IntegerLayoutStage`). Outputs stay
    bit-identical.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    reads = (*RECORD_ATTRIBUTES, FLOAT_OPERATORS_ATTR, CONTROL_FLOW_ATTR)
    writes = (*RECORD_ATTRIBUTES, FLOAT_OPERATORS_ATTR)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Rewrite `main`."""
        as_it_is, channels_last = integer_layouts(mod)
        return channels_last or as_it_is
