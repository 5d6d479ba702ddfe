"""AttachIOQuantization: quantization of inputs and outputs is recorded for callers."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import (
    INPUT_QUANTIZATION_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    STATES_ATTR,
)
from usmp.passes import ModulePass
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.qdq.io_quantization import io_quantization, with_io_quantization


@tvm.transform.module_pass(opt_level=0, name="usmp.AttachIOQuantization")
class AttachIOQuantization(ModulePass):
    """Record how inputs and outputs of the Relax `main` are quantized, as attributes.

    The attributes are `input_quantization` and `output_quantization` of `main`. Missing ones are
    derived from its R.dequantize and R.quantize, which later passes replace. `LowerMain` copies
    them to the `TensorInfo`s of the main function. A `main` without quantization stays as it is.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        an attribute is malformed.
    """

    reads = (INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, STATES_ATTR)
    writes = (INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Set the attributes of `main`."""
        main = main_function(mod)
        quantization = io_quantization(main)
        if not any([*quantization.inputs.values(), *quantization.outputs]):
            return mod
        attached = IRModule(mod.functions, attrs=mod.attrs)
        attached.update_func(mod.get_global_var("main"), with_io_quantization(main, quantization))
        return attached
