"""AttachIOQuantization: what the integers of inputs and outputs stand for, kept for callers."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.objects.attributes import INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, STATES_ATTR
from usmp.passes import ModulePass
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.qdq.io_quantization import io_quantization, with_io_quantization


@tvm.transform.module_pass(opt_level=0, name="usmp.AttachIOQuantization")
class AttachIOQuantization(ModulePass):
    """Read from the Relax `main` how its inputs and outputs are quantized, and attach it.

    It is read from the attributes `input_quantization` and `output_quantization` of `main`, or else
    from what dequantizes its inputs and quantizes its outputs, which later passes replace; it
    becomes these attributes. `LowerMain` enters it in the `TensorInfo`s of the main function. A
    `main` without quantization stays as it is.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        an attribute is not what it should be.
    """

    reads = (INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, STATES_ATTR)
    writes = (INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Attach what is read."""
        main = main_function(mod)
        found = io_quantization(main)
        if not any([*found.inputs.values(), *found.outputs]):
            return mod
        attached = IRModule(mod.functions, attrs=mod.attrs)
        attached.update_func(mod.get_global_var("main"), with_io_quantization(main, found))
        return attached
