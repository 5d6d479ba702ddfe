"""ConvertQDQToIntegers: operators between R.dequantize and R.quantize compute in integers."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes import FLOAT_OPERATORS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.relax.transform.image_layouts import integer_layouts


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
    that. A build takes this form if its memory is within what `tir.usmp.optimize` allows
    (`usmp.relax.stages.IntegerLayoutStage`). Outputs are the same.

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
